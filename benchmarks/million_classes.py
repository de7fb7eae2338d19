"""The ten best of 100 000 classes by `ranking_map` in usearch: recall and queries a second against the exact scan.

Run: python benchmarks/million_classes.py [--root DIR] [--features NAME] [--classes 100000] [--keep]

Data, classes and queries are those of nystrom.py, and the index is that of `zskl export --index`: see index_recall.py.
The exact scan is `top_k` of the model. Queries of all are counted from raw rows to names or keys, on one thread.
`--expansion` is how many candidates usearch keeps while it searches: more find more, and take longer.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from index_recall import MODELS, recall
from machine import keep
from nystrom import BEST, classes_like, data_of, options_of
from zskl import export


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--classes", type=int, default=100_000)
    parser.add_argument("--model", choices=list(MODELS), default="class-means")
    parser.add_argument("--expansion", type=int, action="append", help="repeatable; default: 64, 256 and 1024")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    from usearch.index import Index

    data = data_of(chosen.root, chosen.features)
    rows = np.sort(np.random.default_rng(0).permutation(data.parts["test_unseen"])[: chosen.queries])
    X = np.asarray(data.X[rows], np.float32)
    classes = classes_like(data, chosen.classes, np.random.default_rng(chosen.classes))
    model = MODELS[chosen.model].fit(*data.samples("trainval"), data.signatures)
    maps = model.ranking_map()
    vectors = maps.classes(classes)
    scores = np.asarray(model.compatibility(X, classes))
    asked = np.asarray(maps.samples(X), np.float32)
    found: dict[str, Any] = {}

    def measured(way: str, keys_of: Any) -> None:
        began = time.process_time()
        keys = keys_of()
        seconds = (time.process_time() - began) / len(X)
        found[way] = {"seconds": seconds, "recall": recall(keys, scores)}
        share = 100 * found[way]["recall"]
        print(f"{way}: recall@{BEST} {share:.1f} %, {1 / seconds:,.0f} queries a second", flush=True)

    panel = model_scan(model, classes)
    panel(X[:1])  # what belongs to the classes alone
    measured("exact scan", lambda: panel(X))
    measured("map, every class", lambda: np.argpartition(-(np.asarray(maps.samples(X)) @ vectors.T), BEST)[:, :BEST])
    with tempfile.TemporaryDirectory() as folder:
        path, began = Path(folder, "index"), time.process_time()
        export.write_index(path, "usearch", vectors, maps.labels(classes), "classes")
        built, size = time.process_time() - began, path.stat().st_size
        index = Index.restore(str(path))
    for expansion in chosen.expansion or (64, 256, 1024):
        index.expansion_search = expansion

        def search() -> Any:
            ready = np.pad(np.asarray(maps.samples(X), np.float32), ((0, 0), (0, 1)))
            return index.search(ready, BEST, threads=1).keys.astype(np.int64)

        measured(f"usearch, expansion {expansion}", search)
    print(f"built in {built:.0f} s of processor time, {size / 1e6:.0f} MB, {asked.shape[1] + 1} columns")
    if chosen.keep:
        sizes = {"classes": chosen.classes, "queries": len(X), "columns": asked.shape[1] + 1, "bytes": size}
        about = {"dataset": data.name, "features": data.features, "model": chosen.model, "build_seconds": built}
        keep("million_classes", {**sizes, **about, "ways": found})


def model_scan(model: Any, classes: Any) -> Any:
    """Rows → the places of the best classes by exact scores; what belongs to the classes alone is prepared."""
    from zskl.estimators import _inputs
    from zskl.estimators._candidates import CandidateScorer, choose_candidates, top_columns

    panel = CandidateScorer(model, choose_candidates(model, classes, None), None, calibrated=False)
    places = {name: place for place, name in enumerate(classes.index)}
    order = np.array([places[name] for name in panel.labels.tolist()])

    def scan(X: Any) -> Any:
        blocks = panel.blocks(_inputs.as_sliceable(model, X))
        return order[np.concatenate([top_columns(np.asarray(scores), BEST)[0] for _, scores in blocks])]

    return scan


if __name__ == "__main__":
    main()
