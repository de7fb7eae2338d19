"""The section on searches of class means for docs/performance.md."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_tables import load, measured_on, table

WHERE = {
    "means_search": "one thread, processor seconds",
    "means_search_cores": "all cores",
    "means_search_device": "GPU",
}
GOALS = {"means_search_cores": "12 s on two cores", "means_search_device": "2 s"}


def means(record: dict[str, Any]) -> Iterator[str]:
    yield "## A search of class means\n"
    yield (
        f"`python benchmarks/means_search.py`, with `--cores` and with `--device cuda`: settings × {record['figures']['folds']} folds, "
        "every setting judged on all validation rows. *256* is a grid of that many settings, *default* the grid of `zskl fit`, with "
        "what its edges ask for. On a GPU the second search of a process counts: the first waits for kernels to be loaded. One eigendecomposition serves all settings of a fold and scaling; settings that share a shrinkage "
        "share products with rows, and in float32 alone. A fold leaves out a third of the classes, and so about as many rows as there "
        "are features, or more: a decomposition of all rows cannot be down-dated by so many, so each fold has its own.\n"
    )
    rows, notes = [], []
    for name, where in WHERE.items():
        found = record if name == "means_search" else load(name)
        if found is None:
            continue
        for one in found["figures"]["searches"]:
            seconds = f"{one['cpu'] if name == 'means_search' else one['clock']:.1f}"
            if name == "means_search_device":
                seconds += f" (first {one['first']:.1f})"
            goal = GOALS.get(name, "") if one["grid"] == "256" and "efficientnet" in one["data"] else ""
            rows.append([one["data"], one["grid"], f"{one['settings']}", where, seconds, goal])
        notes.append(f"{where[0].upper()}{where[1:]}: {measured_on(found)[0].lower()}{measured_on(found)[1:]}")
    yield table(("data", "grid", "settings", "where", "seconds", "goal"), rows)
    yield from notes
