"""Texts as a sparse table: 20 000 × 50 000 TF-IDF, and what fit and prediction of three methods cost.

Words follow Zipf's law. Besides, there are themes with words of their own. A class mixes a few themes, and the text
that describes it is drawn as its rows are. So accuracies say that the methods use the words, and nothing of real texts.
Each method runs in a process of its own; memory is the largest resident set that the operating system saw, with Python,
its packages and the table. For comparison: the dense methods behind TruncatedSVD(300), the SVD included.

Run: python benchmarks/sparse_text.py [--rows 20000] [--words 50000] [--classes 60] [--dense]; it writes
benchmarks/results/sparse_text.json and, with --dense, the table of docs/sparse.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from machine import keep
from zskl import methods
from zskl._files import write_atomically

METHODS = ("cosine", "class-means", "eszsl")
UNSEEN = 0.25  # the share of classes
LENGTH, ABOUT = 80, 200  # words of a text, and of a description
OWN = 0.4  # the share of words that come from the themes of a class
THEMES, MIXED = 40, 4  # in all, and in a class
COMPONENTS = 300
PAGE = Path(__file__).parents[1] / "docs" / "sparse.md"


@dataclass(frozen=True)
class Texts:
    """TF-IDF of training and test rows, of descriptions, and which classes are unseen."""

    X: Any
    y: np.ndarray[Any, Any]
    X_new: Any
    y_new: np.ndarray[Any, Any]
    table: dict[str, Any]
    unseen: list[str]


def draw(rows: int, words: int, classes: int, seed: int = 0) -> Texts:
    """Texts of so many classes; training rows are of the seen ones, test rows of the unseen ones."""
    rng = np.random.default_rng(seed)
    names = np.array([f"class {k:03}" for k in range(classes)])
    common = 1 / np.arange(1, words + 1)
    common /= common.sum()
    themes = np.array([rng.choice(words, max(20, words // 100), replace=False) for _ in range(THEMES)])
    mixed = np.array([rng.choice(THEMES, MIXED, replace=False) for _ in range(classes)])
    unseen = rng.permutation(classes)[: int(UNSEEN * classes)]
    labels = rng.integers(0, classes, rows)

    def counted(codes: np.ndarray[Any, Any], length: int) -> Any:
        lengths = rng.poisson(length, len(codes)) + 5
        owners = np.repeat(np.arange(len(codes)), lengths)
        drawn = rng.choice(words, len(owners), p=common)
        own = rng.random(len(owners)) < OWN
        theme = mixed[codes[owners[own]], rng.integers(0, MIXED, own.sum())]
        drawn[own] = themes[theme, rng.integers(0, themes.shape[1], own.sum())]
        return sparse.csr_array((np.ones(len(owners)), (owners, drawn)), shape=(len(codes), words))

    X, about = counted(labels, LENGTH), counted(np.arange(classes), ABOUT)
    new = np.isin(labels, unseen)
    weights = TfidfTransformer(sublinear_tf=True).fit(X[~new])
    X, about = sparse.csr_array(weights.transform(X)), sparse.csr_array(weights.transform(about))
    table = {str(name): about[[row]] for row, name in enumerate(names)}
    return Texts(X[~new], names[labels[~new]], X[new], names[labels[new]], table, names[unseen].tolist())


def measure(name: str, texts: Texts, dense: bool) -> dict[str, Any]:
    """Seconds of fit and prediction, accuracy on unseen classes, and the largest memory of this process."""
    model = methods.build(name, {"prior": "identity"} if name == "class-means" else {})
    X, X_new, table = texts.X, texts.X_new, texts.table
    start, used = time.perf_counter(), time.process_time()
    if dense:
        reduced = TruncatedSVD(COMPONENTS, random_state=0).fit(X)
        X, table = reduced.transform(X), {label: reduced.transform(row)[0] for label, row in table.items()}
    model.fit(X, texts.y, table)
    middle = time.perf_counter()
    answers = model.predict(reduced.transform(X_new) if dense else X_new, candidates=texts.unseen)
    end = time.perf_counter()
    return {
        "words": texts.X.nnz / texts.X.shape[0],
        "method": f"TruncatedSVD({COMPONENTS}), {name}" if dense else name,
        "fit": middle - start,
        "predict": end - middle,
        "processor": time.process_time() - used,
        "accuracy": float(np.mean(answers == texts.y_new)),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,  # kB on Linux
    }


COLUMNS = ("method", "fit, s", "predict, s", "processor, s", "unseen right, %", "memory, MB")


def lines(measured: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A line of the table for each method."""
    return [
        (
            one["method"],
            f"{one['fit']:.1f}",
            f"{one['predict']:.1f}",
            f"{one['processor']:.1f}",
            f"{100 * one['accuracy']:.1f}",
            f"{one['megabytes']:.0f}",
        )
        for one in measured
    ]


def markdown(measured: list[dict[str, Any]]) -> str:
    """The table of docs/sparse.md."""
    rows = [COLUMNS, ("---", *("---:" for _ in COLUMNS[1:])), *lines(measured)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rows", 20_000), ("words", 50_000), ("classes", 60)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dense", action="store_true", help="compare with TruncatedSVD before the dense methods")
    parser.add_argument("--one", help="measure one method in this process, and print the figures as JSON")
    chosen = parser.parse_args()
    size = {name: getattr(chosen, name) for name in ("rows", "words", "classes")}
    if chosen.one:
        print(json.dumps(measure(chosen.one, draw(**size), chosen.dense)))
        return
    found = [alone(name, size, dense) for dense in ((False, True) if chosen.dense else (False,)) for name in METHODS]
    shape = f"{chosen.rows} × {chosen.words}"
    picture = Table(title=f"{shape}, {found[0]['words']:.0f} words a row, {chosen.classes} classes")
    for column in COLUMNS:
        picture.add_column(column, justify="left" if column == "method" else "right")
    for row in lines(found):
        picture.add_row(*row)
    Console(width=100).print(picture)
    keep("sparse_text", {"size": size, "methods": found})
    if chosen.dense:
        text = PAGE.read_text("utf-8")
        begin, end = text.index("| method |"), text.index("\n\n", text.index("| method |"))
        write_atomically(PAGE, (text[:begin] + markdown(found) + text[end:]).encode())


def alone(name: str, size: dict[str, int], dense: bool) -> dict[str, Any]:
    """`measure` in a fresh process. This one stays small: Linux counts its memory as that of the new one."""
    options = [f"--{key}={value}" for key, value in size.items()] + ["--dense"] * dense
    done = subprocess.run([sys.executable, __file__, "--one", name, *options], stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    main()
