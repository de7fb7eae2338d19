"""Which setting is fitted on all training rows where the best one diverges on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from zskl import ZeroShotKernelClassifier, datasets, methods, selection
from zskl.experiments.unit import Unit
from zskl.training.solver import DivergenceError

SIGMAS = (0.5, 1.0, 2.0, 4.0)


@pytest.fixture
def ranked(monkeypatch):
    """Sets the score of each sigma by zsl and by gzsl, and which sigmas diverge on all training rows."""
    data = datasets.load("digits")
    method = methods.METHODS["gaussian"]
    changed = replace(method, grid={"sigma": SIGMAS}, bounds={})
    monkeypatch.setattr(methods, "METHODS", {**methods.METHODS, "gaussian": changed})
    search, fit = selection.search, ZeroShotKernelClassifier.fit
    fits = []

    def plan(zsl, gzsl, diverging):
        def scored(*arguments, with_default, halving):
            assert (with_default, halving) == (True, None)  # only sigma is tried: the default, 1.0, is in the grid
            found = search(*arguments)
            folds = np.ones((1, len(found.folds)))
            return replace(found, zsl=np.array(zsl)[:, None] * folds, gzsl=np.array(gzsl)[:, None] * folds)

        def failing(self, X, *rest, **more):
            if len(X) == len(data.parts["trainval"]):
                fits.append(self.sigma)
                if self.sigma in diverging:
                    raise DivergenceError(3, 0.1)
            return fit(self, X, *rest, **more)

        monkeypatch.setattr(selection, "search", scored)
        monkeypatch.setattr(ZeroShotKernelClassifier, "fit", failing)
        unit = Unit("gaussian", 0, {"epochs": 1, "batch_size": 200}, tune=True, calibrate=True)
        choices = unit.run(data).tune.choices
        return choices.zsl.setting["sigma"], choices.gzsl.setting["sigma"], fits

    return plan


def test_each_scoring_gets_its_own_next_best_where_the_best_diverges(ranked):
    zsl, gzsl, _ = ranked([0.9, 0.8, 0.1, 0.1], [0.9, 0.1, 0.8, 0.1], diverging={0.5})
    assert (zsl, gzsl) == (1.0, 2.0)


def test_a_setting_that_both_scorings_take_is_fitted_once(ranked):
    assert ranked([0.9, 0.8, 0.1, 0.1], [0.9, 0.1, 0.8, 0.1], diverging=set()) == (0.5, 0.5, [0.5])


def test_a_fallback_that_is_the_best_of_the_other_scoring_is_fitted_once(ranked):
    assert ranked([0.9, 0.8, 0.1, 0.1], [0.1, 0.9, 0.8, 0.1], diverging={0.5}) == (1.0, 1.0, [0.5, 1.0])
