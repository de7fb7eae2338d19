"""What each of some values adds to a score, by a slow walk from one point to another; for tests of explanations."""

import numpy as np

STEPS = 400  # the error of the trapezium rule falls with their square
WALKED = 2e-4  # of the largest part
NUDGE = 1e-5


def walk(first, second, score):
    """(p,) from `second` to `first` in small steps; `score` tells those of points (k, p), and nothing else is asked."""
    times = np.linspace(0, 1, STEPS + 1)
    points = second + times[:, None] * (first - second)
    found = np.zeros(len(first))
    for m in np.flatnonzero(first != second):
        sides = []
        for way in (1, -1):
            moved = points.copy()
            moved[:, m] += way * NUDGE
            sides.append(score(moved))
        found[m] = (first[m] - second[m]) * np.trapezoid((sides[0] - sides[1]) / (2 * NUDGE), times)
    return found


def walk_descriptions(model, one, score):
    """The same between the two descriptions of an explanation: straight between roots, where these are scaled."""
    if "sqrt" not in model.signature_scaling_.steps:
        return walk(one.values, one.values_against, score)
    return walk(np.sqrt(one.values), np.sqrt(one.values_against), lambda points: score(np.sign(points) * points**2))


def ask(model, x):
    """Scores of x for any descriptions, as the model tells everybody."""
    return lambda points: model.compatibility(x[None], points, [f"point {k}" for k in range(len(points))])[0]
