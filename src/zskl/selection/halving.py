"""Which runs of a search go on from its first fold to the others, when not all do.

A run is a fit with all settings that it serves, such as the numbers of epochs. On the first fold every run is made. The
few that are best there, by either figure, go on. A setting that is not among them cannot be chosen any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zskl.metrics.seen_unseen import Margins
from zskl.selection.constant import best_constant
from zskl.selection.grid import group

KEPT = 6  # runs that go on for each figure; a replay of recorded searches is in docs/selection.md


def promising(
    settings: Sequence[Mapping[str, Any]],
    free: Sequence[str],
    found: Mapping[tuple[int, int], Margins | int],
    always: int | None = None,
) -> list[int]:
    """Places of the settings whose run goes on, after `found` on fold 0; the run of the place `always` does.

    Settings of one run differ in `free` names. Where numbers of epochs are free, runs are those of the CPU on every
    device, so that the same ones go on.
    """
    runs = group(settings, ("epochs",) if "epochs" in free else free)
    figures = np.array([_best(run, found) for run in runs])  # (runs, 2)
    chosen = {number for column in figures.T for number in np.argsort(-column, kind="stable")[:KEPT].tolist()}
    return sorted(place for number, run in enumerate(runs) if number in chosen or always in run for place in run)


def _best(run: Sequence[int], found: Mapping[tuple[int, int], Margins | int]) -> tuple[float, float]:
    """The highest zero-shot accuracy and the highest harmonic mean on fold 0 of the settings of a run."""
    parts = [part for part in (found[place, 0] for place in run) if isinstance(part, Margins)]
    if not parts:
        return -np.inf, -np.inf
    return max(part.zsl for part in parts), max(float(best_constant([part])[1][0]) for part in parts)
