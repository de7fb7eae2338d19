"""A model and data that need no file: letters with marks, described by their base letter and their mark."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zskl import datasets, methods, selection
from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.schemas.model import Example

METHOD = "class-means"
NAME = "letters"
SAID_TWICE = "case: upper"  # o and O are different letters already: on the page it would contradict the chosen letter
EXAMPLES: list[Example] = [
    {
        "title": "a with ring above",
        "sentence": None,
        "attributes": {"letter: a": 1, "mark: ring above": 1},
        "words": "This describes å. The letter is new to the model, which was trained without a single picture of it. "
        "The model knows a, and the ring from other letters; from that it finds the pictures below. Choose another "
        "letter or mark and watch them change.",
    },
    {
        "title": "q with ring above",
        "sentence": None,
        "attributes": {"letter: q": 1, "mark: ring above": 1},
        "words": "No language writes this letter, so there is no picture of it, and you see what comes nearest. Save "
        "it as a class, at the end of this page: then the model considers it too, whenever it classifies a picture.",
    },
    {
        "title": "l with caron",
        "sentence": None,
        "attributes": {"letter: l": 1, "mark: caron": 1},
        "words": "A hard one: ľ. On most letters a caron is a small v above the letter, but fonts draw it beside the "
        "l, like an apostrophe. The description does not say so. Look at how few of the first pictures are right.",
    },
]


@dataclass(frozen=True)
class Demo:
    """What is served, and the descriptions that the page begins with."""

    model: ZeroShotClassifier
    data: Dataset
    examples: list[Example]


def build() -> Demo:
    """A calibrated model of letters, 50 of them unseen, with the default settings of its method."""
    data = datasets.load(NAME)
    data = replace(data, signatures=data.signatures.drop(columns=SAID_TWICE))
    X, y = data.samples("trainval")
    model = methods.build(METHOD).fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures, selection.folds(data)[:1])  # one fold: it starts sooner
    return Demo(model, data, EXAMPLES)
