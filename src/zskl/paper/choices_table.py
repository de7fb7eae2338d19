"""What validation chose for each method, which of these numbers are at an edge, and how long that took on what."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.experiments import choice_notes
from zskl.experiments.compare import Comparison, Figure, Row
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Choice
from zskl.paper.results import Output, Problem, Results, over_seeds

SCORINGS = {"zsl": "zero-shot accuracy", "gzsl": "calibrated H"}
CHOSEN = (
    "Settings of the lowest seed. The scores are those of validation classes, in per cent, ± the standard deviation "
    "over folds; both are means over seeds."
)
EDGES = (
    "Numbers that are the lowest or highest of all that selection tried, although it goes on beyond its grid: it ends "
    "at a stated bound, or the number has none."
)
SECONDS = (
    "Search, fits and calibration of one seed, in seconds, mean over seeds; on whatever else the machine was doing."
)


def outputs(results: Results) -> list[Output]:
    """Choices of each problem, then all edges, then all times."""
    made = []
    for problem in results.measured:
        rows = [row for name in results.methods for row in _chosen(name, results.runs.get((problem, name), ()))]
        if rows:
            notes = (CHOSEN, *_doubts([results.runs.get((problem, name), ()) for name in results.methods]))
            table = Comparison(("method", "by", "setting"), ("validation score",), tuple(rows), notes)
            made.append(Output("choices", f"choices-{problem.stem}", problem.name, table))
    found = [row for (problem, method), mine in results.runs.items() for row in _edges(problem, method, mine)]
    if found:
        table = Comparison(tuple(found[0].labels), (), tuple(found), (EDGES,))
        made.append(Output("choices", "edges", "Chosen at an edge", table))
    return [*made, *_seconds(results)]


def _doubts(groups: Sequence[Sequence[Record]]) -> list[str]:
    """Sentences on what differs widely between folds, or between seeds with the same settings."""
    folds = choice_notes.over_folds(record for group in groups for record in group)
    seeds = choice_notes.over_seeds([group for group in groups if group])
    return [*([f"Figures that {folds}."] if folds else []), *(f"{note}." for note in seeds)]


def _chosen(method: str, found: Sequence[Record]) -> list[Row]:
    """A row for each scoring; the method is named in the first."""
    rows: list[Row] = []
    for scoring, name in SCORINGS.items():
        choices = [_choice(record, scoring) for record in found]
        score = over_seeds(100 * one.score for one in choices if one.score is not None)
        spread = over_seeds(100 * one.spread for one in choices if one.spread is not None)
        if score is not None:
            edges = {edge.name: f" ({edge.why})" for edge in choices[0].edges or ()}
            setting = ", ".join(f"{key} {value}{edges.get(key, '')}" for key, value in choices[0].setting.items())
            words = {"method": "" if rows else method, "by": name, "setting": setting}
            figure = Figure(score.mean, None if spread is None else spread.mean)
            rows.append(Row(words, None, {"validation score": figure}))
    return rows


def _choice(record: Record, scoring: str) -> Choice:
    return dict(record.tune.choices.items()).get(scoring, Choice())


def _edges(problem: Problem, method: str, found: Sequence[Record]) -> list[Row]:
    """A row for each scoring, name and value, with the seeds that chose it."""
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for record in found:
        for scoring, name in SCORINGS.items():
            for edge in _choice(record, scoring).edges or ():
                told = f"{edge.name} {edge.value:g}", f"{edge.side}, {edge.why}"
                seeds.setdefault((name, *told), []).append(record.seed)
    return [
        Row(
            {"data": problem.name, "method": method, "chosen by": name, "setting": setting, "edge": told}, len(mine), {}
        )
        for (name, setting, told), mine in seeds.items()
    ]


def _seconds(results: Results) -> list[Output]:
    columns = tuple(problem.name for problem in results.measured)
    rows = []
    for method in results.methods:
        figures: dict[str, Figure] = {}
        devices: set[str] = set()
        for problem in results.measured:
            found = results.runs.get((problem, method), ())
            spent = over_seeds(time for record in found if (time := record.seconds.training) is not None)
            devices |= {record.device for record in found}
            if spent is not None:
                figures[problem.name] = Figure(spent.mean, digits=0)
        if figures:
            rows.append(Row({"method": method, "device": ", ".join(sorted(devices))}, None, figures))
    table = Comparison(("method", "device"), columns, tuple(rows), (SECONDS,))
    return [Output("choices", "seconds", "Seconds of a unit", table)] if rows else []
