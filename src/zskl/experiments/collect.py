"""Run folders and files → their records, each run once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from zskl.experiments import run_folder
from zskl.experiments.record import Record

Place: TypeAlias = str | os.PathLike[str]
Runs: TypeAlias = Place | Record | Iterable[Place | Record]


def collect(runs: Runs) -> list[Record]:
    """Read the records of run folders and files.

    Parameters
    ----------
    runs : path, Record, or sequence of these
        Run folders that `zskl run --out` wrote, .jsonl files, or records, which stay as they are.

    Returns
    -------
    list of Record
        One for each finished run. Where the same run was recorded more than once, the last record counts.

    Raises
    ------
    ValueError
        If a line is not a record.

    Examples
    --------
    >>> import zskl
    >>> line = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}
    >>> [record.method for record in zskl.collect(zskl.Record.from_json(line))]
    ['eszsl']
    """
    found: dict[object, Record] = {}
    given = [runs] if isinstance(runs, str | os.PathLike | Record) else list(runs)
    for place, run in enumerate(given):
        for key, record in [(place, run)] if isinstance(run, Record) else _read(Path(run)):
            found.pop(key, None)
            found[key] = record
    if not found:
        where = f" in {', '.join(map(str, given))}" if given else ""
        raise ValueError(f"no record{where}: no unit has finished yet; run zskl run first")
    return list(found.values())


def _read(path: Path) -> Iterator[tuple[object, Record]]:
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise FileNotFoundError(
            f"no records at {path}: expected a folder that zskl run --out wrote, or a .jsonl file; check the path"
        )
    for file in files:
        for number, record in enumerate(run_folder.read(file, Record.from_json), start=1):
            yield record.key or (file, number), record
