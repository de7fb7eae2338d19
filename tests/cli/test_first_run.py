"""What `make run` asks for, read from the Makefile, and how its table fits into a terminal."""

import re
import shlex
from pathlib import Path

import pytest
from rich.console import Console

from command import zskl
from records import answered
from zskl import datasets
from zskl.cli import layout, named, sweeping

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def asked():
    """The arguments of the commands of `make run`, in order."""
    recipe = re.search(r"^run:.*\n((?:\t.*\n)+)", MAKEFILE.read_text("utf-8"), re.MULTILINE)[1]
    lines = recipe.replace("\\\n", " ").splitlines()
    return [shlex.split(line.strip().removeprefix("@$(BIN)/zskl")) for line in lines]


def test_make_run_tunes_two_methods_and_leaves_two_at_their_defaults(monkeypatch):
    order, page = asked()
    found, loaded = [], []
    data = datasets.make_synthetic()
    monkeypatch.setattr(named, "load", lambda source: loaded.append(source.name) or data)
    monkeypatch.setattr(sweeping, "run_pieces", lambda pieces, *more: found.append((pieces, more)))
    done = zskl(*order)
    assert done.returncode == 0, done.stderr
    assert loaded == ["letters"]
    ((pieces, (_, folder, _)),) = found
    units = {piece.unit.method: piece.unit for piece in pieces}
    assert list(units) == ["class-means", "eszsl", "gaussian-softmax", "gaussian-ort"]
    assert [unit.tune for unit in units.values()] == [True, True, False, False]
    assert all(unit.calibrate and unit.seed == 0 for unit in units.values())
    assert (units["class-means"].shots, units["class-means"].unlabelled) == ((1, 5), ("all",))
    assert "gaussian-softmax, gaussian-ort: not tuned, at default settings, with one seed" in done.stdout
    command, runs, option, target, *_ = page
    assert (command, Path(runs), option) == ("report", folder, "-o")
    assert Path(target) == folder / "report.html"


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits_into_a_terminal(monkeypatch, capsys, width):
    taught = [{"shots": 5, "zsl": {"accuracy": 0.9}, "gzsl": {"harmonic": 0.8}, "gzsl_calibrated": {"harmonic": 0.85}}]
    adapted = [{"unlabelled": "all", "zsl": {"accuracy": 0.6, "declined": "no gain"}}]
    monkeypatch.setattr(layout, "console", Console(width=width))
    sweeping._show([answered("class-means", taught=taught, adapted=adapted), answered("gaussian-softmax")])
    lines = capsys.readouterr().out.splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith(("method", "gaussian-softmax"))]
    head, last = places[0], places[1]
    assert max(map(len, lines[: last + 2])) <= width
    assert "seeds" not in lines[head]
    assert re.search(r"^ +\d+–\d+ ", lines[last + 1])  # the interval below its figure
