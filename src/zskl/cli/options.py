"""What several commands take: a dataset and its files, the classes to choose from, where work runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from zskl.cli import completion

TABLES = ".csv .tsv .xlsx .parquet .npy .npz .mat, .csv.gz .csv.zst, - for standard input"


class EngineName(StrEnum):
    """Where work runs."""

    loky = "loky"
    dask = "dask"


Data: TypeAlias = Annotated[
    str, typer.Argument(help="A dataset folder, or the name of a dataset.", autocompletion=completion.datasets)
]
EngineOption: TypeAlias = Annotated[
    EngineName | None, typer.Option(help="Where work runs: processes of this machine (loky) or a Dask cluster.")
]
Address: TypeAlias = Annotated[str | None, typer.Option(help="The address of the Dask scheduler.")]
Workers: TypeAlias = Annotated[int | None, typer.Option(min=1, help="How many processes. Default: one per core.")]
Root: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The folder of the benchmarks (the xlsa17 package). Default: $ZSKL_DATA, then the user cache."),
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
    Path | None,
    typer.Option(metavar="FILE", help="The classes to choose from, a row each; they may be new to the model."),
]
WithKnown: TypeAlias = Annotated[bool, typer.Option("--with-known", help="Choose from the classes of the model too.")]
Candidates: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Choose from these classes only, repeatable.")
]
Folds: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="file", help="Take the validation fold from train_loc and val_loc of att_splits.mat."),
]


def check_known(with_known: bool, signatures: Path | None) -> None:
    """The classes of the model are added to a class table, so there must be one."""
    if with_known and signatures is None:
        raise ValueError(
            "--with-known was given without --signatures: the classes of the model are the default; leave it out"
        )
