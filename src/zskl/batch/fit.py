"""Class means of a folder of shards, more rows than memory holds. A task is one shard, read once, whatever the engine,
and sums are merged in the order of the shards: so every engine gives the same model, as far as the linear algebra of
its machines does."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import engines
from zskl._validation import list_values
from zskl.batch.predict import PathLike, find_shards
from zskl.datasets import tables
from zskl.datasets.tables.features import FeatureFile, Wanted, block_rows
from zskl.datasets.tables.labels import is_whole, plain_label
from zskl.engines import Engine
from zskl.estimators._class_means_fit import Sums
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.signatures.table import SignatureTable, normalise_name, read_table_once

Labelled: TypeAlias = tuple[NDArray[np.float32], NDArray[np.str_]]  # rows, and the class of each
LABEL_FILES = (".npy", ".txt", ".csv", ".tsv", ".parquet", ".pq", ".npz", ".mat")
TOGETHER = 32  # blocks of 2 MB that are added up at once: products of larger matrices are faster


@dataclass(frozen=True)
class Shard:
    path: str
    labels: str | None


@dataclass(frozen=True)
class Job:
    """What is the same for every shard: the settings of the model, the column of labels and those of features."""

    model: ClassMeansClassifier
    column: str | None
    names: tuple[str, ...] | None
    width: int

    def open_shard(self, shard: Shard) -> FeatureFile:
        head = tables.read_header(shard.path)
        lacking = [name for name in self.names or () if name not in head.fields]
        if lacking:
            raise ValueError(
                f"{shard.path} lacks columns {list_values(lacking)}, which the shards before it have; it has "
                f"{list_values(head.fields) or 'no names'}: expected the same in all; mend it or move it out of the "
                "folder"
            )
        found = head.open(Wanted(self.column, self.names))
        if found.width != self.width:
            raise ValueError(
                f"{shard.path} has {found.width} feature columns, and the shards before it have {self.width}: expected "
                "the same in all; mend it or move it out of the folder"
            )
        return found


def fit_shards(
    folder: PathLike,
    labels: PathLike,
    signatures: Any,
    model: ClassMeansClassifier | None = None,
    *,
    engine: Engine | None = None,
    report: Callable[[int, int], object] | None = None,
) -> ClassMeansClassifier:
    """Fit class means on a folder of Parquet or .npy files, or shards: each is read once, by any number of workers.

    A worker holds a few hundred megabytes, however long a shard is. What it sends back has d² + C·d numbers and at most
    4096 rows, for d features and C classes.

    Parameters
    ----------
    folder : path-like
        The shards: all .parquet, .pq and .npy files of this folder, except those whose names begin with "." or "_".
    labels : path-like
        The class of each row: the name of a column of the Parquet files, or a folder with a file of labels for each
        shard, which has its name but for the ending.
    signatures : path-like, DataFrame or mapping
        The description of each class: a file, as for `datasets.make`, or a table, as for `fit`.
    model : ClassMeansClassifier, default=None
        The settings to fit with; it is not changed. None takes the default ones.
    engine : Engine, default=None
        Where shards are added up. None does it in this process.
    report : callable, default=None
        Called as report(done, total) after each shard.

    Returns
    -------
    ClassMeansClassifier
        The fitted model: that of one `fit` on all rows, up to the rounding of sums in float64.

    Raises
    ------
    ValueError
        If a shard or its labels cannot be read, or do not fit to the others; the message names the file.

    See Also
    --------
    ClassMeansClassifier.sums : The sums of rows that you read yourself.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from zskl import datasets, fit_shards
    >>> data = datasets.make_synthetic()
    >>> X, y = data.samples("trainval")
    >>> with tempfile.TemporaryDirectory() as here:
    ...     for name, rows in (("rows", X), ("labels", y)):
    ...         os.mkdir(f"{here}/{name}")
    ...         for k in range(3):
    ...             np.save(f"{here}/{name}/part-{k}.npy", rows[k::3])
    ...     model = fit_shards(f"{here}/rows", f"{here}/labels", data.signatures)
    >>> model.predict(X[:3]).tolist() == y[:3].tolist()
    True
    """
    model = ClassMeansClassifier() if model is None else model
    if not isinstance(model, ClassMeansClassifier):
        raise ValueError(
            f"model is a {type(model).__name__}: expected a ClassMeansClassifier, which learns from sums; fit others "
            "on rows that memory holds"
        )
    given = tables.read_signatures(signatures) if isinstance(signatures, str | os.PathLike) else signatures
    table = read_table_once(given)
    if table is not None and not isinstance(table, SignatureTable):
        raise ValueError(
            f"signatures is a {type(given).__name__}: expected a file, a data frame or a mapping, which name the "
            "classes that shards name"
        )
    job, shards = _plan_shards(folder, labels, clone(model))
    sums = _merge_sums(job, shards, engine, report)
    fitted: ClassMeansClassifier = clone(model).fit_sums(*_match_label_type(sums, table))
    if job.names is not None:
        fitted.feature_names_in_ = np.array(job.names, dtype=object)
    return fitted


def _plan_shards(folder: PathLike, labels: PathLike, model: ClassMeansClassifier) -> tuple[Job, list[Shard]]:
    """Look at the heads of all shards, so that one that does not fit is refused before the first is read."""
    if not Path(folder).is_dir():
        raise ValueError(f"folder is {os.fspath(folder)!r}: expected a folder of .parquet or .npy files")
    files = [shard.path for shard in find_shards(folder)]
    column = None if Path(labels).is_dir() else os.fspath(labels)
    bare = [Path(path).name for path in files if path.endswith(".npy")]
    if column is not None and bare:
        raise ValueError(
            f"labels is {column!r}, and {list_values(bare)} has no columns: expected a folder with a file of labels "
            "for each shard, of the same name"
        )
    beside = _find_label_files(files, Path(labels)) if column is None else {}
    shards = [Shard(path, beside.get(path)) for path in files]
    first = tables.read_header(files[0]).open(Wanted(column))
    job = Job(model, column, first.names, first.width)
    for shard in shards[1:]:
        job.open_shard(shard)
    return job, shards


def _find_label_files(files: Sequence[str], folder: Path) -> dict[str, str]:
    there: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in LABEL_FILES:
            there.setdefault(path.stem, []).append(path)
    lacking = [Path(path).name for path in files if Path(path).stem not in there]
    if lacking:
        raise ValueError(
            f"{folder} has no labels for {list_values(lacking)}: expected a file for each shard, of the same name, "
            f"such as {Path(lacking[0]).stem}.npy; add them"
        )
    several = [stem for path in files if len(there[stem := Path(path).stem]) > 1]
    if several:
        names = list_values(several)
        raise ValueError(f"{folder} has several files of labels called {names}: expected one for each shard")
    return {path: os.path.abspath(there[Path(path).stem][0]) for path in files}


def _merge_sums(
    job: Job, shards: Sequence[Shard], engine: Engine | None, report: Callable[[int, int], object] | None
) -> Sums:
    total: Sums | None = None
    early: dict[int, Sums] = {}  # finished before one that comes first
    following = 0
    with closing(engines.each(_sum_shard, list(shards), job, engine)) as results:
        for done, (position, sums) in enumerate(results, start=1):
            early[position] = sums
            while following in early:
                part = early.pop(following)
                total = part if total is None else total + part
                following += 1
            if report is not None:
                report(done, len(shards))
    assert total is not None  # there is at least one shard
    return total


def _sum_shard(job: Job, shard: Shard) -> Sums:
    """On a worker: the sums of one shard, its classes under the names in the file."""
    # There is at least one block: a shard without rows is refused when it is opened.
    blocks = _gather_blocks(_labelled_blocks(job, shard), job.width)
    return reduce(add, (clone(job.model).sums(X, y) for X, y in blocks))


def _gather_blocks(blocks: Iterator[Labelled], width: int) -> Iterator[Labelled]:
    """The rows of several blocks, in one array that is filled again for the next."""
    room = np.empty((TOGETHER * block_rows(width), width), np.float32)
    filled, labels = 0, list[NDArray[np.str_]]()
    for X, y in blocks:
        if filled + len(X) > len(room):
            yield room[:filled], np.concatenate(labels)
            filled = 0
            labels.clear()
        room[filled : filled + len(X)] = X
        filled += len(X)
        labels.append(y)
    if filled:
        yield room[:filled], np.concatenate(labels)


def _labelled_blocks(job: Job, shard: Shard) -> Iterator[Labelled]:
    beside = None if shard.labels is None else tables.read_labels(shard.labels)[0]
    texts = None if beside is None else np.array(beside.names, dtype=np.str_)[beside.codes]
    done = 0
    for block in job.open_shard(shard).blocks():
        rows = slice(done, done + len(block.X))
        y = np.array(list(map(normalise_name, block.labels or [])), dtype=np.str_) if texts is None else texts[rows]
        done = rows.stop
        if len(y) == len(block.X):
            yield block.X, y
    if texts is not None and len(texts) != done:
        raise ValueError(
            f"{shard.path} has {done} rows and {shard.labels} {len(texts)} labels: expected one label per row"
        )


def _match_label_type(sums: Sums, table: SignatureTable | None) -> tuple[Sums, SignatureTable | None]:
    """Labels from files are text: whole numbers, if all of them are and the names of the signatures too."""
    texts = sums.classes.tolist()
    theirs = [] if table is None else [str(label) for label in table.labels.tolist()]
    if table is None or not all(map(is_whole, [*texts, *theirs])):
        return sums, table
    mine, others = (np.array([int(plain_label(one)) for one in names]) for names in (texts, theirs))
    return sums.rename_classes(mine), replace(table, labels=others)
