"""What a page is made of: figures and tables, each with its data as CSV and the command behind it; sections of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from zskl.report.svg import element, escape, readable


@dataclass(frozen=True)
class Cell:
    """Words, and the number that they are sorted by where there is one."""

    text: str
    value: float | None = None
    best: bool = False

    def html(self) -> str:
        inside = escape(self.text)
        kind = {} if self.value is None else {"data_value": repr(self.value), "class_": "number"}
        return element("td", element("b", inside) if self.best else inside, **kind)


@dataclass(frozen=True)
class Table:
    """Sorted by a click on a header; `name` is its address in the page."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    data: str | None = None  # CSV in place of the cells

    def html(self) -> str:
        numeric = [any(row[k].value is not None for row in self.rows) for k in range(len(self.columns))]
        heads = "".join(
            element("th", element("button", escape(column), type="button"), **_head(number))
            for column, number in zip(self.columns, numeric, strict=True)
        )
        body = "".join(element("tr", *(cell.html() for cell in row)) for row in self.rows)
        inside = element("thead", element("tr", heads)) + element("tbody", body)
        plain = [[_value(cell) for cell in row] for row in self.rows]
        data = csv_text(self.columns, plain) if self.data is None else self.data
        return element(
            "div",
            element("h3", escape(self.title)),
            element("div", element("table", inside, class_="sortable", id=self.name), class_="box", tabindex=0),
            _paragraph(self.note),
            download(self.name, data),
            class_="table",
        )


@dataclass(frozen=True)
class Figure:
    """A drawing, what it says, the numbers behind it, and the command that made them."""

    name: str
    title: str
    svg: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    command: str

    def html(self) -> str:
        caption = element("b", escape(self.title)) + ". " + escape(self.note)
        return element(
            "figure",
            self.svg,
            element("figcaption", caption),
            element("pre", element("code", escape(self.command)), tabindex=0),
            download(self.name, csv_text(self.columns, self.rows)),
            id=self.name,
        )


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    pieces: Sequence[Figure | Table]
    words: Sequence[str] = field(default_factory=tuple)
    commands: Sequence[str] = field(default_factory=tuple)

    def html(self) -> str:
        tables = "".join(piece.html() for piece in self.pieces if isinstance(piece, Table))
        figures = "".join(piece.html() for piece in self.pieces if isinstance(piece, Figure))
        return element(
            "section",
            element("h2", escape(self.title)),
            *(_paragraph(words) for words in self.words),
            element("div", figures, class_="figures") if figures else "",
            tables,
            command_lines(self.commands),
            id=self.name,
        )


def command_lines(commands: Sequence[str]) -> str:
    if not commands:
        return ""
    lines = escape("\n".join(commands))
    return element("p", "Made by", class_="quiet") + element("pre", element("code", lines), tabindex=0)


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue()


def download(name: str, data: str) -> str:
    """The data in the page itself, as a link that saves them."""
    address = "data:text/csv;charset=utf-8," + quote(readable(data), safe=",. -:;=()'/")
    return element("p", element("a", f"{escape(name)}.csv", href=address, download=f"{name}.csv"), class_="data")


def slug(*words: str) -> str:
    """Words as an address: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-") or "x"


def _head(number: bool) -> dict[str, object]:
    return {"scope": "col", **({"class_": "number"} if number else {})}


def _paragraph(words: str) -> str:
    return element("p", escape(words)) if words else ""


def _value(cell: Cell) -> object:
    return cell.text if cell.value is None else cell.value
