"""What the records of one dataset mean: sentences on unseen classes, all classes and examples, and the table of a run.
Nothing is said to lead unless the paired interval of its lead excludes 0."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zskl._display import count_noun
from zskl.experiments import uncertainty
from zskl.experiments.compare import Comparison, Row, compare, default_notes, row_labels
from zskl.experiments.record import Generalised, Record, ZeroShot, describe_choice
from zskl.experiments.uncertainty import Figure
from zskl.protocols import single_class_note

Figures = Mapping[str, Mapping[str, Figure]]  # method → column → figure
Groups = Mapping[str, Sequence[Record]]  # the name of a method, with its settings where need be → all its seeds
ZERO_SHOT, PLAIN, CALIBRATED = "zero-shot", "H", "calibrated H"
FEW = 3  # rivals that a sentence names
HELPED = 5  # points that a class gains by examples, to be named
SHOWN = 0.05  # points: what shows in a figure with one digit
AREA = "area"  # of the seen–unseen curve: for `zskl compare` and the report


def summarise(records: Sequence[Record]) -> list[str]:
    """Sentences about records of the same data; the last where models were given examples or unlabelled rows."""
    groups = name_groups(records)
    figures = {name: uncertainty.figures(group) for name, group in groups.items()}
    parts = (_zero_shot_sentence, _generalised_sentence, _evidence_sentence)
    found = [sentence for part in parts if (sentence := part(groups, figures))]
    return found + [one for name, group in groups.items() for one in _decision_sentences(name, group)]


def name_groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each method; where a method was run in several ways, its name says which."""
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        found.setdefault(row_labels(record), []).append(record)
    methods = [group[0].method for group in found.values()]
    names: dict[str, list[Record]] = {}
    for group in found.values():
        method = group[0].method
        name = method if methods.count(method) == 1 else f"{method} ({describe_choice(group[0])})"
        names[name if name not in names else f"{name} ({len(names) + 1})"] = group
    return names


def _zero_shot_sentence(groups: Groups, figures: Figures) -> str:
    """Who is right most often among unseen classes alone, what guessing would give, and who is lowest."""
    leaders = uncertainty.leaders(groups, ZERO_SHOT)
    if leaders.first is None:
        names = [name for group in groups.values() if (name := group[0].zsl.alone) is not None]
        return f"There is {single_class_note(names[0])}; hold out two classes or more to get one." if names else ""
    who, number = leaders.first, count_classes(groups[leaders.first][0].zsl)
    among = f"the {number} unseen classes" if number > 1 else "unseen classes"
    guess = f", where guessing gives {100 / number:.1f} %" if number else ""
    start = f"Among {among} alone {who} is right on {_format_interval(figures[who][ZERO_SHOT])}{guess}"
    few = "; with so few classes intervals are too narrow, and a lead may be luck" if number < uncertainty.FEW else ""
    return f"{start}{_lead_clause(groups, figures, leaders)}{_lowest_clause(groups, figures)}{few if number else ''}."


def count_classes(result: ZeroShot | Generalised) -> int:
    return len(result.per_class) + len(result.left_out)


def _lead_clause(groups: Groups, figures: Figures, leaders: uncertainty.Leaders) -> str:
    who = leaders.first
    if who is None or leaders.rivals < 2:
        return ""
    if leaders.unknown:
        return "; that is the highest, but without answers of rows it cannot be said whether by chance"
    level = _level_with_first(groups, ZERO_SHOT, who)
    if level:
        return f"; it cannot be told apart from {_list_names(level)}"
    others = [name for name in groups if name != who and ZERO_SHOT in figures[name]]
    second = max(others, key=lambda name: figures[name][ZERO_SHOT].mean)
    lead = uncertainty.difference(groups[who], groups[second], ZERO_SHOT)
    assert lead is not None  # all of them have answers
    return f"; it leads {second} by {lead.mean:.1f} points [{lead.low:.1f}, {lead.high:.1f}]"


def _lowest_clause(groups: Groups, figures: Figures) -> str:
    """Who is right least often, where there are three or more, and whether anybody tuned it."""
    names = [name for name in groups if ZERO_SHOT in figures[name]]
    if len(names) < 3:
        return ""
    means = {name: figures[name][ZERO_SHOT].mean for name in names}
    who = min(names, key=lambda name: means[name])
    if means[who] >= max(means.values()) - SHOWN:
        return ""
    others = any(groups[name][0].tune.scoring for name in names)
    first = groups[who][0]
    how = "not tuned" if first.settings else "at its default settings"
    untuned = f", {how}," if others and not first.tune.scoring else ""
    return f"; lowest is {who}{untuned} with {means[who]:.1f} %"


