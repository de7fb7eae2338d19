"""A blind column: the leading methods on a file that nobody looked at while code and grids were made.

Run: python benchmarks/blind_column.py FILE.npz [--out DIR] [--splits 3] [--only METHOD …] [--workers 2]

FILE holds X (n, d), y (n,) 0-based, names (C,), S (C, p) the class table, and what, a sentence about the rows. With row
numbers trainval, test_seen and test_unseen that split is taken. Without them a split is drawn from its number: a
quarter of the classes is unseen, and a fifth of the rows of the others is kept back. Every choice is made on folds of
training classes; METHODS says what is tried, and stays as it was when the file was opened.

Figures are means over the splits, with 95 % intervals by bootstrap: a draw takes classes and rows of them, the same for
all methods and splits, so that differences are paired. OUT/records.jsonl has a record of each unit, OUT/column.json the
table; after an interruption the same command goes on. `zskl paper` shows the table that lies in its folder blind/.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402 (after the threads are set)
import pandas as pd  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402

from zskl import _files, methods  # noqa: E402
from zskl.datasets import Dataset  # noqa: E402
from zskl.experiments import uncertainty  # noqa: E402
from zskl.experiments.record import Record, unpack_answers  # noqa: E402
from zskl.experiments.run_folder import FILE, package_versions, read_records  # noqa: E402
from zskl.experiments.unit import Unit, rows_by_class  # noqa: E402
from zskl.paper import results  # noqa: E402

OUT = Path(__file__).parent / "results" / "paper" / "blind"
COLUMN = "column.json"
FIGURES = ("zero-shot", "H", "calibrated H")
DRAWS = 2000
LEVEL = 0.95
PARTS = ("trainval", "test_seen", "test_unseen")


@dataclass(frozen=True)
class Entry:
    """A line of the table: a method, and what is tried for it. None stands for its default grid."""

    method: str
    grid: Mapping[str, Sequence[Any]] | None = None
    tune: bool = True

    @property
    def unit(self) -> Unit:
        if not self.tune:
            return Unit(self.method, 0, {}, calibrate=True)
        return Unit(self.method, 0, {}, tune=True, calibrate=True, scoring="each", fixed_grid=self.grid)


# As printed the rows are seen in batches of 10, with a squared gradient of each row. With more classes than attributes
# that takes ten times as long as the improved ones, so λ, rate and epochs stay where folds of other data put them.
PRINTED = {"sigma": (0.57, 0.8, 1.13), "repulsion": (1.0,), "learning_rate": (2e-3,), "epochs": (5,)}
SYNC = {"lam": (1e-5, 1e-4, 1e-3), "sigma": (0.5, 1.0, 2.0), "loss": ("one-vs-other",)}
SCALED = {"feature_scaling": ("l2-center-l2",), "signature_scaling": ("center-l2",)}
METHODS: Mapping[str, Entry] = {
    "eszsl": Entry("eszsl"),
    "ale": Entry("ale"),
    "sync": Entry("sync", {**SYNC, **SCALED}),
    "exem": Entry("exem"),
    "gfzsl": Entry("gfzsl"),
    "gaussian-ort-printed": Entry("gaussian-ort-printed", PRINTED),
    "gaussian-ort": Entry("gaussian-ort"),
    "gaussian-softmax": Entry("gaussian-softmax"),
    "class-means, default": Entry("class-means", tune=False),
    "class-means": Entry("class-means"),
    "means-softmax": Entry("means-softmax"),
}


def read_problem(path: Path) -> tuple[Any, Any, pd.DataFrame, dict[str, Any]]:
    """Rows, their classes, the class table, and what the file says of itself."""
    with np.load(path, allow_pickle=False) as file:
        missing = [name for name in ("X", "y", "names", "S") if name not in file]
        if missing:
            raise ValueError(f"{path.name} has no {', '.join(missing)}: expected an .npz file with X, y, names and S")
        X, codes, names = file["X"].astype(np.float32), file["y"].astype(np.int64), file["names"].astype(str)
        table = pd.DataFrame(file["S"].astype(np.float32), columns=[f"a{k}" for k in range(file["S"].shape[1])])
        parts = {name: file[name].astype(np.int64) for name in PARTS if name in file}
        about = {"what": str(file["what"]) if "what" in file else "", "parts": parts}
    if len(set(names)) < len(names):  # two classes of one name stay two
        names = np.array([f"{name} {code}" for code, name in enumerate(names)])
    table.index = pd.Index(names)
    return X, names[codes], table, about


def make_dataset(path: Path, split: int) -> Dataset:
    X, labels, table, about = read_problem(path)
    if len(about["parts"]) == len(PARTS):
        return Dataset(name=path.stem, X=X, y=labels, signatures=table, parts=about["parts"])
    return Dataset.from_frames(X, labels, table, unseen=0.25, seed=split, name=path.stem)


def measure(path: Path, split: int, label: str) -> Record | str:
    """The record of a unit, or what went wrong: one method that fails must not end the others."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return METHODS[label].unit.run(make_dataset(path, split))
    except Exception:
        return traceback.format_exc()
    finally:
        logging.disable(before)


