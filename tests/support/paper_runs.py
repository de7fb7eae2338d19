"""The paper's evaluation on a tiny benchmark: short grids, few values, and readers of what it writes."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from command import zskl
from tolerances import AFTER_FIT, decided
from zskl import methods
from zskl.experiments import run_folder, unit
from zskl.experiments.record import Generalised, Record, ZeroShot
from zskl.methods import split_grid
from zskl.paper import evaluation as evaluations
from zskl.paper import results
from zskl.paper.results import Problem
from zskl.plots import _style

VALUES = {
    "gaussian-ort": {"sigma": (0.5, 1.0, 2.0), "repulsion": (0.0, 1.0, 50.0)},
    "cauchy-ort": {"sigma": (0.1, 1.0, 5.0), "repulsion": (0.0, 1.0)},
    "polynomial-4": {"bias": (0.5, 1.0), "repulsion": (0.0, 1.0)},
}
PARTS = ("zsl", "gzsl", "incoherence", "gram", "sensitivity", "convergence")
PNG = b"\x89PNG, not drawn"
HERE = Problem("CUB", "res101", "f", "d", published=True)
SETTING = {"sigma": 0.7, "repulsion": 2.0, "learning_rate": 1e-3, "epochs": 2, "feature_scaling": "center-l2"}


def untried(examiner, model):
    """Instead of the seconds of trials with examples and unlabelled rows, which have tests of their own."""


@contextmanager
def shortened(cache):
    """Grids of one or two settings, few values to vary, short courses, no trials, no pixels; a cache of its own."""

    def short(name, method):
        whole = split_grid(method.grid)[0]
        grid = {setting: tuple(values)[:1] for setting, values in whole.items()}
        if "sigma" in grid and name in results.PARTS["sensitivity"]:
            grid["sigma"] = tuple(whole["sigma"])[:2]
        return replace(method, grid=grid, bounds={})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", {name: short(name, one) for name, one in methods.METHODS.items()})
        means = {name: tuple(values)[:1] for name, values in split_grid(methods.MEMBER_MEANS)[0].items()}
        patch.setattr(methods, "MEMBER_MEANS", means)  # which the published table searches
        patch.setattr(evaluations, "VALUES", VALUES)
        patch.setattr(evaluations, "EPOCHS", 3)
        patch.setattr("zskl.selection.grid_search.FoldScorer.few_shot_trial", untried)
        patch.setattr(_style, "to_png", lambda figure: PNG)  # which has tests of its own
        # Tiny features have not the shape of the package's; that check has tests of its own.
        patch.setattr("zskl.datasets.xlsa17.has_published_features", lambda data: data.features == "res101" or None)
        patch.setenv("ZSKL_CACHE", str(cache))
        patch.delenv("ZSKL_DATA", raising=False)
        yield


def paper(part, out, *more, seeds="2"):
    return zskl("paper", part, "--seeds", seeds, "--workers", "1", "--out", str(out), *map(str, more))


def table(out, name):
    with open(out / "tables" / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def runs(out, part=""):
    return run_folder.read_log(out / part / "records.jsonl")


def evaluation(seed, zero_shot, unseen, harmonic, incoherence=None):
    """A record made up, of HERE."""
    return Record(
        dataset="CUB",
        method="any",
        seed=seed,
        zsl=ZeroShot(accuracy=zero_shot),
        gzsl=Generalised(unseen=unseen, harmonic=harmonic, ausuc=unseen),
        gzsl_calibrated=Generalised(harmonic=harmonic),
        incoherence=incoherence,
    )


def units(seeds=2):
    """How many units the whole evaluation of a dataset has: methods, three sensitivities and a course."""
    return sum(len(unit.useful_seeds(name, seeds)) for name in results.ALL) + 4 * seeds


def near(text, value):
    return float(text) == pytest.approx(value, abs=6e-5)


def fitted(data, part, **settings):
    state = unit.unit_seed(data.name, "gaussian-ort", 0)
    model = methods.build("gaussian-ort", {**SETTING, **settings, "random_state": state})
    return model.fit(data.X[part], data.y[part], data.signatures)


def open_(model, data):
    """How far two accuracies on unseen test rows may be apart: by the rows that rounding during a fit can decide."""
    held = data.parts["test_unseen"]
    scores = model.compatibility(data.X[held], data.signatures.loc[np.unique(data.y[held])])
    undecided = ~decided(scores, AFTER_FIT.single)
    assert undecided.mean() < 0.2
    shares = [undecided[data.y[held] == label].mean() for label in np.unique(data.y[held])]
    return np.mean(shares) + 1e-12
