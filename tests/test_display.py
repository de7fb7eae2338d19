"""Progress bars: in a notebook one display that moves, in a terminal a bar, elsewhere nothing."""

import io
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from small_search import TRAINING, estimator
from zskl import Dataset, ProgressBar, Record, Result, _display, selection
from zskl._display import LONGEST, Shown
from zskl.estimators.explanation import Explanation

# Progress -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(monkeypatch):
    """What a kernel has: a shell with a kernel, and displays that can be updated. No widgets."""
    shown = []

    def display(page, display_id):
        assert display_id is True
        shown.append([page])
        return SimpleNamespace(update=shown[-1].append)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display, HTML=str))
    monkeypatch.setattr(_display, "PAUSE", 0.0)
    return shown


def test_tuning_shows_bars_in_a_notebook(notebook):
    selection.tune(estimator(epochs=1), *TRAINING, {"sigma": [0.6]}, engine=None, progress=True)
    search, fit = notebook
    assert [page.partition(">")[2].partition(" ")[0] for page in (search[0], fit[0])] == ["search", "fit"]
    assert 'value="6" max="6"' in search[-1]  # two settings, the default is one of them, on three folds
    assert "taken" in search[-1]
    assert "left" in search[0]
    model = estimator(epochs=1).fit(*TRAINING, callback=ProgressBar("<fit>"))
    assert notebook[2][-1].startswith("<div>&lt;fit&gt; <progress ")
    selection.calibrate(model, *TRAINING, progress=True)
    assert len(notebook[3]) == 3
    with pytest.raises(ValueError, match="progress is 'yes': expected True or False"):
        selection.calibrate(model, *TRAINING, progress="yes")


def test_updates_in_a_notebook_are_few(notebook, monkeypatch):
    monkeypatch.setattr(_display, "PAUSE", 1e9)
    bar = ProgressBar()
    for step in range(1, 101):
        bar(step, 100)
    assert len(notebook[0]) == 2  # the first and the last


@pytest.mark.parametrize("terminal", [True, False])
def test_outside_of_a_notebook_only_a_terminal_gets_a_bar(terminal, monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda stderr: Console(file=file, force_terminal=terminal))
    bar = ProgressBar("search")
    for step in range(3):
        bar(step, 2)
    bar(3, 4)  # a grid that was extended
    bar(4, 4)
    bar(1, 4)  # and then something fails
    bar.close()
    hidden, there = (file.getvalue().rfind(f"\x1b[?25{how}") for how in "lh")
    assert there > hidden or not terminal  # the cursor is there again
    assert ("search" in file.getvalue()) is terminal
    if not terminal:
        assert file.getvalue() == ""


# Table ----------------------------------------------------------------------------------------------------------------
# Tables that objects show: names that a stranger chose stay text, and nothing is fetched from elsewhere.

EVIL = '<script>alert("1")</script>'


class Reader(HTMLParser):
    """Tags and the text between them."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


def dataset():
    table = pd.DataFrame({EVIL: [0.0, 1.0, 0.5], "b": [1.0, 0.0, 0.5]}, index=["owl", "cat", EVIL])
    parts = {"trainval": [0, 1], "test_seen": [2], "test_unseen": [3]}
    return Dataset(EVIL, np.eye(4), ["owl", "cat", "cat", EVIL], table, parts)


def explanation():
    one, zero = np.array([0.5, -0.2]), np.zeros(2)
    return Explanation(EVIL, "owl", 0.3, 0.1, one, (EVIL, "b"), one, zero, shown=1, terms={EVIL: 0.0})


def record():
    line = {"dataset": EVIL, "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {"harmonic": 0.25}}
    taught = [{"shots": 5, "zsl": {"accuracy": 0.75}, "gzsl": {}}]
    return Record.from_json({**line, "settings": {"a": EVIL}, "taught": taught, "seconds": {"fit": 2.0}})


RESULT = Result("zsl", accuracy=0.5, per_class={EVIL: 0.25, "owl": 0.75}, left_out=(EVIL,), declined=EVIL, shots=1)
SHOWN = {"dataset": dataset, "result": lambda: RESULT, "explanation": explanation, "record": record}


@pytest.mark.parametrize("kind", SHOWN)
def test_names_are_escaped_and_nothing_is_fetched(kind):
    found = read(SHOWN[kind]()._repr_html_())
    assert found.tags <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.attributes <= {"style"}
    assert EVIL in found.text


@pytest.mark.parametrize("kind", SHOWN)
def test_in_a_list_an_object_is_one_line(kind):
    assert "\n" not in repr(SHOWN[kind]())
    assert len(repr(SHOWN[kind]())) < 200


def test_a_result_shows_its_figures_and_the_hardest_classes():
    assert repr(RESULT) == "Result('zsl', accuracy 50.0 %, 2 classes)"
    lines = str(RESULT).splitlines()
    assert lines[0] == "Zero-shot: unseen classes alone, after 1 example of each unseen class"
    assert lines[1].split() == ["accuracy", "50.0", "%"]
    assert lines[2].endswith(" 25.0 %")  # the class of lowest accuracy first
    assert lines[-1].startswith("did not adapt")
    gzsl = Result("gzsl", unseen=0.2, seen=0.8, harmonic=0.32, calibration=0.1, unlabelled="all")
    assert repr(gzsl) == "Result('gzsl', unseen 20.0 %, seen 80.0 %, H 32.0 %, 0 classes)"
    assert "constant" in str(gzsl)
    assert "after unlabelled rows (all)" in str(gzsl)


def test_a_record_says_what_was_run_and_what_it_found():
    lines = [line.split("  ") for line in str(record()).splitlines()]
    cells = {line[1]: line[-1].strip() for line in lines[1:]}
    assert cells["zero-shot"] == "50.0 %"
    assert cells["H"] == "25.0 %"
    assert cells["zero-shot, 5 shots"] == "75.0 %"
    assert cells["settings"].startswith("default, with a=")
    assert cells["training"] == "2.0 s"


def test_text_is_aligned_short_and_cannot_move_the_cursor():
    table = Shown(
        "t", ("name", "value"), (("a", "1.5 ± 0.1 %"), ("b" * 99, "12.5 %"), ("c\x1b[2J\nd", "−1")), ("note",)
    )
    title, head, *rows, note = table.text().split("\n")
    assert (title, note) == ("t", "note")
    assert len({len(row) for row in rows}) == 1  # numbers end where numbers end
    assert len(head) == len(rows[0])
    assert "…" in rows[1]
    assert len(rows[1].split()[0]) == LONGEST
    assert rows[2].split() == ["c�[2J", "d", "−1"]
    assert Shown("empty", ("a",), ()).text() == "empty"
