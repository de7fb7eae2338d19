"""Where a dataset comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from zskl import datasets
from zskl.datasets import Dataset
from zskl.datasets.xlsa17.locations import benchmark_folder


@dataclass(frozen=True)
class Source:
    """Where a dataset comes from, so that a worker can load it: the arguments of `datasets.load`."""

    name: str
    root: str | None = None
    features: str | None = None
    signatures: str | None = None
    folds: str | None = None

    def load(self) -> Dataset:
        return datasets.load(self.name, self.root, self.features, self.signatures, self.folds)

    def absolute(self, data: Dataset) -> Source:
        """The same, independent of the working folder, environment and defaults of this process."""
        name, root = self.name, self.root
        if name.upper() in datasets.xlsa17.BENCHMARKS:
            root = str(benchmark_folder(name.upper(), root).resolve().parent)
        elif os.path.exists(name) and name.lower() not in datasets.BUNDLED:
            name = os.path.abspath(name)
        signatures = self.signatures
        if signatures and any(Path(file).is_file() for file in (signatures, signatures.rpartition(":")[0])):
            signatures = os.path.abspath(signatures)
        return Source(name, root, data.features or None, signatures, self.folds)
