"""Figures of seen and unseen classes together: the seen–unseen curve, and how far probabilities can be trusted."""

from __future__ import annotations

from functools import partial

from zskl.experiments.record import Record
from zskl.experiments.record_parts import Generalised
from zskl.report.commands import run_commands
from zskl.report.groups import LINES, Case, Problem
from zskl.report.lines import Axis, Point, Series, line_chart
from zskl.report.pieces import Cell, Figure, Table

PROTOCOLS = {"zsl": "zero-shot", "gzsl": "generalised"}


def curves(problem: Problem) -> list[Figure]:
    """Accuracy of seen against that of unseen classes as the constant subtracted from scores of seen ones grows."""
    cases = problem.with_field(lambda record: _curve(record.gzsl), "calibrated H", "H")
    if not cases:
        return []
    series = [
        Series(case.name, _curve(case.first.gzsl), case.rank, _marks(case.first), _other(case.first)) for case in cases
    ]
    calibrated = any(case.first.gzsl_calibrated is not None for case in cases)
    note = "Hollow: plain predictions." + (
        " Full: with the constant chosen on validation classes; where that choice took other settings, on the thin "
        "curve of these."
        if calibrated
        else ""
    )
    if len(problem.cases) > LINES:
        note += f" The {len(cases)} methods of highest H are drawn."
    rows = [[case.name, case.first.seed, *row] for case in cases for row in _numbers(case.first)]
    title = f"Seen–unseen curves on {problem.name}"
    svg = line_chart(
        title,
        _spoken(cases),
        series,
        Axis("accuracy of unseen classes (%)", 0),
        Axis("accuracy of seen classes (%)", 0),
    )
    columns = ["method", "seed", "what", "constant", "seen", "unseen"]
    command = "\n".join(run_commands([case.first for case in cases]))
    return [Figure(f"curves-{problem.address}", title, svg, note + _of_seed(cases), columns, rows, command)]


def confidence(problem: Problem) -> list[Figure]:
    """Accuracy of the rows answered when answers below a probability are withheld, one figure per protocol."""
    made = []
    for protocol, word in PROTOCOLS.items():
        cases = problem.with_field(partial(_coverage, protocol=protocol), "calibrated H", "H")
        if not any(len({point[0] for point in _coverage(case.first, protocol)}) > 1 for case in cases):
            continue  # all rows are answered at every threshold, or none
        series = []
        for case in cases:
            path = [point[:2] for point in _coverage(case.first, protocol)]
            series.append(Series(case.name, path, case.rank, [("dot", point) for point in path]))
        title = f"Confidence, {word} protocol on {problem.name}"
        note = (
            "The share of rows answered when answers below a probability are withheld, and how many of them are right."
        )
        ends = "; ".join(f"{one.name} from {one.points[0][1]:.1f} to {one.points[-1][1]:.1f} %" for one in series)
        svg = line_chart(
            title,
            f"Accuracy as fewer rows are answered: {ends}",
            series,
            Axis("rows answered (%)", 0, 100),
            Axis("accuracy of these (%)", None, 100),
        )
        rows = [
            [case.name, case.first.seed, threshold, share / 100, right / 100]
            for case in cases
            for share, right, threshold in _coverage(case.first, protocol)
        ]
        columns = ["method", "seed", "threshold", "answered", "accuracy"]
        command = "\n".join(run_commands([case.first for case in cases]))
        name = f"confidence-{protocol}-{problem.address}"
        made.append(Figure(name, title, svg, note + _of_seed(cases), columns, rows, command))
    return made


def errors(problem: Problem) -> list[Table]:
    """How far probabilities are from the share of right answers."""
    rows = []
    for case in problem.cases:
        for protocol, word in PROTOCOLS.items():
            found = [one for record in case.records if (one := getattr(record.probabilities, protocol)) is not None]
            if len(found) < len(case.records):
                continue
            means = [_mean([getattr(one, key) for one in found]) for key in ("ece", "mean_confidence", "accuracy")]
            rows.append([Cell(case.name), Cell(word), *map(_cell, means)])
    if not rows:
        return []
    columns = ["method", "protocol", "calibration error", "mean confidence", "accuracy over rows"]
    title = "Calibration of probabilities (%)"
    note = "Expected calibration error: the mean distance of confidence from accuracy over 15 bins; smaller is better."
    return [Table(f"ece-{problem.address}", title, columns, rows, note)]


def _curve(part: Generalised | None) -> list[Point]:
    curve = None if part is None else part.curve
    if curve is None:
        return []
    return [(100 * unseen, 100 * seen) for unseen, seen in zip(curve.unseen, curve.seen, strict=True)]


def _numbers(record: Record) -> list[list[object]]:
    """All that is drawn of a record: curve and point, plain and calibrated."""
    rows: list[list[object]] = []
    for word, part in (("plain", record.gzsl), ("calibrated", record.gzsl_calibrated)):
        if part is not None and part.curve is not None:
            points = zip(part.curve.calibration, part.curve.seen, part.curve.unseen, strict=True)
            rows += [[f"{word} curve", *values] for values in points]
        if part is not None and _place(part):
            rows.append([f"{word} point", part.calibration, part.seen, part.unseen])
    return rows


def _other(record: Record) -> list[Point]:
    """The curve of the calibrated model, where it is not the plain one."""
    curve = _curve(record.gzsl_calibrated)
    return [] if curve == _curve(record.gzsl) else curve


def _marks(record: Record) -> list[tuple[str, Point]]:
    pairs = (("hollow", _place(record.gzsl)), ("full", _place(record.gzsl_calibrated)))
    return [(kind, point) for kind, point in pairs if point is not None]


def _place(part: Generalised | None) -> Point | None:
    """(accuracy of unseen classes, accuracy of seen ones) in per cent."""
    if part is None or part.unseen is None or part.seen is None:
        return None
    return 100 * part.unseen, 100 * part.seen


def _coverage(record: Record, protocol: str) -> list[tuple[float, float, float]]:
    """(share answered, accuracy of these, threshold), the shares in per cent, all rows first."""
    found = record.probabilities.zsl if protocol == "zsl" else record.probabilities.gzsl
    points = () if found is None else found.coverage
    return [(100 * share, 100 * right, threshold) for threshold, share, right in points if right is not None]


def _spoken(cases: list[Case]) -> str:
    words = []
    for case in cases:
        points = {"hollow": "plain", "full": "calibrated"}
        places = [f"{points[kind]} {unseen:.1f} and {seen:.1f} %" for kind, (unseen, seen) in _marks(case.first)]
        words.append(f"{case.name}, unseen and seen accuracy: {', '.join(places)}")
    return ". ".join(words)


def _of_seed(cases: list[Case]) -> str:
    seeds = sorted({case.first.seed for case in cases})
    return f" Seed {', '.join(map(str, seeds))}." if any(len(case.records) > 1 for case in cases) else ""


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return 100 * sum(known) / len(known) if known else None


def _cell(value: float | None) -> Cell:
    return Cell("") if value is None else Cell(f"{value:.1f}", value)
