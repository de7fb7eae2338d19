"""Accuracies by loops over rows and by argmax, to check the fast ones against."""

import numpy as np


def slow_per_class(y_true, y_pred):
    rows = {}
    for true, predicted in zip(y_true, y_pred, strict=True):
        rows.setdefault(true, []).append(true == predicted)
    return {label: sum(right) / len(right) for label, right in rows.items()}


def slow_mean(y_true, y_pred):
    accuracies = slow_per_class(y_true, y_pred).values()
    return sum(accuracies) / len(accuracies)


def slow_point(scores, y_true, candidates, seen, constant):
    """Both accuracies under one constant, by the definition."""
    predicted = [candidates[np.argmax([s - constant * f for s, f in zip(row, seen, strict=True)])] for row in scores]
    is_seen = dict(zip(candidates, seen, strict=True))
    sides = []
    for side in (True, False):
        pairs = [(t, p) for t, p in zip(y_true, predicted, strict=True) if is_seen[t] == side]
        sides.append(slow_mean(*zip(*pairs, strict=True)))
    return tuple(sides)


def random_scores(seed, n=60, seen=4, unseen=3):
    """Scores (n, c) in tenths, the column (n,) of each row's class, and which columns (c,) are of seen classes."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, seen + unseen))
    own = rng.integers(0, seen + unseen, n)
    scores[np.arange(n), own] += 0.7
    scores[:, :seen] += 0.5
    return np.round(scores, 1), own, np.arange(seen + unseen) < seen


def slow_accuracies(scores, own, is_seen, constant):
    """(seen, unseen) mean per-class accuracy with a constant subtracted from the scores of seen classes."""
    answers = np.argmax(scores - constant * is_seen, axis=1)
    sides = []
    for side in (is_seen, ~is_seen):
        classes = [c for c in np.flatnonzero(side) if (own == c).any()]
        sides.append(float(np.mean([np.mean(answers[own == c] == c) for c in classes])))
    return tuple(sides)
