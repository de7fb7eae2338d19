"""What the options of a command name: a dataset with its files, an engine."""

from __future__ import annotations

import warnings
from pathlib import Path

from zskl import datasets
from zskl.cli.options import EngineName
from zskl.cli.terminal import note, say
from zskl.datasets.xlsa17 import DEFAULT_FEATURES
from zskl.datasets.xlsa17.benchmarks import has_feature_files
from zskl.engines import Engine
from zskl.experiments.sweep import Source


def engine_of(engine: EngineName | None, address: str | None, workers: int | None) -> Engine | None:
    """The engine that these options name; None if none of them is given."""
    if engine is None and address is None and workers is None:
        return None
    return Engine(engine.value if engine else "loky", address, workers)


def load_dataset(
    name: str,
    root: Path | None,
    features: list[str] | None,
    signatures: str | None = None,
    folds: str | None = None,
) -> datasets.Dataset:
    """The dataset that these options name; see `load`."""
    return load(source_of(name, root, features, signatures, folds))


def load(source: Source) -> datasets.Dataset:
    """The dataset. Says which features were taken if nobody asked for them, and what was dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = source.load()
    for warning in caught:
        note(str(warning.message))
    if data.features and source.features is None and data.features != DEFAULT_FEATURES:
        say(f"{data.name}: features {data.features}, the only feature file there (no {DEFAULT_FEATURES}.mat)")
    return data


def source_of(
    name: str,
    root: Path | None,
    features: list[str] | None,
    signatures: str | None = None,
    folds: str | None = None,
) -> Source:
    """Where this dataset comes from, by the options of a command."""
    wanted = features_of(name, features or [])
    if not has_feature_files(name):  # --root and --features speak of the benchmarks among several datasets
        root = None
        wanted = wanted if any(entry.lower().startswith(f"{name.lower()}=") for entry in features or []) else None
    return Source(name, None if root is None else str(root), wanted, signatures, folds)


def features_of(name: str, features: list[str]) -> str | None:
    """The last of the entries for this dataset, else the last of those for every dataset.

    >>> features_of("cub", ["res50", "CUB=vgg19", "SUN=clip"])
    'vgg19'
    """
    general, own = None, None
    for entry in features:
        dataset, equals, value = (part.strip() for part in entry.rpartition("="))
        if not value or (equals and not dataset):
            raise ValueError(f"--features {entry!r}: expected NAME or DATASET=NAME, for example CUB=res101")
        if not equals:
            general = value
        elif dataset.lower() == name.lower():
            own = value
        elif not _is_dataset(dataset):
            known = ", ".join(known for known, _ in datasets.names())
            raise ValueError(f"--features {entry!r}: no dataset is called {dataset!r}; the known ones are: {known}")
    return own or general


def _is_dataset(name: str) -> bool:
    return name.lower() in {known.lower() for known, _ in datasets.names()} or Path(name).exists()
