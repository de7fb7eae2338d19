"""The sections of docs/performance.md on default searches and on halving, from records; see performance.py."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from page_tables import measured_on, table

FIGURES = {"zsl": "zero-shot", "gzsl": "calibrated H"}
ACCURACIES: dict[str, Callable[[dict[str, Any]], float]] = {
    "zero-shot, validation": lambda f: f["validation"]["zsl"],
    "calibrated H, validation": lambda f: f["validation"]["gzsl"],
    "zero-shot, test": lambda f: f["zsl"],
    "calibrated H, test": lambda f: f["harmonic"],
}


def searching(record: dict[str, Any]) -> Iterator[str]:
    yield "## A default search of a kernel\n"
    yield (
        "`python benchmarks/halved_search.py --ways default whole before --keep`: the search of `zskl run --tune` with its steps beyond "
        "edges, and what it was. *Default* is [halved](selection.md#halving), in batches of 32. *Whole* tries every setting on every fold, "
        "in batches of 32. *Before* does so in batches of 10, as version 0.1 did. Accuracies are those of the chosen settings, in per cent: on "
        "validation classes, where they were chosen, and on test rows, which took no part. One seed says little about accuracies: see below. "
        "Asked for: 2 minutes on two cores.\n"
    )
    rows = []
    for name, f in record["figures"].items():
        data, method, way, seed, where = name.split(", ")
        figures = [f["validation"]["zsl"], f["validation"]["gzsl"], f["zsl"], f["harmonic"]]
        rows.append(
            [
                *(data, method, way, seed.removeprefix("seed "), where, f"{f['settings']}"),
                *(f"{f['search s']:.0f}", f"{f['processor s']:.0f}"),
                *(f"{100 * figures[k]:.1f} / {100 * figures[k + 1]:.1f}" for k in (0, 2)),
            ]
        )
    head = "data", "method", "search", "seed", "on", "settings", "seconds", "processor seconds"
    yield table((*head, "validation: zero-shot / H", "test: zero-shot / H"), rows)
    yield measured_on(record)


def over_seeds(record: dict[str, Any]) -> Iterator[str]:
    """Paired differences between the default search and what it was, over seeds."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}  # data and method → seed → way → figures
    for name, f in record["figures"].items():
        data, method, way, seed, _ = name.split(", ")
        found.setdefault((data, method), {}).setdefault(seed, {})[way] = f
    yield "### Does the quicker search cost accuracy?\n"
    yield (
        "`python benchmarks/halved_search.py --workers 0 --device cuda --ways default before --seed 0 --keep`, and other seeds: both searches "
        "whole, with the fit of what they choose, in per cent: mean over seeds, and the mean of the paired differences with its standard error. Asked for: within 0.3.\n"
    )
    rows = []
    for (data, method), seeds in found.items():
        pairs = [ways for ways in seeds.values() if len(ways) == 2]
        for words, read in ACCURACIES.items():
            now, before = (100 * np.array([read(ways[way]) for ways in pairs]) for way in ("default", "before"))
            error = (now - before).std(ddof=1) / len(pairs) ** 0.5 if len(pairs) > 1 else np.nan
            apart = f"{(now - before).mean():+.2f} ± {error:.2f}"
            rows.append([data, method, f"{len(pairs)}", words, f"{now.mean():.2f}", f"{before.mean():.2f}", apart])
    yield table(("data", "method", "seeds", "accuracy", "default", "before", "difference"), rows)
    yield measured_on(record)


def replaying(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    yield "## Does halving choose the same?\n"
    yield (
        f"`python benchmarks/halving_replay.py --keep`: whole searches of the default grids on {f['data']}, one row of {f['share']}, then "
        "[halved](selection.md#halving) again from the record. Each seed draws rows, folds and fits. The rule was chosen on other seeds. *Loss* is "
        "in points of the validation mean; *spread* is the standard deviation over folds of the whole search's choice.\n"
    )
    rows = []
    for method in dict.fromkeys(one["method"] for one in f["searches"]):
        mine = [one for one in f["searches"] if one["method"] == method]
        made = f"{100 * np.mean([one['made'] for one in mine]):.0f} %"
        for scoring, words in FIGURES.items():
            loss = 100 * np.array([one[scoring]["loss"] for one in mine])
            same, inside = (
                sum(one[scoring]["same"] for one in mine),
                sum(one[scoring]["loss"] <= one[scoring]["spread"] for one in mine),
            )
            counts = [f"{count} of {len(mine)}" for count in (same, inside)]
            rows.append([method, words, *counts, f"{loss.mean():.2f} ({loss.max():.2f})", made])
    yield table(
        ("method", "chosen by", "same choice", "loss within the spread", "mean loss (largest)", "epochs trained"), rows
    )
    yield measured_on(record)
