"""A folder of shards to measure with: rows × 512 features of 1 000 classes that 64 attributes describe.

Run: python benchmarks/million_rows.py FOLDER [--rows 10_000_000] [--shards 100] [--kind npy|parquet]

The mean of a class follows from its attributes by one random matrix; rows are that mean and noise. Shard k depends on
the seed and k alone. FOLDER/rows holds the shards and FOLDER/classes.csv the attributes, also of 250 classes without a
row. Kinds have the same rows. In .npy shards they are rounded to float16, and FOLDER/labels has a file of labels for
each. Parquet shards have 512 columns of float32 and the column "label", in one row group, as pandas writes them, but
without dictionaries of numbers, of which few are equal: these would make a file half as large again. 10 million rows
are 10 GB in .npy and 21 GB in Parquet: remove FOLDER when you are done.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FEATURES, ATTRIBUTES, SEEN, UNSEEN = 512, 64, 1000, 250
SEED = 0
LABEL = "label"


def classes() -> pd.DataFrame:
    """The attributes of all classes, seen ones first."""
    drawn = np.random.default_rng(SEED).standard_normal((SEEN + UNSEEN, ATTRIBUTES)).astype(np.float32)
    names = pd.Index(range(SEEN + UNSEEN), name="class")
    return pd.DataFrame(drawn, index=names, columns=[f"a{k}" for k in range(ATTRIBUTES)])


def means() -> Any:
    """(classes, features) of all classes."""
    turn = np.random.default_rng(SEED + 1).standard_normal((ATTRIBUTES, FEATURES)) / np.sqrt(ATTRIBUTES)
    return (classes().to_numpy() @ turn).astype(np.float32)


def shard(number: int, rows: int, means: Any, kind: str = "npy") -> tuple[Any, Any]:
    """Rows (n, 512), in half precision for .npy and single for Parquet, and their classes."""
    draw = np.random.default_rng([SEED, number])
    labels = draw.integers(0, SEEN, rows)
    X = np.empty((rows, FEATURES), np.float16 if kind == "npy" else np.float32)
    for start in range(0, rows, 10_000):
        part = labels[start : start + 10_000]
        X[start : start + 10_000] = means[part] + draw.standard_normal((len(part), FEATURES), dtype=np.float32)
    return X, labels


def write(folder: Path, rows: int, shards: int, kind: str = "npy") -> None:
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    classes().to_csv(folder / "classes.csv")
    centres = means()
    for number in range(shards):
        X, labels = shard(number, rows * (number + 1) // shards - rows * number // shards, centres, kind)
        name = f"part-{number:04d}"
        if kind == "npy":
            (folder / "labels").mkdir(exist_ok=True)
            np.save(folder / "rows" / f"{name}.npy", X)
            np.save(folder / "labels" / f"{name}.npy", labels)
        else:
            write_parquet(folder / "rows" / f"{name}.parquet", X, labels)


def write_parquet(path: Path, X: Any, labels: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {f"x{k}": np.ascontiguousarray(X[:, k]) for k in range(FEATURES)}
    parquet.write_table(pa.table({**columns, LABEL: labels}), path, use_dictionary=[LABEL])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--kind", choices=("npy", "parquet"), default="npy")
    chosen = parser.parse_args()
    write(chosen.folder, chosen.rows, chosen.shards, chosen.kind)


if __name__ == "__main__":
    main()
