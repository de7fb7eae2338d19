"""
Unlabelled rows
===============

You have many samples of new classes, but nobody has said which is which. They can
still improve the model: samples of one class lie close together.
"""

# %%
# Rough descriptions
# ------------------
# A program draws the data. Forty classes have training rows, ten are *unseen*. Each
# class has sixteen traits, and the table only says whether a trait is above or below
# the average. Such descriptions are right, but rough.

from zskl import Dataset, datasets

drawn = datasets.make_synthetic(40, 10, samples_per_class=60, noise=1.5)
rough = (drawn.signatures > 0).astype(float)
data = Dataset("rough", drawn.X, drawn.y, rough, drawn.parts)
rough.iloc[:3, :4]

# %%
# Train and calibrate
# -------------------
# ``calibrate`` holds training classes out and plays unseen with them. Here we need it
# for one of the things that it finds out: whether unlabelled rows help.

from zskl import ClassMeansClassifier, selection

X, y = data.samples("trainval")
model = ClassMeansClassifier().fit(X, y, rough)
model = selection.calibrate(model, X, y, rough)

# %%
# Adapt
# -----
# Half of the rows of unseen classes are for adapting. Their labels are not used. The
# other half is for testing.

import numpy as np

X_new, y_new = data.samples("test_unseen")
order = np.random.default_rng(0).permutation(len(y_new))
pool, test = np.array_split(order, 2)


def accuracy(model):
    """On rows that the model did not adapt to."""
    found = model.predict(X_new[test], candidates=data.unseen_classes)
    return np.mean(found == y_new[test])


adapted = model.adapt(X_new[pool])
print(f"{accuracy(model):.0%} before, {accuracy(adapted):.0%} after {len(pool)} rows")
promised = adapted.adaptation_["expected_gain"]
print(f"held-out training classes had promised {100 * promised:.0f} points")
assert accuracy(adapted) > accuracy(model)

# %%
# How many rows does it take?
# ---------------------------
# ``force=True`` adapts in any case, also to so few rows that the model would decline
# (see below).

counts = [50, 75, 100, 150, 200, 300]
curve = [
    accuracy(model),
    *(accuracy(model.adapt(X_new[pool[:n]], force=True)) for n in counts),
]

import matplotlib.pyplot as plt

figure, place = plt.subplots(figsize=(6, 3.5), layout="constrained")
place.plot([0, *counts], 100 * np.array(curve), "o-")
place.set(xlabel="unlabelled rows of ten classes", ylabel="right (%)")
place.grid(alpha=0.3)

# %%
# When it declines
# ----------------
# Unlabelled rows can also do harm: where the model is wrong about a class, it pulls in
# the wrong rows. So ``adapt`` refuses unless held-out classes promise a gain. Two rows
# of each class are too few:

import textwrap

try:
    model.adapt(X_new[pool[:20]])
except ValueError as reason:
    print(textwrap.fill(str(reason), 60))
else:
    raise AssertionError("expected a refusal")

# %%
# Seen and unseen classes together
# --------------------------------
# The harder question is: which of all fifty classes is it? Models name the classes that
# they have trained on too often. A constant is subtracted from the scores of seen
# classes to balance that. Each curve shows all choices of the constant; further up and
# to the right is better. A ring is the plain model, a dot the constant that held-out
# classes chose. The model adapts to the rows of the test, but never sees their labels.

from zskl.plots import SeenUnseenCurveDisplay

everything = [*data.parts["test_seen"], *data.parts["test_unseen"]]
both = model.adapt(data.X[everything], candidates="all")
pair = [SeenUnseenCurveDisplay.from_estimator(one, data) for one in (model, both)]
display = SeenUnseenCurveDisplay(
    [one.unseen[0] for one in pair],
    [one.seen[0] for one in pair],
    names=["before", "after"],
    plain=[one.plain[0] for one in pair],
    calibrated=[one.calibrated[0] for one in pair],
).plot()
display

# %%
# **Next:** :doc:`Class means </class-means>` says when adapting helps and what can go
# wrong. :doc:`plot_few_examples` is for samples that somebody has labelled.
