"""What several commands take: a dataset and its files, classes to choose from, settings, where work runs."""

import functools
import inspect
import json
from collections.abc import Callable
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from zskl.cli._terminal import note

if TYPE_CHECKING:
    from zskl.datasets import Dataset
    from zskl.engines import Engine
    from zskl.experiments.sweep import DatasetSource

TABLES = ".csv .tsv .xlsx .parquet .npy .npz .mat, .csv.gz .csv.zst, - for standard input"
# Panels of `--help`. The first has no name here: it holds the five options of a command that are used most.
MORE, FILES, MACHINE, ALWAYS = "More options", "How files are found and read", "Where it runs", "In every command"
TEXTS = "Where rows are texts"
# Options in these panels.
more, about_files = partial(typer.Option, rich_help_panel=MORE), partial(typer.Option, rich_help_panel=FILES)
about_machine, about_texts = (
    partial(typer.Option, rich_help_panel=MACHINE),
    partial(typer.Option, rich_help_panel=TEXTS),
)
MARKS = ("manifest.json", "att_splits.mat")  # a folder with one of these is a dataset


def complete_methods(incomplete: str) -> list[str]:
    """The methods whose names begin so. Importing the registry takes a second; a copy of its names would go stale."""
    from zskl.methods import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def complete_datasets(incomplete: str) -> list[str]:
    """The datasets whose names or folders begin so."""
    from zskl import datasets

    known = [name for name, _ in datasets.names() if name.startswith(incomplete)]
    folders = {str(Path(file).parent) for mark in MARKS for file in glob(f"{escape(incomplete)}*/{mark}")}
    return known + sorted(folders)


EngineName: TypeAlias = Literal["loky", "dask", "ray"]
Data: TypeAlias = Annotated[
    str, typer.Argument(help="A dataset folder, or the name of a dataset.", autocompletion=complete_datasets)
]
Device: TypeAlias = Annotated[str | None, about_machine(help="cpu or cuda.")]
ModelFile: TypeAlias = Annotated[Path, typer.Argument(help="A model file.")]
UnchangedModel: TypeAlias = Annotated[Path, typer.Argument(help="A model file; the model itself stays as it is.")]
ModelOut: TypeAlias = Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The model file to write.")]
Runs: TypeAlias = Annotated[list[Path], typer.Argument(help="Run folders (zskl run --out) or .jsonl files (--json).")]
EngineOption: TypeAlias = Annotated[
    EngineName | None, about_machine(help="Processes of this machine (loky), or a Dask or Ray cluster.")
]
Address: TypeAlias = Annotated[str | None, about_machine(help="The address of the Dask scheduler, or of Ray.")]
Workers: TypeAlias = Annotated[int | None, about_machine(min=1, help="How many processes. Default: one per core.")]
Root: TypeAlias = Annotated[
    list[Path] | None,
    about_files(
        help="The folder of the benchmarks (the xlsa17 package), repeatable. Default: $ZSKL_DATA, then the user cache."
    ),
]
Features: TypeAlias = Annotated[
    list[str] | None,
    about_files(
        metavar="NAME or DATASET=NAME",
        help="The feature file NAME.mat of a benchmark, repeatable; A+B for two side by side. Default: res101, else "
        "the only one there.",
    ),
]
Signatures: TypeAlias = Annotated[
    str | None,
    about_files(
        metavar="NAME or FILE",
        help="att (default), original_att, NAME for NAME_splits.mat, FILE.mat, FILE.mat:VARIABLE or FILE.csv; A+B for "
        "two side by side.",
    ),
]
ClassTable: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The classes to choose from, a row each; they may be new to the model."),
]
WithKnown: TypeAlias = Annotated[bool, more("--with-known", help="Choose from the classes of the model too.")]
Candidates: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Choose from these classes only, repeatable.")
]
Folds: TypeAlias = Annotated[
    str | None,
    about_files(metavar="file", help="Take the validation fold from train_loc and val_loc of att_splits.mat."),
]
Encoding: TypeAlias = Annotated[
    str, about_files(metavar="NAME", help="How text files are encoded: utf-8, cp1252, latin-1, utf-16.")
]
Missing: TypeAlias = Annotated[
    Literal["mean", "drop"] | None,
    about_files(help="Empty cells: fill in the mean (of training rows, or of the class table), or drop the row."),
]
Categories: TypeAlias = Annotated[
    Literal["onehot"] | None,
    about_files(help="Columns of words, in features or class table: a column of 0 and 1 for each word."),
]
Decimal: TypeAlias = Annotated[Literal[".", ","], about_files(help="How fractions are written in CSV: 1.5 or 1,5.")]


