"""A comparison as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping

from zskl.experiments.compare import Comparison, Figure, Row

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "↓": r"$\downarrow$",
    "‖": r"$\|$",
    "ᵀ": r"$^\top$",
    "−": "$-$",
    "²": "$^2$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}

KINDS = ("mean", "low", "high", "std")  # columns of a figure in CSV
_SPECIAL = re.compile("[" + re.escape("".join(_LATEX)) + "]")


def cell(figure: Figure | None, between: str = "±") -> str:
    """ "59.6 [56.1, 63.0]"; without an interval "59.6±0.3", or "59.6" for one seed. Empty for no figure."""
    if figure is None:
        return ""

    def text(number: float) -> str:
        shown = f"{number:.{figure.digits}f}"
        return shown if float(shown) else shown.removeprefix("-")

    if figure.low is not None and figure.high is not None:
        spread = f" [{text(figure.low)}, {text(figure.high)}]"
    else:
        spread = "" if figure.deviation is None else f"{between}{text(figure.deviation)}"
    return f"{text(figure.mean)}{spread}{figure.mark}"


def seeds(row: Row) -> str:
    """How many, where something is random."""
    return "" if row.seeds is None else str(row.seeds)


def markdown(table: Comparison) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|")

    def figure(one: Figure | None) -> str:
        text = cell(one, " ± ")
        return f"**{text}**" if one is not None and one.best else text

    lines = [[*table.labels, *_counted(table), *table.figures]]
    lines.append(["---"] * len(table.labels) + ["---:"] * (len(lines[0]) - len(table.labels)))
    for row in table.rows:
        figures = [figure(row.figures.get(name)) for name in table.figures]
        count = [seeds(row) for _ in _counted(table)]
        lines.append([*(escape(text) for text in _labels(table, row)), *count, *figures])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def comma_separated(table: Comparison) -> str:
    """Plain numbers, accuracies in per cent: for each figure mean, both ends of the interval, deviation over seeds."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*table.labels, "seeds", *(f"{name} {kind}" for name in table.figures for kind in KINDS)])
    for row in table.rows:
        numbers: list[str] = []
        for name in table.figures:
            figure = row.figures.get(name)
            found = figure and (figure.mean, figure.low, figure.high, figure.deviation)
            numbers += ["" if number is None else f"{number:.4f}" for number in found or [None] * len(KINDS)]
        writer.writerow([*_labels(table, row), seeds(row), *numbers])
    return file.getvalue()


def latex(table: Comparison) -> str:
    """A tabular that needs no package."""

    def escape(text: str) -> str:
        return re.sub(_SPECIAL, lambda found: _LATEX[found[0]], text)

    def figure(one: Figure | None) -> str:
        text = escape(cell(one, " ± "))
        return f"\\textbf{{{text}}}" if one is not None and one.best else text

    def line(cells: list[str]) -> str:
        return " & ".join(cells) + r" \\" + "\n"

    count = _counted(table)
    columns = "l" * len(table.labels) + "r" * (len(table.figures) + len(count))
    head = line([escape(name) for name in (*table.labels, *count, *table.figures)])
    body = "".join(
        line(
            [
                *map(escape, _labels(table, row)),
                *(seeds(row) for _ in count),
                *(figure(row.figures.get(name)) for name in table.figures),
            ]
        )
        for row in table.rows
    )
    return f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{head}\\hline\n{body}\\hline\n\\end{{tabular}}\n"


def _counted(table: Comparison) -> list[str]:
    """The column of seeds, where any row has them."""
    return ["seeds"] if any(row.seeds is not None for row in table.rows) else []


def _labels(table: Comparison, row: Row) -> list[str]:
    return [row.labels[name] for name in table.labels]


FORMATS: Mapping[str, Callable[[Comparison], str]] = {"markdown": markdown, "csv": comma_separated, "latex": latex}