def unit_keys(path: Path, splits: Iterable[int], labels: Iterable[str]) -> dict[tuple[int, str], str]:
    """(split, label) → the key of its record."""
    found = {}
    for split in splits:
        data = make_dataset(path, split)
        found |= {(split, label): METHODS[label].unit.key(data) for label in labels}
    return found


def run_units(path: Path, splits: Sequence[int], labels: Sequence[str], out: Path, workers: int) -> float:
    """Measure what OUT lacks, the slowest first, and return the seconds of it."""
    out.mkdir(parents=True, exist_ok=True)
    file, began = out / FILE, time.perf_counter()
    done = {record.key for record in read_records(file, Record.from_json)} if file.is_file() else set()
    places = [place for place, key in unit_keys(path, splits, labels).items() if key not in done]
    slow = ("gaussian-ort-printed", "means-softmax", "ale", "sync", "exem", "gaussian-ort", "gaussian-softmax", "gfzsl")
    places.sort(key=lambda place: slow.index(place[1]) if place[1] in slow else len(slow))
    jobs = (delayed(_measure_place)(path, *place) for place in places)
    for split, label, found in Parallel(n_jobs=workers, return_as="generator_unordered")(jobs):
        took = time.perf_counter() - began
        if isinstance(found, str):
            print(f"{took:6.0f} s  {label}, split {split} failed:\n{found}", file=sys.stderr)
            continue
        print(f"{took:6.0f} s  {label}, split {split}", file=sys.stderr)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(results.slim_record(found).to_json(), ensure_ascii=False) + "\n")
    return time.perf_counter() - began


def _measure_place(path: Path, split: int, label: str) -> tuple[int, str, Record | str]:
    return split, label, measure(path, split, label)


def right_rows(record: Record) -> dict[str, tuple[Any, Any]]:
    """Figure → which rows of test_unseen and of test_seen are right; of zero-shot accuracy the second is None."""
    shown = {"zero-shot": record.zsl, "H": record.plain_gzsl, "calibrated H": record.gzsl_calibrated}
    found = {}
    for name, part in shown.items():
        assert part is not None
        assert part.answers is not None
        texts = (part.answers.unseen, getattr(part.answers, "seen", None))
        sides = (None if text is None else (unpack_answers(text) == 0).astype(np.float32) for text in texts)
        found[name] = (next(sides), next(sides))
    return found


def class_weights(data: Dataset, rows: Any) -> Any:
    """(m,) what each row counts in the mean over classes: one over the rows of its class."""
    _, places, sizes = np.unique(data.codes[rows], return_inverse=True, return_counts=True)
    return (1 / sizes[places]).astype(np.float32)


