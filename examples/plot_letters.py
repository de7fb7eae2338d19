"""
Letters from nothing
====================

An é is an e with an acute. You know e, and you know the acute from á and ó. So you can
read é the first time you meet it. Here a model does the same for fifty letters.
"""

# %%
# Pictures and descriptions
# -------------------------
# The dataset comes with the library. It draws letters from the fonts of matplotlib; the
# first time this takes a few seconds. ``data.X`` has a row of numbers for each picture:
# where it has edges, and in which direction.

from zskl import datasets
from zskl.datasets import letters

data = datasets.load("letters")
data

# %%
# A letter is described by its base letter, its case and its mark. This is its
# *signature*: a row of ones and zeros. The words come from Unicode.

row = data.signatures.loc["ő"]
row[row > 0]

# %%
# Classes of which the model gets pictures are *seen*. The others are *unseen*: it gets
# only their signatures. Of every unseen letter, the base letter and the mark are seen,
# but never together.

print(*data.unseen_classes[:25])
print(*data.unseen_classes[25:])

# %%
# Train on the others
# -------------------

from zskl import ClassMeansClassifier

X, y = data.samples("trainval")
model = ClassMeansClassifier().fit(X, y, data.signatures)

# %%
# Read what it has never seen
# ---------------------------
# The pictures of the test are of the fifty unseen letters. Which of the fifty is it?

import numpy as np

rows = data.parts["test_unseen"]
found = model.predict(data.X[rows], candidates=data.unseen_classes)
right = np.mean(found == data.y[rows])
print(f"{right:.0%} of {len(rows)} pictures are right; a guess would be at 2%")
assert right > 0.9

# %%
# Here are some of them. Below each picture is the answer, in red where it is wrong.

import matplotlib.pyplot as plt

pictures = letters.pictures()
some = np.random.default_rng(0).permutation(len(rows))[:40]
figure, places = plt.subplots(4, 10, figsize=(8, 4.4))
figure.subplots_adjust(left=0, right=1, bottom=0.1, top=1)
for place, k in zip(places.flat, some, strict=True):
    place.imshow(pictures[rows[k]], cmap="gray_r")
    good = found[k] == data.y[rows[k]]
    place.set_title(found[k], y=-0.45, color="black" if good else "red")
    place.axis("off")

# %%
# Some letters are harder than others. The next figure shows the ten worst and the ten
# best.

from zskl.plots import ClassAccuracyDisplay

display = ClassAccuracyDisplay.from_estimator(model, data)
display

# %%
# Find letters by a description
# -----------------------------
# The other way round: describe a letter, and search among all pictures that were not
# trained on, of seen and unseen letters alike. Each line of the figure has the ten that
# match best. How many of them are what we asked for?

pool = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
figure, places = plt.subplots(4, 10, figsize=(8, 4.4))
figure.subplots_adjust(left=0, right=1, bottom=0, top=0.95)
wishes = [("a", "ring above"), ("s", "caron"), ("Z", "dot above"), ("q", "ring above")]
for line, (letter, mark) in zip(places, wishes, strict=True):
    wish = letters.describe(letter, mark)
    scores = model.compatibility(data.X[pool], {wish.name: wish})[:, 0]
    best = pool[scores.argsort()[::-1][:10]]
    print(f"{letter} with {mark}: {np.sum(data.y[best] == wish.name)} of ten")
    for place, k in zip(line, best, strict=True):
        place.imshow(pictures[k], cmap="gray_r")
        place.axis("off")
    line[0].set_title(f"{letter} with {mark}", loc="left", fontsize=9)

# %%
# The dataset has no q with a ring. So the last line shows what comes closest.
#
# **Next:** :doc:`plot_own_table` does the same with your own numbers.
# :doc:`The tutorial </tutorial>` explains every step.
