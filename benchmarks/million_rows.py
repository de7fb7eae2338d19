"""A folder of shards to measure with: rows × 512 features of 1 000 classes that 64 attributes describe, float16.

Run: python benchmarks/million_rows.py FOLDER [--rows 10_000_000] [--shards 100] [--kind npy]

The mean of a class follows from its attributes by one random matrix; rows are that mean and noise. Shard k depends on
the seed and k alone. FOLDER/rows holds the shards, FOLDER/labels a file of labels for each .npy shard (a Parquet shard
has them in the column "label"), FOLDER/classes.csv the attributes, also of 250 classes without a row. 10 million rows
are 10 GB: remove FOLDER when you are done.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FEATURES, ATTRIBUTES, SEEN, UNSEEN = 512, 64, 1000, 250
SEED = 0


def classes() -> pd.DataFrame:
    """The attributes of all classes, seen ones first."""
    drawn = np.random.default_rng(SEED).standard_normal((SEEN + UNSEEN, ATTRIBUTES)).astype(np.float32)
    names = pd.Index(range(SEEN + UNSEEN), name="class")
    return pd.DataFrame(drawn, index=names, columns=[f"a{k}" for k in range(ATTRIBUTES)])


def means() -> Any:
    """(classes, features) of all classes."""
    turn = np.random.default_rng(SEED + 1).standard_normal((ATTRIBUTES, FEATURES)) / np.sqrt(ATTRIBUTES)
    return (classes().to_numpy() @ turn).astype(np.float32)


def shard(number: int, rows: int, means: Any) -> tuple[Any, Any]:
    """Rows (n, 512) in half precision and their classes."""
    draw = np.random.default_rng([SEED, number])
    labels = draw.integers(0, SEEN, rows)
    X = np.empty((rows, FEATURES), np.float16)
    for start in range(0, rows, 10_000):
        part = labels[start : start + 10_000]
        X[start : start + 10_000] = means[part] + draw.standard_normal((len(part), FEATURES), dtype=np.float32)
    return X, labels


def write(folder: Path, rows: int, shards: int, kind: str = "npy") -> None:
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    (folder / "labels").mkdir(exist_ok=True)
    classes().to_csv(folder / "classes.csv")
    centres = means()
    for number in range(shards):
        X, labels = shard(number, rows * (number + 1) // shards - rows * number // shards, centres)
        name = f"part-{number:04d}"
        if kind == "npy":
            np.save(folder / "rows" / f"{name}.npy", X)
            np.save(folder / "labels" / f"{name}.npy", labels)
        else:
            frame = pd.DataFrame(X.astype(np.float32), columns=[f"x{k}" for k in range(FEATURES)])
            frame.assign(label=labels).to_parquet(folder / "rows" / f"{name}.parquet", index=False)


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
