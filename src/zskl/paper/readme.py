"""The leading methods of each family, for the README: between two marks in it, never written by hand."""

from __future__ import annotations

from pathlib import Path

from zskl import files as storage
from zskl.experiments import table_formats
from zskl.experiments.compare import Comparison
from zskl.paper import accuracy_tables
from zskl.paper.methods import FAMILIES
from zskl.paper.results import Problem, Results

BEGIN, END = "<!-- begin: results -->", "<!-- end: results -->"
LEADING = ("zero-shot", "calibrated H")  # the method of each family with the highest mean in one of these is shown


def text(results: Results) -> str:
    """A table for each problem."""
    parts = []
    for problem in results.measured:
        table = accuracy_tables.main(results, problem, results.methods)
        parts += [f"**{problem.name}**\n", table_formats.markdown(_leading(results, problem, table))]
    return "\n".join(parts)


def _leading(results: Results, problem: Problem, table: Comparison) -> Comparison:
    """The rows of the leading methods; which figures are in bold was decided among all."""
    names = {
        results.ranked(problem, methods, column)[0][0]
        for methods in FAMILIES.values()
        for column in LEADING
        if results.ranked(problem, methods, column)
    }
    return accuracy_tables.only(table, names)


def write(results: Results, file: Path) -> None:
    """Replace what is between the marks."""
    try:
        before, rest = file.read_text("utf-8").split(BEGIN)
        after = rest.split(END)[1]
    except (ValueError, IndexError):
        raise ValueError(f"{file} has no place for results: expected a line {BEGIN} and, after it, {END}") from None
    storage.write_atomically(file, f"{before}{BEGIN}\n\n{text(results)}\n{END}{after}".encode())
