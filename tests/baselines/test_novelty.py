"""The threshold of novelty against all others, and what is held out to choose it."""

import numpy as np
import pytest

from descent_problems import TRAINING
from zskl import metrics
from zskl.baselines import CMTStar
from zskl.baselines.novelty import best_threshold, hold_out


def test_the_best_threshold_against_all_of_them():
    rng = np.random.default_rng(2)
    seen = np.arange(60) < 25
    codes = np.concatenate([rng.integers(4, size=25), rng.integers(3, size=35)])
    novel = rng.gamma(2.0, size=60) + ~seen
    novel[10] = novel[40]  # equals on either side
    right = rng.random(60) < 0.7

    def harmonic(tau):
        accepted = right & np.where(seen, novel <= tau, novel > tau)
        seen_accuracy, unseen_accuracy = (
            np.mean([accepted[kind & (codes == c)].mean() for c in np.unique(codes[kind])]) for kind in (seen, ~seen)
        )
        return metrics.harmonic_mean(seen_accuracy, unseen_accuracy)

    found = harmonic(best_threshold(novel, right, codes, seen))
    assert found == pytest.approx(max(harmonic(tau) for tau in [0.0, *novel]), rel=1e-12)


def test_what_is_held_out_for_the_threshold():
    model = CMTStar(random_state=0)
    training = model._prepare(*TRAINING)
    trial = hold_out(training, 5)
    held = sorted({row.tobytes() for row in trial.X} & {row.tobytes() for row in trial.inner.X})
    assert held == []
    assert len(trial.X) + len(trial.inner.X) == len(training.X)
    assert len(trial.Y) == 1
    assert len(trial.inner.sizes) == 7
    assert trial.inner.sizes.sum() == len(trial.inner.X)
    original = {row.tobytes(): int(code) for row, code in zip(training.X, training.codes, strict=True)}
    inner = {original[row.tobytes()] for row in trial.inner.X}
    for row, is_seen in zip(trial.X, trial.seen, strict=True):
        assert (original[row.tobytes()] in inner) == is_seen
    again = hold_out(training, 5)
    np.testing.assert_array_equal(again.X, trial.X)
