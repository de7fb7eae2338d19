"""Figures of an earlier version beside those of now, and why they differ."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zskl.paper.results import Results

BEFORE, WHY = "before.csv", "why.csv"  # in the folder of the records; the second is written by hand
COLUMNS = ("zero-shot", "H", "calibrated H")


@dataclass(frozen=True)
class Changed:
    """A method on a problem: its figures as "59.4 → 63.2", and the reason."""

    problem: str
    method: str
    figures: Mapping[str, str]
    why: str


def compared(results: Results, folder: Path) -> list[Changed]:
    """Every method on every problem that `before.csv` in the folder speaks of; nothing without that file."""
    before = {(line["dataset"], line["features"], line["method"]): line for line in _lines(folder / BEFORE)}
    reasons = {line["method"]: line["why"] for line in _lines(folder / WHY)}
    known = {place[:2] for place in before}
    made = []
    for problem in results.measured:
        if (problem.dataset, problem.features) not in known:
            continue
        for method in results.methods:
            old = before.get((problem.dataset, problem.features, method), {})
            figures = {}
            for column in COLUMNS:
                new = results.figure(problem, method, column)
                pair = (old.get(column) or "", "" if new is None else f"{new.mean:.1f}")
                if any(pair):
                    figures[column] = " → ".join(one or "–" for one in pair)
            if figures:
                why = reasons.get(method, "" if old else "new")
                made.append(Changed(problem.name, method, figures, why))
    return made


def _lines(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
