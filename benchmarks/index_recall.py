"""How many of the ten best classes an index finds: recall@10 of `zskl export --index` against the model's exact scan.

Run: python benchmarks/index_recall.py [--root DIR] [--features NAME] [--classes 1000] [--index usearch]

Data, models and classes are those of nystrom.py: CUB where its files are, else synthetic classes; mixtures of three
real signatures each, with noise; queries are test rows of unseen classes. Each index is written to a file and read
back. "map" is the recall of the vectors themselves, every one looked at; "index" that of the search in the file, with
the settings that the library begins with. A row needs the package of its index: pip install 'zskl[usearch,faiss]'.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from nystrom import BEST, SETTINGS, classes_like, data_of, options_of
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, export

MODELS: dict[str, Any] = {
    "gaussian-ort": ZeroShotKernelClassifier("gaussian", **SETTINGS),
    "class-means": ClassMeansClassifier(),
}


def searched(kind: str, path: Path, queries: Any) -> Any:
    """The keys of the best vectors for each query, by the library that reads the file."""
    queries = np.pad(np.asarray(queries, dtype=np.float32), ((0, 0), (0, 1)))
    if kind == "faiss":
        import faiss

        return faiss.read_index(str(path)).search(queries, BEST)[1]
    from usearch.index import Index

    return Index.restore(str(path)).search(queries, BEST).keys.astype(np.int64)


def recall(keys: Any, scores: Any) -> float:
    """The share of the best classes by exact scores that are among `keys` (queries, BEST); equal scores count."""
    worst = -np.partition(-scores, BEST - 1, axis=1)[:, BEST - 1 : BEST]
    return float((np.take_along_axis(scores, keys, axis=1) >= worst).mean())


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--classes", type=int, action="append", help="repeatable; default: 1000 and 10000")
    parser.add_argument("--index", action="append", help="usearch or faiss, repeatable; default: those installed")
    options = parser.parse_args()
    kinds = options.index or [kind for kind in export.KINDS if find_spec(kind)]
    rng = np.random.default_rng(0)
    data = data_of(options.root, options.features)
    rows = np.sort(rng.permutation(data.parts["test_unseen"])[: options.queries])
    queries = np.asarray(data.X[rows], np.float32)
    table = Table("model", "classes", "index", "columns", "map, %", "index, %", "MB")
    for name, model in MODELS.items():
        model.fit(*data.samples("trainval"), data.signatures)
        for count in options.classes or [1000, 10_000]:
            classes = classes_like(data, count, np.random.default_rng(count))
            maps = model.ranking_map()
            scores = np.asarray(model.compatibility(queries, classes))
            mapped, vectors = np.asarray(maps.samples(queries)), maps.classes(classes)
            every = np.argsort(-(mapped @ vectors.T), axis=1)[:, :BEST]
            for kind in kinds:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder, "index")
                    export.write_index(path, kind, vectors, maps.labels(classes), "classes")
                    found = recall(searched(kind, path, mapped), scores)
                    size = path.stat().st_size / 1e6
                shown = (f"{100 * recall(every, scores):.1f}", f"{100 * found:.1f}", f"{size:.1f}")
                table.add_row(name, str(count), kind, str(vectors.shape[1] + 1), *shown)
    Console().print(table)


if __name__ == "__main__":
    main()
