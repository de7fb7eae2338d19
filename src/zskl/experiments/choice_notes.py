"""Sentences about what validation chose: numbers at an edge, and figures that folds or seeds do not agree on."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from zskl.experiments.record import Record
from zskl.experiments.record_parts import Choice, Edge
from zskl.selection.against_default import AgainstDefault
from zskl.selection.steadiness import wide

SPOKEN = {"zsl": "zero-shot", "seen": "seen", "unseen": "unseen", "harmonic": "H", "gzsl": "calibrated H"}
WATCHED: Mapping[str, tuple[str, Callable[[Record], float | None]]] = {  # figure → the choice behind it, and its value
    "zero-shot": ("zsl", lambda record: record.zsl.accuracy),
    "seen": ("zsl", lambda record: record.gzsl.seen),
    "calibrated H": ("gzsl", lambda record: record.gzsl_calibrated.harmonic if record.gzsl_calibrated else None),
}


def edges(choice: Choice) -> str:
    """The numbers of a choice that are at an edge, each with the reason."""
    return ", ".join(map(edge, choice.edges or ()))


def edge(one: Edge) -> str:
    """Such as "lam 100 at its bound"."""
    return f"{one.name} {one.value:g} {one.why}"


def spreads(choice: Choice) -> str:
    """The standard deviation over folds of each figure, in points."""
    found = {name: values for name, values in (choice.figures or {}).items() if len(values) > 1}
    return ", ".join(f"{SPOKEN.get(name, name)} {100 * statistics.stdev(one):.1f}" for name, one in found.items())


def unsteady(choice: Choice) -> list[str]:
    """The figures that differ widely between folds, such as "seen 8.0 to 43.4 %"."""
    figures = {name: (choice.figures or {}).get(name, ()) for name in ("seen", "gzsl")}
    return [_range(SPOKEN[name], values) for name, values in figures.items() if wide(values)]


def at_edges(records: Iterable[Record]) -> str | None:
    """One sentence on all choices of these records at an edge."""
    found = dict.fromkeys(
        f"{record.method} {edges(choice)}"
        for record in records
        for _, choice in record.tune.choices.items()
        if choice.edges
    )
    return f"chosen at the edge of what was tried: {'; '.join(found)}" if found else None


def against_default(records: Sequence[Record]) -> list[str]:
    """A sentence for each method on whether the default setting was kept, by each scoring that chose."""
    found: dict[str, dict[str, list[AgainstDefault]]] = {}
    for record in records:
        for scoring, choice in record.tune.choices.items():
            if choice.against_default is not None:
                found.setdefault(record.method, {}).setdefault(scoring, []).append(choice.against_default)
    return [
        f"{method}: {'; '.join(f'by {SPOKEN[scoring]} {_kept(seeds)}' for scoring, seeds in mine.items())}"
        for method, mine in found.items()
    ]


def _kept(seeds: Sequence[AgainstDefault]) -> str:
    """The sentence on one seed, or on how many of several kept the default."""
    if len(seeds) == 1:
        return str(seeds[0])
    return f"the default setting is kept for {sum(one.kept for one in seeds)} of {len(seeds)} seeds"


def over_folds(records: Iterable[Record]) -> str | None:
    """One sentence on all choices of these records whose figures differ widely between folds."""
    found = dict.fromkeys(
        f"{record.method} {', '.join(unsteady(choice))}"
        for record in records
        for _, choice in record.tune.choices.items()
        if unsteady(choice)
    )
    return f"differ widely between validation folds, so expect luck: {'; '.join(found)}" if found else None


def over_seeds(groups: Iterable[Sequence[Record]]) -> list[str]:
    """A note for each group of records whose seeds chose the same setting and yet differ widely."""
    notes = []
    for group in groups:
        for figure, (scoring, read) in WATCHED.items():
            by_setting: dict[str, dict[int, float]] = {}
            for record in group:
                choice, value = dict(record.tune.choices.items()).get(scoring), read(record)
                if value is not None and (choice is not None or record.tune.scoring is None):
                    setting = "" if choice is None else json.dumps(choice.setting, sort_keys=True, default=str)
                    by_setting.setdefault(setting, {})[record.seed] = value
            for values in by_setting.values():
                if wide(list(values.values())):
                    first = group[0]
                    notes.append(
                        f"{first.dataset} {first.method}: {len(values)} seeds with the same settings differ widely, "
                        f"{_range(figure, values.values())}; their mean says little"
                    )
    return notes


def _range(name: str, values: Iterable[float]) -> str:
    found = [100 * value for value in values]
    return f"{name} {min(found):.1f} to {max(found):.1f} %"
