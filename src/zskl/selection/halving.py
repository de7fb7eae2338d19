"""Which runs of a search go on to longer training and to further folds, when not all do.

A run is a fit with all settings that it serves, such as the numbers of epochs. Every run is made on the first fold,
with the fewest epochs. The better ones are made there with all epochs. The best of these, by either figure, go on to
the other folds. A setting that is left behind cannot be chosen any more. Beyond the edge of a grid only runs that the
present choices do not beat on the first fold go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.metrics.seen_unseen import Margins
from zskl.selection.constant import best_constant
from zskl.selection.grid import group
from zskl.selection.material import Material

KEPT = 4  # runs that go on to the other folds for each figure; a replay of whole searches is in docs/performance.md
TRAINED = 3  # one run of so many is trained for all its epochs, and at least LONG are
LONG = 12
LONGER = 3  # times as many epochs as the shortest: below, short runs would hardly be cheaper
CLASSES = 10  # held out by the first fold: fewer say little about other folds

Answer = Margins | int  # what came of a setting on a fold: its margins, or the step of divergence
Found = dict[tuple[int, int], Answer]  # by place and fold
Run = Callable[[Sequence[int], Sequence[int]], Found]  # tries places on folds


def sensible(shared: Material) -> bool:
    """Whether a search halves where nobody says: a kernel that trains, and a first fold that says something."""
    held = np.unique(shared.y[shared.folds[0].val_unseen])
    return isinstance(shared.estimator, ZeroShotKernelClassifier) and len(held) >= CLASSES


def halved(
    settings: Sequence[Mapping[str, Any]],
    free: Sequence[str],
    folds: int,
    run: Run,
    always: int | None = None,
    rivals: Sequence[Answer] | None = None,
) -> Found:
    """What came of the settings on the folds that they were tried on.

    Settings of one run differ in `free` names. Where numbers of epochs are free, runs are those of the CPU on every
    device, so that the same ones go on. The run of the place `always` does. With `rivals`, what came of the present
    choices on the first fold, every run that none of them beats there does.
    """
    runs = group(settings, ("epochs",) if "epochs" in free else free)
    found: Found = {}
    if rivals is None and (short := _shortest(settings, runs)):
        found |= run([0], short)
        for one in runs:  # what diverges early diverges in longer training too: a prefix of a run is a shorter run
            steps = [step for place in one if isinstance(step := found.get((place, 0)), int)]
            found |= {(place, 0): steps[0] for place in one if steps}
        kept = _best(runs, found, max(LONG, -(-len(runs) // TRAINED)))
    else:
        kept = runs
    left = sorted(place for one in runs if one in kept or always in one for place in one if (place, 0) not in found)
    if left:
        found |= run([0], left)
    kept = _best(kept, found, KEPT) if rivals is None else _unbeaten(runs, found, rivals)
    going = sorted(place for one in runs if one in kept or always in one for place in one)
    return found | run(range(1, folds), going) if going and folds > 1 else found


def _shortest(settings: Sequence[Mapping[str, Any]], runs: Sequence[Sequence[int]]) -> list[int]:
    """The place of each run with the fewest epochs, where there are many runs and these are much shorter."""
    shortest = [min(one, key=lambda place: settings[place].get("epochs", 0)) for one in runs]
    few, many = (
        sum(max(settings[place].get("epochs", 0) for place in one) for one in places)
        for places in ([[place] for place in shortest], runs)
    )
    return sorted(shortest) if len(runs) > LONG and many >= LONGER * few > 0 else []


def _best(runs: Iterable[list[int]], found: Mapping[tuple[int, int], Answer], count: int) -> list[list[int]]:
    """As many of the runs as `count`, by each figure on the first fold; none of those that diverged."""
    sound = [(one, figures) for one in runs if (figures := _figures(found.get((place, 0)) for place in one))]
    chosen = set()
    for k in range(2):
        order = sorted(range(len(sound)), key=lambda number: -sound[number][1][k])
        chosen |= set(order[:count])
    return [sound[number][0] for number in sorted(chosen)]


def _unbeaten(
    runs: Iterable[list[int]], found: Mapping[tuple[int, int], Answer], rivals: Sequence[Answer]
) -> list[list[int]]:
    """The runs with a setting that is better on the first fold than all rivals, by either figure."""
    theirs = _figures(rivals) or (-np.inf, -np.inf)
    mine = [(one, _figures(found.get((place, 0)) for place in one)) for one in runs]
    return [one for one, figures in mine if figures and any(a > b for a, b in zip(figures, theirs, strict=True))]


def _figures(answers: Iterable[Answer | None]) -> tuple[float, float] | None:
    """The highest zero-shot accuracy and the highest harmonic mean of some settings on a fold; None if all diverged."""
    parts = [part for part in answers if isinstance(part, Margins)]
    if not parts:
        return None
    return max(part.zsl for part in parts), max(float(best_constant([part])[1][0]) for part in parts)
