"""A small search: data, folds, a grid and an estimator that several tests of selection share."""

import json

import numpy as np

from zskl import ZeroShotKernelClassifier, datasets, metrics, selection
from zskl.experiments import run_folder, sweep
from zskl.experiments.sweep import DatasetSource, SweepTask

# Small search ---------------------------------------------------------------------------------------------------------

DATA = datasets.make_synthetic(9, 3, 30, 16, 8, noise=0.6)
ROWS = DATA.parts["trainval"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures
GRID = {"sigma": [0.6, 1.0], "learning_rate": [1e-3, 1e-2], "epochs": [1, 3, 4]}
FOLDS = selection.folds(DATA)
ROWS_APART = 2 / min(len(fold.val_unseen) for fold in FOLDS)  # two rows that rounding may put on the other side


def estimator(**settings):
    return ZeroShotKernelClassifier(**{"random_state": 0, "batch_size": 6, **settings})


def by_hand(setting, fold):
    """(zero-shot accuracy of the held-out classes, scores, own, seen) by a lone fit through the public names."""
    X, y, table = TRAINING
    model = estimator(**setting).fit(X[fold.train], y[fold.train], table.loc[np.unique(y)])
    rows = np.concatenate([fold.val_seen, fold.val_unseen])
    classes = np.unique(y)
    scores = model.compatibility(X[rows], table.loc[classes])
    held = np.unique(y[fold.val_unseen])
    answers = model.predict(X[fold.val_unseen], table.loc[held])
    accuracy = metrics.mean_per_class_accuracy(y[fold.val_unseen], answers)
    return accuracy, scores, np.searchsorted(classes, y[rows]), ~np.isin(classes, held)


# Swept ----------------------------------------------------------------------------------------------------------------
# Units of a sweep as tests run them, and what of their records must be equal.

QUICK = {"epochs": 1}


def pieces(data, units, name="digits"):
    return [SweepTask(DatasetSource(name), data, unit) for unit in units]


def timeless(record):
    """What must be equal between engines, as it is after a round trip through JSON."""
    plain = json.loads(run_folder.to_line(record.to_json()))
    return {name: value for name, value in plain.items() if name not in ("seconds", "finished", "versions")}


def outcomes(*arguments):
    return dict(sweep.run_sweep(*arguments))
