"""What is kept of rows of scores: the same from tensors as from arrays, and as a slow loop finds it."""

import numpy as np
import pytest

from zskl.metrics.row_gaps import Sides, best_scores, gaps, told

SEEN = np.array([True, False, True, False, False])
OWN = np.array([0, 1, 2, 3, 4, 0, 1, 2])


def drawn():
    scores = np.random.default_rng(0).integers(0, 4, size=(8, 5)).astype(np.float32)  # with equals
    scores[5, 3], scores[6, 0], scores[7, 4] = np.nan, np.inf, -np.inf
    return scores


def slow(scores):
    """(best seen, best unseen, whether the own side is right, whether all are finite) of each row."""
    found = []
    for row, own in zip(scores, OWN, strict=True):
        sides = [[c for c in range(5) if SEEN[c] == side] for side in (True, False)]
        winners = [max(side, key=lambda c: (row[c], -c)) for side in sides]  # of equals the first
        found.append((*(row[c] for c in winners), own in winners, bool(np.isfinite(row).all())))
    return found


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_best_scores_are_those_of_a_slow_loop(kind):
    scores = drawn()
    if kind == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        found = best_scores(torch.from_numpy(scores), Sides(OWN, SEEN, torch.from_numpy(scores))).numpy()
    else:
        found = best_scores(scores, Sides(OWN, SEEN, scores))
    expected = slow(scores)
    sound = [k for k, row in enumerate(expected) if row[3]]
    assert sound == [0, 1, 2, 3, 4]
    assert found[3].tolist() == [float(row[3]) for row in expected]
    for k in sound:
        assert found[:3, k].tolist() == [float(value) for value in expected[k][:3]]
    assert 0 < found[2, sound].sum() < len(sound)  # both answers occur


def test_gaps_are_read_from_best_scores():
    scores = drawn()[:5]
    gap, largest, right = gaps(scores, OWN[:5], SEEN)
    again = told(best_scores(scores, Sides(OWN[:5], SEEN, scores)))
    for mine, theirs in zip((gap, largest, right), again[:3], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    best = [(max(row[SEEN]), max(row[~SEEN])) for row in scores]
    assert gap.tolist() == [a - b for a, b in best]
    assert largest.tolist() == [max(a, b) for a, b in best]