def _generalised_sentence(groups: Groups, figures: Figures) -> str:
    """Who has the highest H among all classes, and what calibration did to it and to others."""
    column = CALIBRATED if any(CALIBRATED in mine for mine in figures.values()) else PLAIN
    leaders = uncertainty.leaders(groups, column)
    if leaders.first is None:
        return ""
    who = leaders.first
    level = [] if leaders.rivals < 2 or leaders.unknown else _level_with_first(groups, column, who)
    alike = f", though it cannot be told apart from {_list_names(level)}" if level else ""
    if leaders.unknown and leaders.rivals > 1:
        alike = ", but without answers of rows it cannot be said whether by chance"
    article = "the highest" if leaders.rivals > 1 else "an" if column == PLAIN else "a"
    number = count_classes(groups[who][0].gzsl)
    among = f"all {number} classes, seen and unseen," if number else "seen and unseen classes together"
    start = f"Among {among} {who} has {article} {column} of {_format_interval(figures[who][column])}"
    if column == PLAIN:
        return f"{start}{alike}; --calibrate may raise it."
    return f"{start}{_calibration_clause(figures[who])}{alike}{_lowered_by_calibration(figures, who)}."


def _calibration_clause(mine: Mapping[str, Figure]) -> str:
    """ ", up from 5.7 % without calibration"."""
    if PLAIN not in mine:
        return ""
    before, after = mine[PLAIN].mean, mine[CALIBRATED].mean
    way = f"{'up' if after > before else 'down'} from {before:.1f} %" if abs(after - before) >= SHOWN else "as"
    return f", {way} without calibration"


def _lowered_by_calibration(figures: Figures, but: str) -> str:
    both = {name: mine for name, mine in figures.items() if name != but and {PLAIN, CALIBRATED} <= set(mine)}
    found = [
        f"{name} ({mine[CALIBRATED].mean:.1f} against {mine[PLAIN].mean:.1f} %)"
        for name, mine in both.items()
        if mine[CALIBRATED].mean <= mine[PLAIN].mean - SHOWN
    ]
    return f"; calibrated H is below H for {_list_names(found)}" if found else ""


def _evidence_sentence(groups: Groups, figures: Figures) -> str:
    """What examples and unlabelled rows bring to the method with the highest zero-shot accuracy of those given any."""
    given = {name: list(filter(uncertainty.is_evidence_column, mine)) for name, mine in figures.items()}
    able = [name for name in given if given[name] and ZERO_SHOT in figures[name]]
    if not able:
        return ""
    who = max(able, key=lambda name: figures[name][ZERO_SHOT].mean)
    mine = figures[who]
    plain = _format_summary_pair(mine, ZERO_SHOT, CALIBRATED, "calibrated H ")
    clauses = [f"From descriptions alone {who} is right on {plain}"]
    columns = [column for column in given[who] if uncertainty.split_column(column)[0] == ZERO_SHOT]
    used = [column for column in columns if not mine[column].mark]
    for column in used:
        pair = _format_summary_pair(mine, column, column.replace(ZERO_SHOT, CALIBRATED, 1))
        clauses.append(f"with {uncertainty.split_column(column)[1]} on {pair}")
    low, high = mine[ZERO_SHOT].low, mine[ZERO_SHOT].high
    ends = (low, high) if used and low is not None and high is not None else None
    luck = ends is not None and all(ends[0] <= mine[column].mean <= ends[1] for column in used)
    declined = [uncertainty.split_column(column)[1] for column in columns if column not in used]
    refused = f"; it did not adapt to {_list_names(declined)} ({uncertainty.DECLINED})" if declined else ""
    small = "; differences so small may be luck" if luck else ""
    return f"{', '.join(clauses)}{small}{refused}.{_most_helped(groups[who])}"


def _decision_sentences(name: str, group: Sequence[Record]) -> list[str]:
    """What thresholds do on test rows, in the first record of a method that has them."""
    one = next((record.decided for record in group if record.decided is not None), None)
    # Without a tree, or rows of none, nobody asked: the record has them, and `zskl run` stays short.
    if one is None or not one.coverage or (one.auroc is None and one.levels is None):
        return []

    def sides(shares: Mapping[str, float]) -> str:
        return " and ".join(f"{100 * share:.1f} % of rows of {side} classes" for side, share in shares.items())

    size = " and ".join(f"{count:g}" for count in one.size.values())
    found = [f"{name}: sets of 90 % hold the class of {sides(one.coverage)}, with {size} classes in the median."]
    if one.auroc is not None and one.caught is not None:
        found.append(
            f"{name}: rows that are none of these are told from others with AUROC {100 * one.auroc:.1f} %; where "
            f"{sides(one.false_alarms)} are called unknown (asked: 5 %), {100 * one.caught:.1f} % of them are."
        )

    def percent(value: float | None) -> str:
        return f"{100 * (value or 0.0):.1f} %"

    if one.levels is not None:
        levels = {level: row for level, row in one.levels.items() if row["plain accuracy"] is not None}
        plain = ", ".join(f"{level} {percent(row['plain accuracy'])}" for level, row in levels.items())
        deep = ", ".join(
            f"{level} for {percent(row['answered'])} of rows, {percent(row['wrong'])} of these wrong"
            for level, row in levels.items()
        )
        gain = percent(one.levels["all"]["information"])
        found.append(f"{name}: right by level: {plain}. With risk 0.1: {deep}; {gain} of all information.")
    return found


