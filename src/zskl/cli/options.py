"""What several commands take: a dataset and its files, the classes to choose from, where work runs."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.markup import escape

from zskl import datasets
from zskl.cli.app import problems, say
from zskl.engines import Engine
from zskl.sweep import Source


class EngineName(StrEnum):
    """Where work runs."""

    loky = "loky"
    dask = "dask"


EngineOption: TypeAlias = Annotated[
    EngineName | None, typer.Option(help="Processes of this machine (loky) or a Dask cluster.")
]
Address: TypeAlias = Annotated[str | None, typer.Option(help="Of the Dask scheduler.")]
Workers: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Processes. Default: one per core.")]
Root: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Where the benchmarks lie: the xlsa17 package. Default: $ZSKL_DATA, then the user cache."),
]
Features: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME or DATASET=NAME",
        help="The feature file NAME.mat of a benchmark, repeatable. Default: res101, else the only one there.",
    ),
]
Signatures: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME or FILE", help="att (default), original_att, FILE.mat, FILE.mat:VARIABLE or FILE.csv."),
]
ClassTable: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The classes to choose from, new ones among them, a row each.")
]
WithKnown: TypeAlias = Annotated[
    bool, typer.Option("--with-known", help="Choose from the classes of the model as well.")
]
Candidates: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Choose from these classes only, repeatable.")
]
Folds: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="file", help="Validation fold from train_loc and val_loc of att_splits.mat."),
]


def engine_of(engine: EngineName | None, address: str | None, workers: int | None) -> Engine | None:
    """The engine that these options name, if there is any of them."""
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
    """The dataset, with a word on the features taken where nobody asked for them, and on what was dropped."""
    source = source_of(name, root, features, signatures, folds)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = source.load()
    for warning in caught:
        problems.print(f"[yellow]note:[/] {escape(str(warning.message))}", highlight=False, soft_wrap=True)
    if data.features and source.features is None and data.features != "res101":
        say(f"{data.name}: features {data.features}, the only feature file there (no res101.mat)")
    return data


def source_of(
    name: str,
    root: Path | None,
    features: list[str] | None,
    signatures: str | None = None,
    folds: str | None = None,
) -> Source:
    """Of the options of a command, those that concern this dataset."""
    wanted = features_of(name, features or [])
    if not _has_files(name):  # these speak of the benchmarks among several datasets
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


def _has_files(name: str) -> bool:
    """Whether --root and --features can mean anything: a benchmark, or a folder in its layout."""
    return name.upper() in datasets.xlsa17.BENCHMARKS or (Path(name) / "att_splits.mat").is_file()


def _is_dataset(name: str) -> bool:
    return name.lower() in {known.lower() for known, _ in datasets.names()} or Path(name).exists()
