"""
Explain and calibrate
=====================

A model says š. Why? And how sure is it? This example opens one answer, balances seen
against unseen classes, and lets the model say "unknown".
"""

# %%
# A model
# -------
# The classes are letters such as š. Fifty of them are *unseen*: the model gets their
# descriptions, but no picture. ``ESZSL`` is a published method. Its score is a sum over
# attributes, so explanations are easy to read.

from zskl import datasets
from zskl.baselines import ESZSL

data = datasets.load("letters")
X, y = data.samples("trainval")
model = ESZSL().fit(X, y, data.signatures)

# %%
# Why this answer?
# ----------------
# ``explain`` compares the answer with the runner-up. Every attribute has a share in the
# difference of their scores, and the shares add up to it.

import numpy as np

X_new, y_new = data.samples("test_unseen")
first = np.flatnonzero(y_new == "š")[0]
(why,) = model.explain(X_new[[first]], candidates=data.unseen_classes, top=4)
print(why)
assert np.isclose(why.contributions.sum(), why.difference)

# %%
# You can also ask about two classes that you name:

(why,) = model.explain(X_new[[first]], label="š", against="s", top=4)
why

# %%
# Too fond of what it knows
# -------------------------
# In practice a picture may be of any letter. Models name the letters they have trained
# on too often. *H*, the harmonic mean of the accuracies of seen and unseen classes, is
# high only if both are.

from zskl import protocols


def told(result):
    """The three numbers in one line."""
    seen, unseen, both = result.seen, result.unseen, result.harmonic
    return f"seen {seen:.0%}, unseen {unseen:.0%}, H {both:.0%}"


plain = protocols.gzsl(model, data)
print(told(plain))

# %%
# Calibrate
# ---------
# ``calibrate`` holds training classes out and plays unseen with them. So it finds what
# to subtract from the scores of seen classes. It never looks at test rows.

from zskl import selection

folds = selection.folds(data)
selection.calibrate(model, X, y, data.signatures, folds)
balanced = protocols.gzsl(model, data, calibration="model")
print(told(balanced))
assert balanced.harmonic > plain.harmonic

# %%
# The curve shows all that could be subtracted. The ring is the plain model, the dot is
# the choice.

from zskl.plots import SeenUnseenCurveDisplay

curve = SeenUnseenCurveDisplay.from_estimator(model, data, name="ESZSL")
curve

# %%
# How sure is it?
# ---------------
# ``calibrate`` has also learned how to turn scores into probabilities. Take the picture
# that the model is least sure about, and its three most likely letters:

chances = model.predict_proba(X_new, candidates=data.unseen_classes)
hardest = chances.max(axis=1).argmin()
for k in chances[hardest].argsort()[::-1][:3]:
    print(f"{data.unseen_classes[k]}  {chances[hardest, k]:.0%}")

# %%

import matplotlib.pyplot as plt

from zskl.datasets import letters

picture = letters.pictures()[data.parts["test_unseen"][hardest]]
figure, place = plt.subplots(figsize=(1.5, 1.7), layout="constrained")
place.imshow(picture, cmap="gray_r")
place.set_title(f"it is {y_new[hardest]}")
place.set_axis_off()

# %%
# A probability is good if answers with 80% are right in 80% of the cases. The figure
# withholds answers below a threshold that rises from right to left: fewer rows are
# answered, and more of these answers are right.

from zskl.plots import ReliabilityDisplay

display = ReliabilityDisplay.from_estimator(model, data, name="ESZSL")
display

# %%
# Say "unknown"
# -------------
# With ``min_probability`` the model keeps silent when it is unsure.

answers = model.predict(X_new, candidates=data.unseen_classes, min_probability=0.7)
given = answers != "unknown"
right = np.mean(answers[given] == y_new[given])
print(f"answers {given.mean():.0%} of the pictures; {right:.0%} of these are right")

everything = model.predict(X_new, candidates=data.unseen_classes)
assert right > np.mean(everything == y_new)

# %%
# Choose the settings too
# -----------------------
# ``tune`` tries settings on the same held-out classes, and the default one too. Then it
# fits the best on all training rows, and calibrates it.

tuned = selection.tune(
    ESZSL(),
    X,
    y,
    data.signatures,
    grid={"feature_scaling": ["center-l2", "sqrt-center-l2"], "lam": [0.3, 1, 3]},
    folds=folds,
    scoring="gzsl",
    engine=None,
)
tuned

# %%

best = protocols.gzsl(tuned.model, data, calibration="model")
print(told(best))

# %%
# **Next:** :doc:`Why this class </explain>` has the mathematics of explanations.
# :doc:`Selection and calibration </selection>` says how settings are chosen.