def _most_helped(records: Sequence[Record]) -> str:
    """The classes to which the most examples bring most, for descriptions fail where these gain."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    most = max((one.shots for record in records for one in record.taught or ()), default=0)
    for record in records:
        before = record.zsl.per_class
        for after in (one.zsl.per_class for one in record.taught or () if one.shots == most):
            for name in before.keys() & after.keys():
                pairs.setdefault(name, []).append((before[name], after[name]))
    means = {name: [100 * sum(side) / len(found) for side in zip(*found, strict=True)] for name, found in pairs.items()}
    gains = {name: high - low for name, (low, high) in means.items()}
    helped = sorted((name for name in gains if gains[name] >= HELPED), key=lambda name: (-gains[name], name))
    said = [f"{name} ({means[name][0]:.0f} → {means[name][1]:.0f} %)" for name in helped[:3]]
    return f" {count_noun(most, 'example')} help most with {_list_names(said)}." if said else ""


def _format_summary_pair(mine: Mapping[str, Figure], zero_shot: str, calibrated: str, named: str = "") -> str:
    """ "94.5 % (calibrated H 89.0 %)", or without the name of the second figure."""
    more = f" ({named}{mine[calibrated].mean:.1f} %)" if calibrated in mine else ""
    return f"{mine[zero_shot].mean:.1f} %{more}"


def _level_with_first(groups: Groups, column: str, first: str) -> list[str]:
    """Those whose paired difference from the first has an interval with 0 in it."""
    found = {name: uncertainty.difference(groups[first], groups[name], column) for name in groups if name != first}
    return [name for name, one in found.items() if one is not None and not one.decided]


def _format_interval(figure: Figure) -> str:
    ends = f" [{figure.low:.1f}, {figure.high:.1f}]" if figure.low is not None and figure.high is not None else ""
    return f"{figure.mean:.1f} %{ends}"


def _list_names(names: Sequence[str]) -> str:
    if len(names) > FEW:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def run_table(records: Sequence[Record]) -> Comparison:
    """Records of one dataset. Every row says whether its settings are tuned or default."""
    table = compare(records)
    settings = {row_labels(record): describe_choice(record, counted=False) for record in records}
    rows = []
    for row in table.rows:
        said = {"method": row.labels["method"], "settings": settings[tuple(row.labels.values())]}
        plain = {name: figure for name, figure in row.figures.items() if name not in table.given}
        rows.append(Row(said, row.seeds, plain))
        for words, found in evidence_figures(row, table.given).items():
            # "5 examples" or "unlabelled all", to fit below the name of a method
            short = words.removesuffix(" of each class").replace(" rows of ", " ").removesuffix(" classes")
            rows.append(Row({"method": f"+ {short}", "settings": ""}, None, found))
    columns = tuple(name for name in table.figures if name not in (*table.given, AREA))
    notes = [*_note_summary_marks(table.rows, CALIBRATED in columns), *default_notes(records)]
    return Comparison(("method", "settings"), columns, tuple(rows), tuple(notes))


def evidence_figures(row: Row, columns: Sequence[str]) -> dict[str, dict[str, Figure]]:
    """What the model was given → the figures after it, under the names of plain ones."""
    found: dict[str, dict[str, Figure]] = {}
    for column in columns:
        if column in row.figures:
            name, words = uncertainty.split_column(column)
            figure = row.figures[column]
            # Those of a model that did not adapt are in the row above, so their intervals are not repeated.
            found.setdefault(words, {})[name] = replace(figure, low=None, high=None) if figure.mark else figure
    return found


def column_legend(records: Sequence[Record], columns: Sequence[str]) -> dict[str, str]:
    unseen, together = (count_classes(result) for result in (records[0].zsl, records[0].gzsl))
    meant = {
        "zero-shot": f"choosing among {unseen or 'all'} unseen classes, which have no training row",
        "unseen, seen": f"accuracy on unseen and on seen classes, choosing among all {together or ''}".rstrip(),
        "H": "the harmonic mean of unseen and seen",
        CALIBRATED: "H after lowering scores of seen classes as validation advises",
    }
    return {name: words for name, words in meant.items() if name.split(",")[0] in columns}


def _note_summary_marks(rows: Sequence[Row], calibrated: bool) -> list[str]:
    mark, advice = uncertainty.DECLINED, "" if calibrated else "; --calibrate tries that"
    marked = [row.labels["method"] for row in rows if any(figure.mark == mark for figure in row.figures.values())]
    reason = "did not adapt: validation classes promise no clear gain"
    return [f"{mark} {name} {reason}{advice}" for name in dict.fromkeys(marked)]
