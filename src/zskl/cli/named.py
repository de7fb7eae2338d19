"""What the options of a command name: a dataset with its files, an engine."""

from __future__ import annotations

import warnings
from pathlib import Path

from zskl import datasets
from zskl.cli.options import EngineName
from zskl.cli.terminal import mention, note
from zskl.datasets.fetch import SPLITS
from zskl.datasets.xlsa17 import DEFAULT_FEATURES, find_folder, has_feature_files
from zskl.engines import Engine
from zskl.experiments.sweep import DatasetSource


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


def load(source: DatasetSource) -> datasets.Dataset:
    """The dataset. Says which features were taken if nobody asked for them, and what was dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = source.load()
    for warning in caught:
        note(str(warning.message))
    if data.features and source.features is None and data.features != DEFAULT_FEATURES:
        mention(f"{data.name}: features {data.features}, the only feature file there (no {DEFAULT_FEATURES}.mat)")
    return data


def source_of(
    name: str,
    root: Path | None,
    features: list[str] | None,
    signatures: str | None = None,
    folds: str | None = None,
) -> DatasetSource:
    """Where this dataset comes from, by the options of a command."""
    wanted = features_of(name, features or [])
    if not has_feature_files(name):  # --root and --features speak of the benchmarks among several datasets
        root = None
        wanted = wanted if any(entry.lower().startswith(f"{name.lower()}=") for entry in features or []) else None
    return DatasetSource(name, None if root is None else str(root), wanted, signatures, folds)


def sources_of(name: str, roots: list[Path] | None, features: list[str] | None) -> list[DatasetSource]:
    """One for each of the features that are asked for, from the first root that has them; else one for each root that
    has the dataset. Where none has it there is one all the same, and loading it says what is missing."""
    if not has_feature_files(name):
        return [source_of(name, None, features)]
    asked = every_features_of(name, features or [])
    if not roots:
        return [DatasetSource(name, None, one) for one in asked] or [DatasetSource(name)]

    def there(root: Path, file: str) -> bool:
        try:
            return (find_folder(name, root) / file).is_file()
        except FileNotFoundError:
            return False

    found = []
    for one in asked:
        root = next((root for root in roots if there(root, f"{one.removesuffix('.mat')}.mat")), roots[0])
        found.append(DatasetSource(name, str(root), one))
    return (
        found
        or [DatasetSource(name, str(root)) for root in roots if there(root, SPLITS)]
        or [DatasetSource(name, str(roots[0]))]
    )


def features_of(name: str, features: list[str]) -> str | None:
    """The last of the entries for this dataset, else the last of those for every dataset.

    >>> features_of("cub", ["res50", "CUB=vgg19", "SUN=clip"])
    'vgg19'
    """
    found = every_features_of(name, features)
    return found[-1] if found else None


def every_features_of(name: str, features: list[str]) -> list[str]:
    """All entries for this dataset, else all of those for every dataset."""
    general: list[str] = []
    own: list[str] = []
    for entry in features:
        dataset, equals, value = (part.strip() for part in entry.rpartition("="))
        if not value or (equals and not dataset):
            raise ValueError(f"--features {entry!r}: expected NAME or DATASET=NAME, for example CUB=res101")
        if not equals:
            general.append(value)
        elif dataset.lower() == name.lower():
            own.append(value)
        elif not _is_dataset(dataset):
            known = ", ".join(known for known, _ in datasets.names())
            raise ValueError(f"--features {entry!r}: no dataset is called {dataset!r}; the known ones are: {known}")
    return own or general


def _is_dataset(name: str) -> bool:
    return name.lower() in {known.lower() for known, _ in datasets.names()} or Path(name).exists()
