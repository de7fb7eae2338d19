"""What the records of one dataset mean, in three sentences: unseen classes alone, all classes, what examples bring.

Nothing is said to lead unless the paired interval of its lead excludes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zskl.experiments import compare, given_figures, record_table, uncertainty
from zskl.experiments.figure import Figure
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Generalised, ZeroShot
from zskl.metrics.results import no_choice

Groups = Mapping[str, Sequence[Record]]  # the name of a method, with its settings where need be → all its seeds
ZERO_SHOT, PLAIN, CALIBRATED = "zero-shot", "H", "calibrated H"
FEW = 3  # rivals that a sentence names
SHOWN = 0.05  # points: what shows in a figure with one digit


def sentences(records: Sequence[Record]) -> list[str]:
    """Sentences about records of the same data; the last where models were given examples or unlabelled rows."""
    groups = named(records)
    figures = {name: uncertainty.figures(group) for name, group in groups.items()}
    said = [_zero_shot(groups, figures), _generalised(groups, figures), _given(groups, figures)]
    return [sentence for sentence in said if sentence]


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


def _zero_shot(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """Who is right most often among unseen classes alone, what guessing would give, and who is lowest."""
    leaders = uncertainty.leaders(groups, ZERO_SHOT)
    if leaders.first is None:
        names = [name for group in groups.values() if (name := group[0].zsl.alone) is not None]
        return f"There is {no_choice(names[0])}; hold out two classes or more to get one." if names else ""
    who, number = leaders.first, classes(groups[leaders.first][0].zsl)
    among = f"the {number} unseen classes" if number > 1 else "unseen classes"
    guess = f", where guessing gives {100 / number:.1f} %" if number else ""
    start = f"Among {among} alone {who} is right on {_interval(figures[who][ZERO_SHOT])}{guess}"
    few = "; with so few classes intervals are too narrow, and a lead may be luck" if number < uncertainty.FEW else ""
    return f"{start}{_rank(groups, figures, leaders)}{_lowest(groups, figures)}{few if number else ''}."


def classes(result: ZeroShot | Generalised) -> int:
    """How many there are to choose from."""
    return len(result.per_class) + len(result.left_out)


def _rank(groups: Groups, figures: Mapping[str, Mapping[str, Figure]], leaders: uncertainty.Leaders) -> str:
    """Whether the first leads in zero-shot accuracy, and by how much."""
    who = leaders.first
    if who is None or leaders.rivals < 2:
        return ""
    if leaders.unknown:
        return "; that is the highest, but without answers of rows it cannot be said whether by chance"
    level = _level(groups, ZERO_SHOT, who)
    if level:
        return f"; it cannot be told apart from {_listed(level)}"
    second = max((name for name in groups if name != who and ZERO_SHOT in figures[name]), key=_mean(figures, ZERO_SHOT))
    lead = uncertainty.difference(groups[who], groups[second], ZERO_SHOT)
    assert lead is not None  # all of them have answers
    return f"; it leads {second} by {lead.mean:.1f} points [{lead.low:.1f}, {lead.high:.1f}]"


def _lowest(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """Who is right least often, where there are three or more, and whether anybody tuned it."""
    names = [name for name in groups if ZERO_SHOT in figures[name]]
    if len(names) < 3:
        return ""
    who = min(names, key=_mean(figures, ZERO_SHOT))
    if figures[who][ZERO_SHOT].mean >= max(figures[name][ZERO_SHOT].mean for name in names) - SHOWN:
        return ""
    others = any(groups[name][0].tune.scoring for name in names)
    first = groups[who][0]
    how = "not tuned" if first.settings else "at its default settings"
    untuned = f", {how}," if others and not first.tune.scoring else ""
    return f"; lowest is {who}{untuned} with {figures[who][ZERO_SHOT].mean:.1f} %"


def _generalised(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """Who has the highest H among all classes, and what calibration did to it and to others."""
    column = CALIBRATED if any(CALIBRATED in mine for mine in figures.values()) else PLAIN
    leaders = uncertainty.leaders(groups, column)
    if leaders.first is None:
        return ""
    who = leaders.first
    level = [] if leaders.rivals < 2 or leaders.unknown else _level(groups, column, who)
    alike = f", though it cannot be told apart from {_listed(level)}" if level else ""
    if leaders.unknown and leaders.rivals > 1:
        alike = ", but without answers of rows it cannot be said whether by chance"
    article = "the highest" if leaders.rivals > 1 else "an" if column == PLAIN else "a"
    number = classes(groups[who][0].gzsl)
    among = f"all {number} classes, seen and unseen," if number else "seen and unseen classes together"
    start = f"Among {among} {who} has {article} {column} of {_interval(figures[who][column])}"
    if column == PLAIN:
        return f"{start}{alike}; --calibrate may raise it."
    return f"{start}{_moved(figures[who])}{alike}{_lowered(figures, who)}."


def _moved(mine: Mapping[str, Figure]) -> str:
    """ ", up from 5.7 % without calibration"."""
    if PLAIN not in mine:
        return ""
    before, after = mine[PLAIN].mean, mine[CALIBRATED].mean
    way = f"{'up' if after > before else 'down'} from {before:.1f} %" if abs(after - before) >= SHOWN else "as"
    return f", {way} without calibration"


def _lowered(figures: Mapping[str, Mapping[str, Figure]], but: str) -> str:
    """The other methods whose H is higher without calibration."""
    found = [
        f"{name} ({mine[CALIBRATED].mean:.1f} against {mine[PLAIN].mean:.1f} %)"
        for name, mine in figures.items()
        if name != but and {PLAIN, CALIBRATED} <= set(mine) and mine[CALIBRATED].mean <= mine[PLAIN].mean - SHOWN
    ]
    return f"; calibrated H is below H for {_listed(found)}" if found else ""


def _given(groups: Groups, figures: Mapping[str, Mapping[str, Figure]]) -> str:
    """What examples and unlabelled rows bring to the method with the highest zero-shot accuracy of those given any."""
    given = {name: [column for column in mine if given_figures.is_given(column)] for name, mine in figures.items()}
    who = max(
        (name for name in given if given[name] and ZERO_SHOT in figures[name]),
        key=_mean(figures, ZERO_SHOT),
        default=None,
    )
    if who is None:
        return ""
    mine = figures[who]
    told = [f"From descriptions alone {who} is right on {_pair(mine, ZERO_SHOT, CALIBRATED, 'calibrated H ')}"]
    columns = [column for column in given[who] if given_figures.halves(column)[0] == ZERO_SHOT]
    used = [column for column in columns if not mine[column].mark]
    for column in used:
        pair = _pair(mine, column, column.replace(ZERO_SHOT, CALIBRATED, 1))
        told.append(f"with {given_figures.halves(column)[1]} on {pair}")
    luck = bool(used) and all(_within(mine[column].mean, mine[ZERO_SHOT]) for column in used)
    declined = [given_figures.halves(column)[1] for column in columns if column not in used]
    refused = f"; it did not adapt to {_listed(declined)} ({given_figures.DECLINED})" if declined else ""
    return f"{', '.join(told)}{'; differences so small may be luck' if luck else ''}{refused}."


def _pair(mine: Mapping[str, Figure], zero_shot: str, calibrated: str, named: str = "") -> str:
    """ "94.5 % (calibrated H 89.0 %)", or without the name of the second figure."""
    more = f" ({named}{mine[calibrated].mean:.1f} %)" if calibrated in mine else ""
    return f"{mine[zero_shot].mean:.1f} %{more}"


def _level(groups: Groups, column: str, first: str) -> list[str]:
    """Those whose paired difference from the first has an interval with 0 in it."""
    found = {name: uncertainty.difference(groups[first], groups[name], column) for name in groups if name != first}
    return [name for name, one in found.items() if one is not None and not one.decided]


def _mean(figures: Mapping[str, Mapping[str, Figure]], column: str) -> Callable[[str], float]:
    return lambda name: figures[name][column].mean


def _within(value: float, figure: Figure) -> bool:
    return figure.low is not None and figure.high is not None and figure.low <= value <= figure.high


def _interval(figure: Figure) -> str:
    ends = f" [{figure.low:.1f}, {figure.high:.1f}]" if figure.low is not None and figure.high is not None else ""
    return f"{figure.mean:.1f} %{ends}"


def _listed(names: Sequence[str], most: int = FEW) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
