"""The dataset that the options of a command name, with its files. Imported inside commands: it brings pandas and
scikit-learn."""

from pathlib import Path
from typing import Any

from zskl import datasets
from zskl.cli._terminal import note
from zskl.datasets.xlsa17 import DEFAULT_FEATURES, is_benchmark_name
from zskl.experiments.sweep import DatasetSource


def load_dataset(name: str, *files: Any) -> datasets.Dataset:
    """The dataset that these options name; see `find_dataset_source` and `load_source`."""
    return load_source(find_dataset_source(name, *files))


def load_source(source: DatasetSource) -> datasets.Dataset:
    """The dataset. Says which features were taken if nobody asked for them, and what was dropped."""
    data = source.load()
    if data.features and source.features is None and data.features != DEFAULT_FEATURES:
        note(f"{data.name}: features {data.features}, the only feature file there (no {DEFAULT_FEATURES}.mat)")
    return data


def find_dataset_source(
    name: str,
    root: list[Path] | None,
    features: list[str] | None,
    signatures: str | None = None,
    folds: str | None = None,
) -> DatasetSource:
    """Where this dataset comes from, by the options of a command."""
    wanted = pick_dataset_features(name, features or [])
    if not is_benchmark_name(name):  # --root and --features speak of the benchmarks among several datasets
        root = None
        wanted = wanted if any(entry.lower().startswith(f"{name.lower()}=") for entry in features or []) else None
    roots = tuple(map(str, root or ()))
    # One root is a string, as records and shards of earlier versions have it.
    return DatasetSource(name, roots[0] if len(roots) == 1 else roots or None, wanted, signatures, folds)


def pick_dataset_features(name: str, features: list[str]) -> str | None:
    """The last of the entries for this dataset, else the last of those for every dataset.

    >>> pick_dataset_features("cub", ["res50", "CUB=vgg19", "SUN=clip"])
    'vgg19'
    """
    return next(reversed(list_features(name, features)), None)


def list_features(name: str, features: list[str]) -> list[str]:
    """All entries for this dataset, else all of those for every dataset."""
    general: list[str] = []
    for_this: list[str] = []
    for entry in features:
        dataset, equals, value = (part.strip() for part in entry.rpartition("="))
        if not value or (equals and not dataset):
            raise ValueError(f"--features {entry!r}: expected NAME or DATASET=NAME, for example CUB=res101")
        if not equals:
            general.append(value)
        elif dataset.lower() == name.lower():
            for_this.append(value)
        elif dataset.lower() not in {known.lower() for known, _ in datasets.names()} and not Path(dataset).exists():
            known = ", ".join(known for known, _ in datasets.names())
            raise ValueError(f"--features {entry!r}: no dataset is called {dataset!r}; the known ones are: {known}")
    return for_this or general
