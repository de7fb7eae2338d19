"""
A few examples
==============

A description is a start. Then somebody labels one sample of a new class, then another.
What is each of them worth, and is the description still of use?
"""

# %%
# A description that leaves much out
# ----------------------------------
# The classes are letters such as é. Here the table says only *that* a letter has a
# mark, not which. So é, è and ê have the same description.

from zskl import Dataset, datasets

letters = datasets.load("letters")
full = letters.signatures
marks = [name for name in full if name.startswith("mark: ")]
poor = full.drop(columns=marks).assign(marked=1 - full["mark: none"])
data = Dataset("letters", letters.X, letters.y, poor, letters.parts)

same = data.unseen_classes[poor.loc[data.unseen_classes].duplicated(keep=False)]
print(f"{len(same)} of {len(data.unseen_classes)} unseen letters share a description")

# %%
# Train as usual. The model has no picture of the *unseen* letters. ``fit`` warns that
# some descriptions are the same; here this is on purpose.

import warnings

from zskl import ClassMeansClassifier, SignatureWarning, protocols

warnings.simplefilter("ignore", SignatureWarning)
X, y = data.samples("trainval")
model = ClassMeansClassifier().fit(X, y, poor)
before = protocols.zsl(model, data).accuracy
print(f"{before:.0%} right from descriptions alone")

# %%
# Add examples
# ------------
# ``add_examples`` gives a new model. It needs no training rows and takes a moment. We
# shuffle the pictures of each unseen letter: the first ten are for teaching, the others
# for testing.

import numpy as np
import pandas as pd

X_new, y_new = data.samples("test_unseen")
order = np.random.default_rng(0).permutation(len(y_new))
X_new, y_new = X_new[order], y_new[order]
number = pd.Series(y_new).groupby(y_new).cumcount().to_numpy()  # 0, 1, … in each class
test = number >= 10


def accuracy(model):
    """On pictures that no model is taught."""
    found = model.predict(X_new[test], candidates=data.unseen_classes)
    return np.mean(found == y_new[test])


one = number < 1
taught = model.add_examples(X_new[one], y_new[one])
print(f"{accuracy(model):.0%} without, {accuracy(taught):.0%} with one example of each")

# %%
# And without a description?
# --------------------------
# A class can also be known by its examples alone. This second model has the
# descriptions of seen letters only.

bare = ClassMeansClassifier().fit(X, y, poor.loc[data.seen_classes])

shots = [1, 2, 3, 5, 10]
described, alone = [accuracy(model)], []
for count in shots:
    few = X_new[number < count], y_new[number < count]
    described.append(accuracy(model.add_examples(*few)))
    alone.append(accuracy(bare.add_examples(*few)))

assert described[1] > described[0]
assert described[1] > alone[0]
pd.DataFrame({"described": described[1:], "alone": alone}, index=shots).round(2)

# %%

import matplotlib.pyplot as plt

figure, place = plt.subplots(figsize=(6, 3.5), layout="constrained")
place.plot([0, *shots], 100 * np.array(described), "o-", label="with descriptions")
place.plot(shots, 100 * np.array(alone), "s--", label="examples alone")
place.set(xlabel="examples of each new class", ylabel="right (%)")
place.legend()
place.grid(alpha=0.3)

# %%
# The closer the two lines, the less the description still adds.
#
# Which letters gained most?
# --------------------------
# The same question for single classes. The first figure is from descriptions alone, the
# second after five examples of each.

from zskl.plots import ClassAccuracyDisplay

display = ClassAccuracyDisplay.from_estimator(model, data)
display

# %%

five = protocols.zsl(model, data, shots=5)  # draws examples, and scores the others
second = ClassAccuracyDisplay(five.per_class).plot()
second

# %%
# Somebody has mislabelled an example? ``remove_examples`` takes it out again.
#
# **Next:** :doc:`plot_unlabelled_rows` learns from rows that nobody has labelled.
# :doc:`Class means </class-means>` says how descriptions and examples are weighed.
