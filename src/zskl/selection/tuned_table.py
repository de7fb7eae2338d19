"""The table that a `Tuned` shows: the best settings with their validation scores, the chosen and the default marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zskl.shown.table import Shown, percent

if TYPE_CHECKING:
    from zskl.selection.tuned_model import Tuned

BEST = 10  # settings that are shown
FIGURES = {"zsl": "zero-shot accuracy", "gzsl": "H at the best constant"}


def of_tuned(tuned: Tuned) -> Shown:
    """The ten best settings, and the default one if it is not among them."""
    default = tuned.search.default
    chosen = next((place for place, one in enumerate(tuned.settings) if one == tuned.best), None)
    order = tuned.search.ranking(tuned.scoring).tolist()
    order = [place for place in order if place not in tuned.diverged and place not in tuned.search.dropped]
    places = order[:BEST]
    places += [place for place in dict.fromkeys((chosen, default)) if place is not None and place not in places]
    names = list(dict.fromkeys(name for setting in tuned.settings for name in setting))
    rows = [
        (
            _rank(order, place),
            score(tuned, place),
            ", ".join(word for word, one in (("chosen", chosen), ("default", default)) if one == place),
            *(_value(tuned.settings[place].get(name)) for name in names),
        )
        for place in places
    ]
    folds = tuned.fold_scores.shape[1]
    title = (
        f"{len(tuned.settings)} setting{'s' if len(tuned.settings) > 1 else ''} on {folds} "
        f"fold{'s' if folds > 1 else ''} of held-out classes, best by {FIGURES[tuned.scoring]}"
    )
    strong = [row for row, place in enumerate(places) if place == chosen]
    return Shown(title, ("rank", "score", "", *names), rows, _notes(tuned, chosen), strong)


def score(tuned: Tuned, place: int) -> str:
    """Mean over folds ± standard deviation, in per cent."""
    folds = tuned.fold_scores[place]
    if not np.isfinite(folds).all():
        return "diverged"
    spread = f" ± {100 * np.std(folds, ddof=1):.1f}" if len(folds) > 1 else ""
    return f"{100 * folds.mean():.1f}{spread} %"


def _notes(tuned: Tuned, chosen: int | None) -> list[str]:
    default = tuned.search.default
    mine = percent(tuned.score) if chosen is None else score(tuned, chosen)
    theirs = "not tried" if default is None else score(tuned, default)
    same = default is not None and default == chosen
    notes = [f"chosen: {mine}, which is the default setting" if same else f"chosen: {mine}; default: {theirs}"]
    if tuned.against_default is not None:
        notes.append(str(tuned.against_default))
    if tuned.diverged:
        notes.append(f"{len(tuned.diverged)} of the settings diverged")
    if tuned.search.dropped:
        notes.append(f"{len(tuned.search.dropped)} of the settings were dropped after the first fold")
    return [*notes, *(str(edge) for edge in tuned.edges)]


def _rank(order: list[int], place: int) -> str:
    return str(1 + order.index(place)) if place in order else ""


def _value(value: Any) -> str:
    if value is None:
        return ""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return f"{value:g}" if number else str(value)
