"""A GPU's code without a GPU: fused kernels by Triton's interpreter, and stacks split for lack of memory."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tolerances
from tolerances import FIT, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, selection
from zskl._arrays import to_numpy
from zskl.estimators import kernel_classifier
from zskl.estimators.kernel_classifier import StackMoment, fit_stack
from zskl.metrics import Sides, gaps_from_best, row_gaps

SETTINGS = [{"sigma": 0.7 + 0.1 * k, "repulsion": 1.0 + k} for k in range(5)]


def test_the_fused_step_is_the_plain_one():
    pytest.importorskip("torch", reason="PyTorch is not installed: the fused step of GPUs")
    pytest.importorskip("triton", "3.9", reason="Triton 3.9 is not installed; older interpreters fail with NumPy 2.5")
    script = Path(tolerances.__file__).with_name("interpreted.py")
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    assert max(found.pop("a planted fault")) > SUMS.single
    assert max(found.pop("another planted fault")) > SUMS.single
    assert max(found.pop("a third planted fault")) > SUMS.single
    assert len(found) == 33
    far = {case: differences for case, differences in found.items() if not max(differences) < SUMS.single}
    assert not far, "objective, W or V of the fused step differ from the plain step's"


def problem():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((8, 6))
    y = np.arange(120) % 6
    X = Y[y] @ rng.standard_normal((6, 12)) + 0.3 * rng.standard_normal((120, 12))
    return X.astype(np.float32), y, {k: Y[k] for k in range(8)}


def limited(monkeypatch, members):
    """As if a GPU had room for so many members."""
    each = 4 * (kernel_classifier.MATRICES * 12 * 6 + kernel_classifier.IMAGES * 12 * 6)
    monkeypatch.setattr(
        kernel_classifier, "free_gpu_memory", lambda array: int((members + 0.5) * each / kernel_classifier.SHARE)
    )


def test_a_stack_is_split_by_the_memory_that_is_free(monkeypatch, caplog):
    estimator = ZeroShotKernelClassifier(epochs=3, random_state=0)
    whole = fit_stack(estimator, SETTINGS, *problem())
    limited(monkeypatch, 2)
    seen = []
    with caplog.at_level(logging.WARNING, "zskl"):
        parts = fit_stack(estimator, SETTINGS, *problem(), lambda now: seen.append((now.first, len(now.objective))))
    for found, expected in zip(parts, whole, strict=True):
        assert found.sigma == expected.sigma
        assert_close(found.projection_, expected.projection_, FIT.single)
    with pytest.raises(AssertionError):  # a member in another's place
        assert_close(parts[0].projection_, whole[2].projection_, FIT.single)
    assert [part for i, part in enumerate(seen) if i == 0 or part != seen[i - 1]] == [(0, 2), (2, 2), (4, 1)]
    assert "5 projections of 12 × 6, on 120 rows, do not fit into the 0.0 GiB" in caplog.text
    assert "training 2 at a time" in caplog.text


def test_memory_for_less_than_one_member_still_tries_one(monkeypatch):
    limited(monkeypatch, 0)
    members = fit_stack(ZeroShotKernelClassifier(epochs=1, random_state=0), SETTINGS[:2], *problem())
    assert all(member.diverged_ is None for member in members)


def test_members_of_a_stack_are_judged_together_as_each_alone(monkeypatch):
    X, y, table = problem()
    alike = ZeroShotKernelClassifier(epochs=2, random_state=0)
    members = fit_stack(alike, SETTINGS, X, y, table)
    members[3].projection_ = np.full_like(members[3].projection_, np.nan)
    W = np.stack([member.projection_ for member in members])
    scaled = members[0]._scale_rows(X)
    question = members[0]._question(scaled, members[0].signature_table_)
    is_seen = np.arange(8) < 5
    monkeypatch.setattr(kernel_classifier, "AT_ONCE", 2 * 120 * 8)  # two members at a time
    best = StackMoment(members, W).best_scores(scaled, question, Sides(y, is_seen, scaled))
    *found, finite = gaps_from_best(to_numpy(best))
    assert finite.all(axis=1).tolist() == [True, True, True, False, True]
    for k in np.flatnonzero(finite.all(axis=1)):
        scores = members[k].compatibility(X)
        for mine, other in zip(found, row_gaps(scores, y, is_seen), strict=True):
            np.testing.assert_allclose(mine[k], other, rtol=0, atol=SUMS.single)
    assert distance(found[0][0], found[0][4]) > 10 * SUMS.single  # members differ


def distance(one, other):
    return np.abs(one - other).max()


def test_a_split_search_finds_what_a_whole_one_finds(monkeypatch):
    """Through `_fit_together`, as on a GPU, where settings that differ in epochs are one member at several times."""
    X, y, table = problem()
    monkeypatch.setattr(
        ZeroShotKernelClassifier, "_free_settings", lambda self, X: ("epochs", *kernel_classifier.STACKABLE)
    )
    grid = {"sigma": [0.7, 0.9, 1.1], "epochs": [1, 2, 3]}
    estimator = ZeroShotKernelClassifier(random_state=0)
    folds = selection.folds(y)
    found = []
    for members in (None, 2):
        if members:
            limited(monkeypatch, members)
        found.append(selection.search(estimator, X, y, table, grid, folds))
    one_row = 1.01 / 20 / 2  # of the 20 of each of two classes held out: one at a border may change sides
    np.testing.assert_allclose(found[0].zsl, found[1].zsl, rtol=0, atol=one_row)
    assert np.ptp(found[0].zsl, axis=0).max() > 2 * one_row, (
        "all settings are alike: one in another's place would not be noticed"
    )
