"""The page as a file."""

from __future__ import annotations

import os

from zskl import files
from zskl.experiments.collect import Runs, collect
from zskl.experiments.record import Record
from zskl.report.page import page


def write(runs: Runs, out: str | os.PathLike[str] = "report.html", title: str = "Zero-shot report") -> int:
    """Write what was run as one HTML page that needs nothing else: tables, figures, their data and commands.

    Parameters
    ----------
    runs : path, Record, or sequence of these
        Run folders that `zskl run --out` wrote, .jsonl files, or records.
    out : path, default="report.html"
        The file to write. It is replaced in one step.
    title : str, default="Zero-shot report"
        The title of the page.

    Returns
    -------
    int
        The number of records on the page.

    Raises
    ------
    ValueError
        If a line is not a record, or there is no record at all.

    Examples
    --------
    >>> import tempfile, zskl
    >>> from zskl.experiments.unit import Unit
    >>> record = Unit("eszsl", 0).run(zskl.datasets.load("digits"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zskl.report.write(record, f"{folder}/report.html")
    1
    """
    files.check_target(out)
    given = [runs] if isinstance(runs, str | os.PathLike | Record) else list(runs)
    found = collect(given)
    paths = [str(run) for run in given if not isinstance(run, Record)]
    files.write_atomically(out, page(found, title, paths).encode())
    return len(found)