def draw_figures(found: Mapping[int, tuple[Dataset, Mapping[str, Record]]]) -> dict[tuple[str, str], Any]:
    """(label, figure) → (1 + DRAWS,) the mean over splits in per cent: first of the rows as they are, then of draws."""
    data = next(iter(found.values()))[0]
    order = np.argsort(data.codes, kind="stable")
    drawn = np.concatenate(list(uncertainty.draw_counts(np.bincount(data.codes[order]), 0, DRAWS)))
    counts = np.ones((1 + DRAWS, len(order)), np.float32)
    counts[1:, order] = drawn  # the same draws for every split: a class is drawn, whether it is seen or unseen in it
    labels = [label for label in METHODS if all(label in mine for _, mine in found.values())]
    sums: dict[tuple[str, str], Any] = {}
    for data, mine in found.values():
        sides = [rows_by_class(data, part) for part in ("test_unseen", "test_seen")]
        taken = [counts[:, rows] * class_weights(data, rows) for rows in sides]
        totals = [one.sum(axis=1) for one in taken]
        for label in labels:
            for figure, rights in right_rows(mine[label]).items():
                means = [
                    one @ right / np.maximum(total, 1e-9)
                    for one, right, total in zip(taken, rights, totals, strict=True)
                    if right is not None
                ]
                value = means[0] if len(means) == 1 else 2 * means[0] * means[1] / np.maximum(sum(means), 1e-9)
                sums[label, figure] = sums.get((label, figure), 0) + 100 * value.astype(np.float64) / len(found)
    return sums


def summarise(draws: Mapping[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """A line for each method: mean, interval, and whether it is the best or cannot be told from it."""
    tail = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    lines = []
    for label in dict.fromkeys(label for label, _ in draws):
        line: dict[str, Any] = {"method": label}
        for figure in FIGURES:
            mine = draws[label, figure]
            first = max((one for (_, name), one in draws.items() if name == figure), key=lambda one: one[0])
            low, high = np.percentile(mine[1:], tail)
            best = bool(np.percentile((first - mine)[1:], tail[0]) <= 0)
            line[figure] = {
                "mean": round(mine[0], 2),
                "low": round(low, 2),
                "high": round(high, 2),
                "best": best,
                "below the best": round(first[0] - mine[0], 2),
            }
        lines.append(line)
    return lines


def to_markdown(column: Mapping[str, Any]) -> str:
    lines = [f"| method | {' | '.join(FIGURES)} |", "|---|" + "---:|" * len(FIGURES)]
    for row in column["rows"]:
        cells = []
        for figure in FIGURES:
            one = row[figure]
            cell = f"{one['mean']:.1f} [{one['low']:.1f}, {one['high']:.1f}]"
            cells.append(f"**{cell}**" if one["best"] else cell)
        lines.append(f"| {row['method']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def make_column(path: Path, splits: Sequence[int], labels: Sequence[str], out: Path, seconds: float) -> dict[str, Any]:
    """The table as it is written: from the records in OUT, of the methods that have one for every split."""
    keys = {key: place for place, key in unit_keys(path, splits, labels).items()}
    records = {keys[one.key]: one for one in read_records(out / FILE, Record.from_json) if one.key in keys}
    found = {
        split: (make_dataset(path, split), {label: one for (at, label), one in records.items() if at == split})
        for split in splits
    }
    data = found[splits[0]][0]
    settings = {
        label: [
            {name: dict(one.setting) for name, one in mine[label].tune.choices.items()}
            for _, mine in found.values()
            if label in mine
        ]
        for label in labels
    }
    return {
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "what": read_problem(path)[3]["what"],
        "samples": len(data.y),
        "features": data.X.shape[1],
        "attributes": len(data.attribute_names),
        "classes": len(data.class_names),
        "unseen": len(data.unseen_classes),
        "splits": list(splits),
        "rows": summarise(draw_figures(found)),
        "left out": [label for label in labels if not all(label in mine for _, mine in found.values())],
        "chosen": settings,
        "seconds": round(seconds),
        "versions": package_versions(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(METHODS), choices=list(METHODS), metavar="METHOD")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(arguments)
    about = read_problem(chosen.file)[3]
    splits = [0] if len(about["parts"]) == len(PARTS) else list(range(chosen.splits))
    for label in chosen.only:
        methods.find(METHODS[label].method)
    seconds = run_units(chosen.file, splits, chosen.only, chosen.out, chosen.workers)
    column = make_column(chosen.file, splits, chosen.only, chosen.out, seconds)
    text = json.dumps(column, indent=1, ensure_ascii=False, default=str) + "\n"
    _files.write_atomically(chosen.out / COLUMN, text.encode())
    print(to_markdown(column))
    if column["left out"]:
        print(f"Without a record for every split, and so left out: {', '.join(column['left out'])}.")
    print(f"{column['unseen']} of {column['classes']} classes unseen, {len(splits)} split(s), {seconds:.0f} s.")


if __name__ == "__main__":
    main()
