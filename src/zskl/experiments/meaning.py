"""What the records of one dataset mean, in three sentences: who leads, what guessing would give, what calibration did.

Nothing is said to lead unless the paired interval of its lead excludes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zskl.experiments import compare, given_figures, record_table, uncertainty
from zskl.experiments.figure import Figure
from zskl.experiments.record import Record

Groups = Mapping[str, Sequence[Record]]  # the name of a method, with its settings where need be → all its seeds
ZERO_SHOT, PLAIN, CALIBRATED = "zero-shot", "H", "calibrated H"
FEW = 3  # rivals that a sentence names
SHOWN = 0.05  # points: what shows in a figure with one digit


def sentences(records: Sequence[Record]) -> list[str]:
    """Three sentences about records of the same data, and one more where models were given examples or rows."""
    groups = named(records)
    figures = {name: uncertainty.figures(group) for name, group in groups.items()}
    first = uncertainty.leaders(groups, ZERO_SHOT).first
    said = [_leader(groups, figures), _guessing(records, first, figures), _generalised(groups, figures)]
    return [sentence for sentence in (*said, _given(groups, figures)) if sentence]


def named(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each method; where a method was run in several ways, its name says which."""
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        found.setdefault(compare.labels(record), []).append(record)
    methods = [group[0].method for group in found.values()]
    names: dict[str, list[Record]] = {}
    for group in found.values():
        method = group[0].method
        name = method if methods.count(method) == 1 else f"{method} ({record_table.chosen(group[0])})"
        names[name if name not in names else f"{name} ({len(names) + 1})"] = group
    return names


def _leader(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """Who has the highest zero-shot accuracy, and by how much."""
    leaders = uncertainty.leaders(groups, ZERO_SHOT)
    if leaders.first is None:
        return ""
    who, mine = leaders.first, figures[leaders.first][ZERO_SHOT]
    start = f"Among unseen classes alone {who} is right on {_interval(mine)}"
    if leaders.rivals < 2:
        return f"{start}."
    if leaders.unknown:
        return f"{start}, the highest; without answers of rows it cannot be said whether that is chance."
    level = _level(groups, ZERO_SHOT, who)
    if level:
        return f"{start}, the highest, but cannot be told apart from {_listed(level)}."
    second = max((name for name in groups if name != who and ZERO_SHOT in figures[name]), key=_mean(figures, ZERO_SHOT))
    lead = uncertainty.difference(groups[who], groups[second], ZERO_SHOT)
    assert lead is not None  # all of them have answers
    return f"{start} and leads {second} by {lead.mean:.1f} points [{lead.low:.1f}, {lead.high:.1f}]."


def _guessing(records: Sequence[Record], first: str | None, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """What chance is, and what to mind with few classes."""
    result = records[0].zsl
    classes = len(result.per_class) + len(result.left_out)
    if not classes or first is None:
        return ""
    chance = 100 / classes
    times = figures[first][ZERO_SHOT].mean / chance
    often = f": {first} is right {times:.{0 if times >= 10 else 1}f} times as often" if classes > 1 else ""
    few = "; with so few classes intervals are too narrow, and a lead may be luck" if classes < uncertainty.FEW else ""
    plural = "" if classes == 1 else "es"
    return f"Guessing among {classes} unseen class{plural} is right on {chance:.1f} %{often}{few}."


def _generalised(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """Who has the highest H among all classes, and what calibration did to it and to others."""
    column = CALIBRATED if any(CALIBRATED in mine for mine in figures.values()) else PLAIN
    leaders = uncertainty.leaders(groups, column)
    if leaders.first is None:
        return ""
    who = leaders.first
    level = [] if leaders.rivals < 2 or leaders.unknown else _level(groups, column, who)
    alike = f", though it cannot be told apart from {_listed(level)}" if level else ""
    rank = "the highest" if leaders.rivals > 1 else "an" if column == PLAIN else "a"
    start = f"Among seen and unseen classes together {who} has {rank} {column} of {_interval(figures[who][column])}"
    if column == PLAIN:
        return f"{start}{alike}; --calibrate may raise it."
    return f"{start}, {_moved(figures[who])} without calibration{alike}{_lowered(figures, who)}."


def _moved(mine: Mapping[str, Figure]) -> str:
    """ "up from 5.7"."""
    before, after = mine[PLAIN].mean, mine[CALIBRATED].mean
    return f"{'up' if after > before else 'down'} from {before:.1f} %" if abs(after - before) >= SHOWN else "as"


def _lowered(figures: Mapping[str, Mapping[str, Figure]], but: str) -> str:
    """The other methods whose H is higher without calibration."""
    found = [
        f"{name} ({mine[CALIBRATED].mean:.1f} against {mine[PLAIN].mean:.1f} %)"
        for name, mine in figures.items()
        if name != but and CALIBRATED in mine and mine[CALIBRATED].mean <= mine[PLAIN].mean - SHOWN
    ]
    return f"; calibrated H is below H for {_listed(found)}" if found else ""


def _given(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """What examples and unlabelled rows bring to the method with the highest zero-shot accuracy of those given any."""
    given = {
        name: [
            column
            for column, figure in mine.items()
            if given_figures.is_given(column) and column.startswith(ZERO_SHOT) and not figure.mark  # it did not adapt
        ]
        for name, mine in figures.items()
    }
    who = max((name for name in given if given[name]), key=_mean(figures, ZERO_SHOT), default=None)
    if who is None:
        return ""
    parts = [f"{figures[who][column].mean:.1f} % with {given_figures.halves(column)[1]}" for column in given[who]]
    plain = figures[who][ZERO_SHOT].mean
    return f"From descriptions alone {who} gets {plain:.1f} % of unseen classes right, {_listed(parts, len(parts))}."


def _level(groups: Groups, column: str, first: str) -> list[str]:
    """Those whose paired difference from the first has an interval with 0 in it."""
    found = {name: uncertainty.difference(groups[first], groups[name], column) for name in groups if name != first}
    return [name for name, one in found.items() if one is not None and not one.decided]


def _mean(figures: Mapping[str, Mapping[str, Figure]], column: str) -> Callable[[str], float]:
    return lambda name: figures[name][column].mean


def _interval(figure: Figure) -> str:
    ends = f" [{figure.low:.1f}, {figure.high:.1f}]" if figure.low is not None and figure.high is not None else ""
    return f"{figure.mean:.1f} %{ends}"


def _listed(names: Sequence[str], most: int = FEW) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
