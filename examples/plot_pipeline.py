"""
Inside a scikit-learn Pipeline
==============================

Models follow scikit-learn, so they fit into its pipelines, its cross-validation and its
grid search. One thing is different: whole classes must be held out, not rows.
"""

# %%
# Columns in different units
# --------------------------
# A program draws fifty classes. Then each column gets another unit, as in a table with
# metres, grams and euros.

import numpy as np

from zskl import datasets

data = datasets.make_synthetic(40, 10, noise=1.5)
units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, data.X.shape[1])
seen, unseen = data.samples("trainval"), data.samples("test_unseen")
X, y = seen[0] * units, seen[1]
X_new, y_new = unseen[0] * units, unseen[1]

# %%
# A pipeline
# ----------
# The last step is the model. The table of classes goes to its ``fit`` by the name of
# the step: ``model__signatures``. The pipeline scales columns, so the model need not;
# ``l2`` gives each row the length 1.

from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from zskl import ClassMeansClassifier

pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("reduce", PCA(32)),
        ("model", ClassMeansClassifier(feature_scaling="l2")),
    ]
)
pipeline.fit(X, y, model__signatures=data.signatures)

# %%
# What you add to ``predict`` reaches the model: here the classes that may be answered.

found = pipeline.predict(X_new, candidates=data.unseen_classes)
right = np.mean(found == y_new)
bare = ClassMeansClassifier(feature_scaling="l2").fit(X, y, data.signatures)
unscaled = np.mean(bare.predict(X_new, candidates=data.unseen_classes) == y_new)
print(f"{right:.0%} right with the pipeline, {unscaled:.0%} with the model alone")
assert right > unscaled

# %%
# Cross-validation
# ----------------
# Usual folds split the rows of each class. That tells you how well *seen* classes are
# recognised: those that the model has trained on. For new classes hold out whole
# classes: ``GroupKFold`` does it, with the class as the group. The candidates are then
# the classes held out, so we write the score ourselves.

from sklearn.model_selection import GroupKFold, cross_val_score

table = {"model__signatures": data.signatures}


def among_held_out(pipeline, X, y):
    """Share of right answers when only the classes held out are candidates."""
    return np.mean(pipeline.predict(X, candidates=np.unique(y)) == y)


usual = cross_val_score(pipeline, X, y, params=table)
whole = cross_val_score(
    pipeline, X, y, groups=y, cv=GroupKFold(4), scoring=among_held_out, params=table
)
print(f"rows held out: {usual.mean():.0%}; classes held out: {whole.mean():.0%}")

# %%
# The two numbers answer different questions, and the first has more candidates: all
# fifty classes of the table. Only the second is about new classes.
#
# Grid search
# -----------
# With the same folds and the same score, scikit-learn chooses settings of every step.

from sklearn.model_selection import GridSearchCV

grid = {"reduce__n_components": [8, 16, 32, 64], "model__shrinkage": [0.1, 0.5, 0.9]}
search = GridSearchCV(pipeline, grid, scoring=among_held_out, cv=GroupKFold(4))
search.fit(X, y, groups=y, **table)
print(search.best_params_)
print(f"{search.best_score_:.0%} on held-out classes")
chosen = search.best_estimator_
print(f"{among_held_out(chosen, X_new, y_new):.0%} on the ten unseen ones")

# %%

from zskl.plots import ValidationGridDisplay

shrinkage, components = grid["model__shrinkage"], grid["reduce__n_components"]
best = search.best_params_
display = ValidationGridDisplay(
    search.cv_results_["mean_test_score"].reshape(3, 4),
    shrinkage,
    components,
    settings=("shrinkage", "n_components"),
    chosen=(
        shrinkage.index(best["model__shrinkage"]),
        components.index(best["reduce__n_components"]),
    ),
).plot()
display

# %%
# Our own search holds classes out by itself, and works faster: it transforms each fold
# once for each setting of the steps before, then shares fits. It keeps the settings
# that you gave unless others are clearly better, and calibrates.

from zskl import selection

tuned = selection.tune(pipeline, X, y, data.signatures, grid, engine=None)
print(tuned)
calibrated = tuned.model.predict(X_new)  # among all fifty classes, seen and unseen

# %%
# Figures of a fitted pipeline
# ----------------------------
# Displays take a model and a dataset. Hand over the last step, and the dataset as the
# steps before it see it.

from zskl import Dataset
from zskl.plots import SeenUnseenCurveDisplay

seen_by_model = chosen[:-1].transform(data.X * units)
scaled = Dataset("scaled", seen_by_model, data.y, data.signatures, data.parts)
curve = SeenUnseenCurveDisplay.from_estimator(chosen[-1], scaled, name="pipeline")
curve

# %%
# What a pipeline cannot do
# -------------------------
# :func:`zskl.selection.calibrate` and :func:`zskl.selection.tune` take a model without
# a pipeline around it, and a model file holds no pipeline. If scaling is all you need,
# let the model do it: with ``feature_scaling="standardize-l2"`` all of this works.

from zskl import selection

model = ClassMeansClassifier(feature_scaling="standardize-l2")
model.fit(X, y, data.signatures)
selection.calibrate(model, X, y, data.signatures)
right = np.mean(model.predict(X_new, candidates=data.unseen_classes) == y_new)
sure = model.predict_proba(X_new, candidates=data.unseen_classes).max(axis=1).mean()
print(f"{right:.0%} right, and {sure:.0%} sure of it on average")

# %%
# **Next:** :doc:`Selection and calibration </selection>` has folds of whole classes and
# a quicker search. :doc:`Your own data </own-data>` begins with your files.
