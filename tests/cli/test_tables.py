"""Tables on narrow terminals: no word and no number is cut, and nothing is wider than the terminal."""

import re

import pytest
from rich import box
from rich.table import Table

from command import zskl
from records import answered
from zskl.cli import _terminal, runs
from zskl.experiments.compare import compare

WIDTH = 40


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def test_rows_become_blocks_where_columns_do_not_fit(narrow, capsys):
    table = Table("class", "rows", "accuracy", "what it is", box=box.SIMPLE)
    table.add_row("[b]long-billed-curlew[/b]", "1234567", "98.7654 ± 0.1234", "a bird that has a very long bill")
    _terminal.show_table(table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == [
        "",
        "long-billed-curlew",
        "  rows        1234567",
        "  accuracy    98.7654 ± 0.1234",
        "  what it is  a bird that has a very",
        "              long bill",
    ]


def test_columns_that_fit_stay_side_by_side(narrow, capsys):
    table = Table("part", "rows", box=box.SIMPLE)
    table.add_row("trainval", "1002")
    _terminal.show_table(table)
    assert re.search(r"trainval +1002", capsys.readouterr().out)


def numbers(text):
    return sorted(re.findall(r"\d+(?:\.\d+)?", text))


@pytest.mark.parametrize("which", ["run", "compare", "differences"])
def test_figures_are_whole_at_40_columns(narrow, monkeypatch, capsys, which):
    records = [answered("class-means"), answered("gaussian-softmax", seed=1)]

    def shown():
        if which == "run":
            runs.show_results(records)
        else:
            _terminal.show_table(_terminal.draw_comparison(compare(records, differences=which == "differences")))
        return capsys.readouterr().out

    found = shown()
    table = found[found.index("class-means") :]
    monkeypatch.setenv("COLUMNS", "200")
    wide = shown()
    assert numbers(found) == numbers(wide)
    assert "…" not in table
    if which != "run":  # sentences are broken by the terminal itself
        assert max(map(len, found.splitlines())) <= WIDTH


def test_every_table_of_a_command_fits(here, narrow, monkeypatch):
    commands = (("methods",), ("methods", "gaussian-ort"), ("data", "check", "digits"))
    for arguments in commands:
        wide = zskl(*arguments).stdout
        with monkeypatch.context() as patch:
            patch.setattr("command.COLUMNS", WIDTH)
            found = zskl(*arguments).stdout
        assert numbers(found) == numbers(wide), arguments
        tables_alone = [line for line in found.splitlines() if not line.startswith(("digits:", "rows per", "note:"))]
        assert max(map(len, tables_alone)) <= WIDTH, arguments
        assert "…" not in found.replace(" … ", "")


@pytest.mark.parametrize("width", [80, 100])
def test_table_of_a_run_fits_into_a_terminal(monkeypatch, capsys, width):
    taught = [{"shots": 5, "zsl": {"accuracy": 0.9}, "gzsl": {"harmonic": 0.8}, "gzsl_calibrated": {"harmonic": 0.85}}]
    adapted = [{"unlabelled": "all", "zsl": {"accuracy": 0.6, "declined": "no gain"}}]
    monkeypatch.setenv("COLUMNS", str(width))
    runs.show_results([answered("class-means", taught=taught, adapted=adapted), answered("gaussian-softmax")])
    lines = capsys.readouterr().out.splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith(("method", "gaussian-softmax"))]
    head, last = places[0], places[1]
    assert max(map(len, lines[: last + 2])) <= width
    assert "seeds" not in lines[head]
    assert re.search(r"^ +\d+–\d+ ", lines[last + 1])  # the interval below its figure
