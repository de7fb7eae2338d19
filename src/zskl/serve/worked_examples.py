"""One worked example for any data: a sentence that the page types for you.

A sentence of the table below is taken if the model has attributes for most of its words. Otherwise one is made of what
sets a class apart that is new to the model. Nothing but the class table is looked at.
"""

from __future__ import annotations

import numpy as np

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.attributes import Vocabulary
from zskl.serve.schemas.model import Example

SENTENCES = ("small black bird with a yellow head", "big black and white animal with stripes and hooves")
ENOUGH = 3  # attributes that a sentence has to name
TELLING = 4  # attributes of a class that a made sentence names
WORDS = (
    "This is typed for you: each part of it becomes an attribute, and you see which classes fit. Change it as you like."
)


def of(model: ZeroShotClassifier, words: Vocabulary) -> list[Example]:
    """The example, if there are words for one."""
    for sentence in (*SENTENCES, _made(model, words)):
        found = words.named(sentence) if sentence else []
        if len(found) >= ENOUGH or (found and sentence not in SENTENCES):
            return [{"title": sentence, "sentence": sentence, "attributes": {}, "words": WORDS}]
    return []


def _made(model: ZeroShotClassifier, words: Vocabulary) -> str:
    """The attributes that set a class apart, as words that are understood: of the first class new to the model."""
    seen = set(model.classes_.tolist())
    label = next((one for one in model.candidates_.tolist() if one not in seen), model.candidates_[0])
    values = model.signature_table_.select([label]).matrix.mean(axis=0)
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)
    above = (values - words.mean) / spread
    phrases: list[str] = []
    for place in np.argsort(-above, kind="stable").tolist():
        phrase = words.phrase(place)
        if len(phrases) < TELLING and above[place] > 0 and words.named(phrase) == [place]:
            phrases.append(phrase)
    return ", ".join(phrases)
