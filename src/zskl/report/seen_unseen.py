"""Figures of seen and unseen classes together: the seen–unseen curve, and how far probabilities can be trusted."""

from __future__ import annotations

from functools import partial

import numpy as np

from zskl.experiments.record import Record
from zskl.plots import ReliabilityDisplay, SeenUnseenCurveDisplay, reliability, seen_unseen_curve
from zskl.report.contents import Cell, Figure, Table, figure
from zskl.report.groups import LINES, Case, Problem

PROTOCOLS = {"zsl": "zero-shot", "gzsl": "generalised"}


def curves(problem: Problem) -> list[Figure]:
    """Accuracy of seen against that of unseen classes as the constant subtracted from scores of seen ones grows."""
    cases = problem.with_field(seen_unseen_curve.read, "calibrated H", "H")
    if not cases:
        return []
    first = [case.first for case in cases]
    names, ranks = [case.name for case in cases], [case.rank for case in cases]
    display = SeenUnseenCurveDisplay.from_records(first, names=names, ranks=ranks)
    calibrated = any(record.gzsl_calibrated is not None for record in first)
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
    columns = ["method", "seed", "what", "constant", "seen", "unseen"]
    return [figure(f"curves-{problem.address}", title, display, note + _of_seed(cases), columns, rows, first)]


def confidence(problem: Problem) -> list[Figure]:
    """Accuracy of the rows answered when answers below a probability are withheld, one figure per protocol."""
    made = []
    for protocol, word in PROTOCOLS.items():
        cases = problem.with_field(partial(reliability.read, protocol=protocol), "calibrated H", "H")
        if not cases:
            continue
        first = [case.first for case in cases]
        names, ranks = [case.name for case in cases], [case.rank for case in cases]
        display = ReliabilityDisplay.from_records(first, protocol=protocol, names=names, ranks=ranks)
        if not any(len(np.unique(share)) > 1 for share in display.answered):
            continue  # all rows are answered at every threshold, or none
        title = f"Confidence, {word} protocol on {problem.name}"
        note = (
            "The share of rows answered when answers below a probability are withheld, and how many of them are right."
        )
        rows = [
            [case.name, case.first.seed, *point]
            for case, points in zip(cases, display.points, strict=True)
            for point in points.tolist()
        ]
        columns = ["method", "seed", "threshold", "answered", "accuracy"]
        name = f"confidence-{protocol}-{problem.address}"
        made.append(figure(name, title, display, note + _of_seed(cases), columns, rows, first))
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


def _numbers(record: Record) -> list[list[object]]:
    """All that is drawn of a record: curve and point, plain and calibrated."""
    rows: list[list[object]] = []
    for word, part in (("plain", record.gzsl), ("calibrated", record.gzsl_calibrated)):
        if part is None:
            continue
        if (curve := part.curve) is not None:
            columns = (curve.calibration, curve.seen, curve.unseen)
            rows += [[f"{word} curve", *values] for values in zip(*columns, strict=True)]
        if part.seen is not None and part.unseen is not None:
            rows.append([f"{word} point", part.calibration, part.seen, part.unseen])
    return rows


def _of_seed(cases: list[Case]) -> str:
    seeds = sorted({case.first.seed for case in cases})
    return f" Seed {', '.join(map(str, seeds))}." if any(len(case.records) > 1 for case in cases) else ""


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return 100 * sum(known) / len(known) if known else None


def _cell(value: float | None) -> Cell:
    return Cell("") if value is None else Cell(f"{value:.1f}", value)