def add_options(call: Any, command: Callable[..., None], **further: tuple[object, Any]) -> inspect.Signature:
    """Let `call` have the options of a command and further ones, by defaults and annotations; those of the command."""
    kind = inspect.Parameter.KEYWORD_ONLY
    known = inspect.signature(command, eval_str=True)
    added = [inspect.Parameter(name, kind, default=one, annotation=of) for name, (one, of) in further.items()]
    mine = [one.replace(kind=kind) for one in known.parameters.values()]
    call.__signature__ = known.replace(parameters=[*mine, *added])
    return known


def mark_text(path: Any, encoding: str, decimal: str) -> Any:
    """A path, or None; with how its text is written, if that is not as usual."""
    if path is None or (encoding, decimal) == ("utf-8", "."):
        return path
    from zskl.datasets.tables.source import TextFile

    return TextFile(str(path), encoding, decimal)


def reads_text(*tables: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command with --encoding and --decimal, which hold for the text files that these parameters name."""

    def extend(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def call(*values: Any, encoding: str = "utf-8", decimal: str = ".", **named: Any) -> None:
            given = known.bind(*values, **named).arguments  # called from Python too, where defaults are left out
            command(
                **{name: mark_text(one, encoding, decimal) if name in tables else one for name, one in given.items()}
            )

        known = add_options(call, command, encoding=("utf-8", Encoding), decimal=(".", Decimal))
        return call

    return extend


def check_with_known(with_known: bool, signatures: Path | None) -> None:
    """The classes of the model are added to a class table, so there must be one."""
    if with_known and signatures is None:
        raise ValueError(
            "--with-known was given without --signatures: the classes of the model are the default; leave it out"
        )


def make_engine(engine: EngineName | None, address: str | None, workers: int | None) -> "Engine | None":
    """The engine that these options name; None if none of them is given."""
    from zskl.engines import Engine

    if engine is None and address is None and workers is None:
        return None
    return Engine(engine or "loky", address, workers)


def parse_setting(text: str) -> tuple[str, object]:
    """ "sigma=0.8" → ("sigma", 0.8); values are numbers, true, false, none or text."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise ValueError(f"--set {text!r}: expected NAME=VALUE, for example --set sigma=0.8")
    if name in ("random_state", "device"):
        raise ValueError(f"--set {text!r}: use --{'seeds' if name == 'random_state' else 'device'} for that")
    constants = {"true": True, "false": False, "none": None}
    if value.lower() in constants:
        return name, constants[value.lower()]
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


# The dataset that the options of a command name


def load_dataset(name: str, *files: Any) -> "Dataset":
    """The dataset that these options name; see `find_dataset_source` and `load_source`."""
    return load_source(find_dataset_source(name, *files))


def load_source(source: "DatasetSource") -> "Dataset":
    """The dataset. Says which features were taken if nobody asked for them, and what was dropped."""
    from zskl.datasets.xlsa17 import DEFAULT_FEATURES

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
) -> "DatasetSource":
    """Where this dataset comes from, by the options of a command."""
    from zskl.datasets.xlsa17 import is_benchmark_name
    from zskl.experiments.sweep import DatasetSource

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
    from zskl import datasets

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
