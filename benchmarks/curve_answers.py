"""Gives records of sensitivity curves the answers of rows that the claims about λ and σ need.

Run: python benchmarks/curve_answers.py --root DIR … [--records benchmarks/results/paper] [--limit 280]; needs the data.

A claim compares few points of a curve: the chosen λ and both ends, the best inner σ on validation and both ends.
Records of version 0.2 keep accuracies alone, so no interval can be made of them. This trains these points again, each
on all training rows with the settings and the seed of its record, and puts its accuracy and answers in place. The file
is written after each point: after any interruption, or when the limit has passed, the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from zskl import _files, datasets, methods
from zskl.datasets import Dataset
from zskl.experiments import run_folder, unit
from zskl.paper import results, tables
from zskl.paper.evaluation import _evaluate_one_setting
from zskl.paper.results import SensitivityRecord, SettingCurve

RECORDS = Path(__file__).parent / "results" / "paper"


def needed_points(record: SensitivityRecord) -> Iterator[tuple[str, float]]:
    """(setting, value) of each point that a claim is about and that has no answers yet."""
    for name in ("repulsion", "sigma"):
        if name not in record.curves:
            continue
        points = [one for one in tables.curve_points([record], name) if one.test is not None]
        inner = [one for one in points[1:-1] if one.validation is not None]
        middle = record.chosen(name)
        if name == "sigma" and inner:
            middle = max(inner, key=lambda one: one.validation.mean).value
        answers = record.curves[name].answers
        for value in dict.fromkeys((points[0].value, middle, points[-1].value)):
            if answers is None or answers[record.curves[name].values.index(value)] is None:
                yield name, value


def add_answers(record: SensitivityRecord, data: Dataset, name: str, value: float) -> SensitivityRecord:
    settings = {"random_state": unit.unit_seed(data.name, record.method, record.seed)}
    estimator = methods.build(record.method, settings)
    accuracy, answers = _evaluate_one_setting((estimator, data), {**record.setting, name: value})
    curve = record.curves[name]
    place = curve.values.index(value)
    tests, kept = list(curve.test), list(curve.answers or [None] * len(curve.values))
    tests[place], kept[place] = accuracy, answers
    made = SettingCurve(curve.values, curve.validation, tuple(tests), tuple(kept))
    return replace(record, curves={**record.curves, name: made}, class_rows=unit.pack_class_rows(data))


def open_data(record: SensitivityRecord, roots: list[Path]) -> Dataset | None:
    """The data that the record was measured on; None where no root has it."""
    for root in roots:
        try:
            data = datasets.load(record.dataset, root, record.features)
        except (OSError, ValueError):
            continue
        if data.fingerprint == record.fingerprint:
            return data
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, action="append", required=True)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--limit", type=float, default=1e9)
    chosen = parser.parse_args()
    file, stop = chosen.records / results.CURVES / run_folder.FILE, time.monotonic() + chosen.limit
    found: list[Any] = list(run_folder.read_records(file, results.curve_record_from_json))
    left = 0
    for place, record in enumerate(found):
        points = list(needed_points(record)) if isinstance(record, SensitivityRecord) else []
        data = open_data(record, chosen.root) if points and time.monotonic() < stop else None
        for name, value in points:
            if data is None or time.monotonic() > stop:
                left += 1
                continue
            began, before = time.monotonic(), found[place].curves[name]
            found[place] = add_answers(found[place], data, name, value)
            lines = "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in found)
            _files.write_atomically(file, lines.encode())
            at = before.values.index(value)
            pair = f"{before.test[at]:.4f} before, {found[place].curves[name].test[at]:.4f} now"
            where = f"{record.dataset} {record.features} {record.method} {name} {value:g}"
            print(f"{time.monotonic() - began:5.1f} s  {where}: {pair}", file=sys.stderr)
    print(f"{left} points are left", file=sys.stderr)


if __name__ == "__main__":
    main()
