"""
Pictures of birds with attributes
=================================

A field guide says what a bird looks like: the shape of its bill, the colour of its
wings. Can you name a species in a photo when you have only read about it?
"""

# %%
# The data
# --------
# *CUB* has photos of 200 species of birds. People described each species by 312
# attributes. A network has turned each photo into a row of numbers. The files are
# large, so they do not come with the library: ``zskl data fetch xlsa17`` gets them,
# and the environment variable ``ZSKL_DATA`` says where they are.
#
# Where they are missing, this script draws random numbers of the same kind: as many
# classes and attributes, but fewer rows and columns. The line that it prints says which
# of the two you see.

from zskl import datasets

try:
    data = datasets.load("CUB")
    print("These are photos of CUB.")
except FileNotFoundError:
    data = datasets.make_synthetic(150, 50, 12, 128, 312, noise=2.5)
    print("CUB is not here: random numbers stand in for it.")
data

# %%
# A species has a number for each attribute. These are the highest of one species:

bird = data.unseen_classes[0]
data.signatures.loc[bird].nlargest(5)

# %%
# Train on 150 species
# --------------------
# Fifty species are *unseen*: the model gets their attributes, but not one photo.

from zskl import ClassMeansClassifier

model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)

# %%
# Name the other fifty
# --------------------
# The accuracy is the mean over species, so that each counts the same.

from zskl import protocols

result = protocols.zsl(model, data)
chance = 1 / len(data.unseen_classes)
print(f"{result.accuracy:.0%} right; a guess would be at {chance:.0%}")
assert result.accuracy > 10 * chance

# %%
# A mean hides much. Here are the ten worst and the ten best species.

from zskl.plots import ClassAccuracyDisplay, ConfusionDisplay

bars = ClassAccuracyDisplay.from_estimator(model, data)
bars

# %%
# Which species are taken for which? These are the most frequent mistakes.

confusion = ConfusionDisplay.from_estimator(model, data)
confusion

# %%
# Search by a description
# -----------------------
# Take the description of the bird above, and rank all rows of the test by it, those of
# the 150 seen species too. How many of the ten best are of this species?

import numpy as np

rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
scores = model.compatibility(data.X[rows], {bird: data.signatures.loc[bird]})[:, 0]
best = data.y[rows[scores.argsort()[::-1][:10]]]
print(f"{bird}: {np.sum(best == bird)} of the 10 best, among {len(rows)} rows")

# %%
# **Next:** :doc:`The benchmarks </benchmarks>` says how to get the files.
# :doc:`Features from images </images-and-words>` turns your own photos into rows.
# :doc:`plot_few_examples` shows what a few labelled samples of new classes add.
