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
    "‖": r"$\|$",
    "ᵀ": r"$^\top$",
    "−": "$-$",
    "²": "$^2$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}

_SPECIAL = re.compile("[" + re.escape("".join(_LATEX)) + "]")


def cell(figure: Figure | None, between: str = "±") -> str:
    """ "59.6±0.3"; one seed has no deviation, and no figure is empty text."""
    if figure is None:
        return ""
    spread = "" if figure.deviation is None else f"{between}{figure.deviation:.{figure.digits}f}"
    return f"{figure.mean:.{figure.digits}f}{spread}{figure.mark}"


def markdown(table: Comparison) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|")

    def figure(one: Figure | None) -> str:
        text = cell(one, " ± ")
        return f"**{text}**" if one is not None and one.best else text

    lines = [[*table.labels, "seeds", *table.figures]]
    lines.append(["---"] * len(table.labels) + ["---:"] * (len(table.figures) + 1))
    for row in table.rows:
        figures = [figure(row.figures.get(name)) for name in table.figures]
        lines.append([*(escape(text) for text in _labels(table, row)), str(row.seeds), *figures])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def comma_separated(table: Comparison) -> str:
    """Plain numbers: a column for each mean and each standard deviation, accuracies in per cent."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*table.labels, "seeds", *(f"{name} {kind}" for name in table.figures for kind in ("mean", "std"))])
    for row in table.rows:
        numbers: list[str] = []
        for name in table.figures:
            figure = row.figures.get(name)
            pair = (None, None) if figure is None else (figure.mean, figure.deviation)
            numbers += ["" if number is None else f"{number:.4f}" for number in pair]
        writer.writerow([*_labels(table, row), row.seeds, *numbers])
    return file.getvalue()


def latex(table: Comparison) -> str:
    """A tabular that needs no package."""

    def escape(text: str) -> str:
        return re.sub(_SPECIAL, lambda found: _LATEX[found[0]], text)

    def figure(one: Figure | None) -> str:
        text = cell(one, r" $\pm$ ").replace("†", _LATEX["†"])
        return f"\\textbf{{{text}}}" if one is not None and one.best else text

    def line(cells: list[str]) -> str:
        return " & ".join(cells) + r" \\" + "\n"

    columns = "l" * len(table.labels) + "r" * (len(table.figures) + 1)
    head = line([escape(name) for name in (*table.labels, "seeds", *table.figures)])
    body = "".join(
        line([*map(escape, _labels(table, row)), str(row.seeds), *(figure(row.figures.get(n)) for n in table.figures)])
        for row in table.rows
    )
    return f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{head}\\hline\n{body}\\hline\n\\end{{tabular}}\n"


def _labels(table: Comparison, row: Row) -> list[str]:
    return [row.labels[name] for name in table.labels]


FORMATS: Mapping[str, Callable[[Comparison], str]] = {"markdown": markdown, "csv": comma_separated, "latex": latex}
