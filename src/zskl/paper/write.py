"""Files: each table as Markdown, CSV and LaTeX, each figure as SVG and PNG, the claims, the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zskl import files as storage
from zskl.experiments import table_formats
from zskl.paper import (
    accuracy_tables,
    changes,
    choices_table,
    claims,
    convergence,
    gram,
    results_page,
    sensitivity,
    wall_times,
)
from zskl.paper import readme as leading
from zskl.paper.claims import Verdict
from zskl.paper.results import Output, Results
from zskl.report.contents import csv_text

MAKERS: Mapping[str, Callable[[Results], list[Output]]] = {
    "zsl": accuracy_tables.zero_shot,
    "gzsl": accuracy_tables.generalised,
    "incoherence": accuracy_tables.incoherence,
    "gram": gram.outputs,
    "sensitivity": sensitivity.outputs,
    "convergence": convergence.outputs,
}
ENDINGS = {"markdown": "md", "csv": "csv", "latex": "tex"}
CASES = ("claim", "case", "holds", "figures")


@dataclass(frozen=True)
class Written:
    """What was written, and how the claims fared."""

    files: Sequence[Path]
    verdicts: Sequence[Verdict]


def outputs(results: Results, parts: Sequence[str]) -> list[Output]:
    """The tables and figures of the parts; what validation chose comes with both protocols."""
    made = [output for part in parts for output in MAKERS[part](results)]
    return [*made, *choices_table.outputs(results)] if {"zsl", "gzsl"} & set(parts) else made


def write(
    results: Results, parts: Sequence[str], out: Path, docs: Path | None = None, readme: Path | None = None
) -> Written:
    """Everything under `out`; the page and its figures also under `docs`, the leading methods also in the file
    `readme`. Files of before are replaced."""
    made = outputs(results, parts)
    verdicts = claims.judge(results)
    files = []
    for output in made:
        for name, ending in ENDINGS.items():
            files.append(
                _write(out / "tables" / f"{output.name}.{ending}", table_formats.FORMATS[name](output.table).encode())
            )
    rows = [(one.claim, one.where, one.answer, one.figure) for one in verdicts]
    files.append(_write(out / "tables" / "claims.csv", csv_text(CASES, rows).encode()))
    files.append(_write(out / "tables" / "claims.md", results_page.table(CASES, rows).encode()))
    pictures = []
    drawn = {name: figure for output in made for name, figure in output.figures.items()}
    for name, figure in drawn.items():
        pictures.append(_write(out / "figures" / f"{name}.svg", figure.svg().encode()))
        pictures.append(_write(out / "figures" / f"{name}.png", figure.png()))
    page = results_page.page(results, made, verdicts, changes.compared(results, out), wall_times.extrapolated(out))
    text = _write(out / "results.md", page.encode())
    if readme is not None:
        leading.write(results, readme)
    if docs is not None:
        (docs / "figures").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(text, docs / "results.md")
        for picture in pictures:
            shutil.copyfile(picture, docs / "figures" / picture.name)
    return Written([*files, *pictures, text], verdicts)


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    storage.write_atomically(path, content)
    return path
