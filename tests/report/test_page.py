"""The report: one page from records, whole, escaped, and equal in numbers to the comparison."""

import csv
import io
import json
import re
from importlib import import_module, resources
from urllib.parse import unquote

import numpy as np
import pytest
from typer.testing import CliRunner

from records import EVIL, Page, answered, drawings, full, page_of, plain, rights
from zskl import datasets, metrics
from zskl.cli import app
from zskl.experiments import compare, run_folder
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit
from zskl.plots import _style
from zskl.plots._base import Display
from zskl.report import page


@pytest.fixture(scope="module")
def digits_records():
    """Two seeds of a kernel method and a closed form, as JSON gives them back."""
    data = datasets.load("digits")
    units = [Unit("gaussian", seed, {"epochs": 1}, calibrate=True) for seed in (0, 1)] + [Unit("eszsl", 0, {})]
    return [json.loads(run_folder.to_line(unit.run(data).to_json())) for unit in units]


@pytest.fixture(scope="module")
def digits_text(digits_records):
    """Their page."""
    return page_of(digits_records)


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def data_of(page, name):
    """The CSV that a link named so saves."""
    (link,) = [one for one in page.all("a") if one.get("download") == f"{name}.csv"]
    return list(csv.reader(io.StringIO(unquote(link["href"].removeprefix("data:text/csv;charset=utf-8,")))))


def test_numbers_are_those_of_the_comparison(digits_records, digits_text):
    table = compare.compare([Record.from_json(line) for line in digits_records])
    page = Page(digits_text)
    shown = {"zero-shot": ["zero-shot"], "generalised": ["unseen", "seen", "H", "calibrated H", "area"]}
    for name, figures in shown.items():
        head, *rows = page.tables[name]
        assert head == [
            *("settings are" if one == "chosen by" else one for one in table.labels),
            "seeds",
            *(f"{figure} (%)" for figure in figures),
        ]
        column = "calibrated H" if "calibrated H" in table.figures else "H"
        infinite = float("-inf")
        ordered = sorted(  # the best first
            table.rows, key=lambda row: -row.figures[column].mean if column in row.figures else -infinite
        )
        for row, cells in zip(ordered, rows, strict=True):
            said = {"folds, constant only": "default, calibrated", "defaults": "default"}
            labels = [row.labels[label] for label in table.labels]
            assert cells[: len(table.labels)] == [said.get(label, label) for label in labels]
            numbers = [compare.format_cell(row.figures.get(figure), " ± ") for figure in figures]
            assert [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in cells[-len(figures) :]] == numbers
    saved = data_of(page, "zero-shot")
    assert [float(row[-4]) for row in saved[1:]] == pytest.approx(
        [row.figures["zero-shot"].mean for row in table.rows], abs=1e-4
    )


def test_the_best_is_bold():
    good, near, bad = (answered(name, unseen=rights(share)) for name, share in (("a", 0.9), ("b", 0.88), ("c", 0.1)))
    text = page([good, bad])
    assert re.findall(r"<b>([\d.]+) \[", text)[0] == f"{100 * good.zsl.accuracy:.1f}"
    assert "it leads c by " in Page(text).text
    assert Page(text).tables["differences"][1][-1].startswith("0.0 ")
    assert "it cannot be told apart from b; lowest is c with" in Page(page([good, near, bad])).text
    old = page_of([plain(accuracy=0.5), plain(method="eszsl", accuracy=0.7)])
    assert "without answers of rows it cannot be said whether by chance" in Page(old).text


def test_a_real_page_has_every_figure_with_words_data_and_command(digits_records, digits_text):
    text, page = digits_text, Page(digits_text)
    names = {one["id"] for one in page.all("figure")}
    wanted = {"curves", "confidence-gzsl", "convergence"} | set(of_method := ("classes", "confusion", "confusion-all"))
    every = {f"{name}-p1" for name in wanted} | {f"{name}-p1-2" for name in of_method} | {"gram-p1", "gram-p1-2"}
    assert names - {"confidence-zsl-p1"} == every  # of both methods
    words = [one.text for picture in drawings(text) for one in picture.iter("text")]
    assert words.count("upper left") == 4  # on both sides of both Gram matrices
    assert len(page.all("svg")) == len(names) == len(drawings(text))
    for picture in drawings(text):
        assert picture.attrib["role"] == "img"
        assert picture.find("title").text
        assert len(picture.find("desc").text) > 20
        assert picture.attrib["aria-label"].startswith(picture.find("title").text)
    for name in names:
        assert len(data_of(page, name)) > 1
    assert text.count("<pre") == 3  # of each method, and of the whole page
    assert "zskl run digits --method gaussian --set epochs=1 --calibrate --seeds 2 --out runs" in page.text
    assert "no published figures" in page.text
    curve = digits_records[0]["gzsl"]["curve"]
    mine = [row for row in data_of(page, "curves-p1") if row[:3] == ["gaussian", "0", "plain curve"]]
    assert [float(row[4]) for row in mine] == curve["seen"]


def test_records_of_everything_draw_everything():
    found = [full(seed=seed, accuracy=0.5 + seed / 100) for seed in (0, 1)] + [full(method="eszsl", accuracy=0.6)]
    text = page_of(found)
    page = Page(text)
    names = {one["id"] for one in page.all("figure")}
    shared = {f"{name}-p1" for name in ("curves", "convergence", "confidence-zsl", "confidence-gzsl")}
    of_method = ("classes", "confusion", "gram", "grid-zsl", "grid-gzsl")
    assert names == shared | {f"{name}-{place}" for name in of_method for place in ("p1", "p1-2")}
    folds = page.all("details")
    assert [(one["id"], "open" in one) for one in folds] == [("method-p1", True), ("method-p1-2", False)]
    assert set(page.tables) == {
        *("zero-shot", "generalised", "choices-p1", "attributes-p1", "attributes-p1-2", "ece-p1", "times", "sources")
    }
    assert len(page.tables["choices-p1"]) == 1 + 2 * len(found)
    assert page.tables["choices-p1"][1][-1] == "epochs 10 not extended"
    assert "eszsl has the highest calibrated H of 66.0 %, up from 40.0 % without calibration" in page.text
    assert "Over 2 methods the effect of calibration on H goes from +21.9 (" in page.text
    assert "abcdef0123456789" in [cell for row in page.tables["sources"] for cell in row]


def test_strings_of_records_are_escaped():
    found = [
        full(dataset=EVIL, method=EVIL, fingerprint=EVIL, finished=EVIL, versions={EVIL: EVIL}),
        full(classes=("a\x00b", "\ud800", "=1")),
    ]
    text = page_of(found, title=EVIL, runs=[EVIL])
    assert text.count("<script") == 1
    assert "<b>&quot;" not in text
    assert '<b>"' not in text
    page = Page(text)
    assert EVIL in page.text
    assert len(drawings(text)) > 8  # each is XML
    assert not re.search("[\x00-\x08]", text)
    text.encode()


def test_the_page_knows_every_colour_of_the_figures():
    sheet = resources.files("zskl.report").joinpath("page.css").read_text("utf-8")
    for colour in (*_style.COLOURS, _style.QUIET, _style.RULE, _style.PAPER, _style.PLUS, _style.MINUS):
        assert f'svg [fill="{colour}"]' in sheet
        assert f'svg [stroke="{colour}"]' in sheet


def test_a_planted_lack_of_escaping_is_found(monkeypatch):
    module = import_module("zskl.report.page")
    monkeypatch.setattr(_style, "to_svg", lambda *given, **named: "<svg></svg>")
    test_strings_of_records_are_escaped()
    monkeypatch.setattr(
        module, "_load_template", lambda: module._make_page_environment(escape=False).get_template("page.html")
    )
    with pytest.raises(AssertionError):
        test_strings_of_records_are_escaped()


@pytest.mark.parametrize("found", [[plain()], [plain(), full()], [full(tune={}), full(seed=1, probabilities={})]])
def test_missing_fields_leave_their_figures_out(found):
    page = Page(page_of(found))
    assert {"zero-shot", "generalised"} <= set(page.tables)


def places(value, above=()):
    """The path of every field, however deep."""
    for key in value if isinstance(value, dict) else ():
        yield (*above, key)
        yield from places(value[key], (*above, key))


def test_any_one_field_may_be_missing_or_null(monkeypatch):
    """What is read and said of each record; drawing it hundreds of times would take minutes."""
    monkeypatch.setattr(Display, "plot", lambda self, ax=None: self)
    monkeypatch.setattr(Display, "figure_", None, raising=False)
    monkeypatch.setattr(
        _style, "to_svg", lambda figure, title, description, inline: f"<svg><desc>{description}</desc></svg>"
    )
    needed = {("dataset",), ("method",), ("seed",), ("zsl",), ("gzsl",)}
    names = ("ant", "bee", "cow")
    for *above, last in set(places(full(classes=names))) - needed:
        for absent in (True, False):
            record = full(classes=names)
            inner = record
            for key in above:
                inner = inner[key]
            if absent:
                del inner[last]
            else:
                inner[last] = None
            text = page_of([record])
            assert "None" not in Page(text).text, (*above, last)
            if absent and not above:
                page_of([record, full(seed=1)])


def test_nothing_is_loaded_from_outside(digits_records):
    text = page_of([digits_records[0], full()])
    page = Page(text)
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert re.match(r"#|data:text/csv", attributes.get("href", "#"))
    assert not re.search(r"https?://|@import|url\((?!#)|fetch\(", text)
    policy = page.all("meta")[1]["content"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not {"link", "iframe", "img", "object"} & {name for name, _ in page.elements}


def test_features_decide_what_is_comparable():
    def said(features, dataset="CUB"):
        return Page(page_of([plain(dataset=dataset, features=features)])).text

    assert "not comparable" in said("efficientnet_lite2")
    assert "those that published figures were measured on" in said("res101")
    assert "not comparable" not in said("", "mine")


def test_many_classes_show_the_worst_and_the_best():
    names = [f"class {k}" for k in range(50)]
    text = page_of([full(classes=names)])
    words = [one.text for picture in drawings(text) for one in picture.iter("text")]
    assert "… 30 classes between …" in words
    assert {"class 0", "class 49"} <= set(words)
    assert "class 25" not in words
    assert len(data_of(Page(text), "classes-p1")) == 51


def test_more_methods_than_colours(monkeypatch):
    monkeypatch.setattr(import_module("zskl.report.page"), "METHODS", 1)  # of the others only the lines are drawn
    methods = ["gaussian", "gaussian-ort", "cauchy", "cauchy-ort", "eszsl", "sae", "dap", "iap", "conse"]
    text = page_of([full(method=name, accuracy=0.3 + k / 20) for k, name in enumerate(methods)])
    (curves,) = [one for one in drawings(text) if one.find("title").text.startswith("Seen–unseen")]
    lines = {(one.get("stroke"), one.get("stroke-dasharray")) for one in curves.iter("path")}
    assert {colour for colour, _ in lines} >= set(_style.COLOURS[:6])
    assert len({dashes for _, dashes in lines}) == 6
    assert "The 6 methods of highest H are drawn" in text
    assert "of the 1 methods of highest" in text


def test_no_records_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no record to report on"):
        page_of([])
    (tmp_path / "records.jsonl").write_text("")
    outcome = run(tmp_path, "-o", tmp_path / "report.html")
    assert isinstance(outcome.exception, ValueError)
    assert "no unit has finished yet" in str(outcome.exception)
    assert not (tmp_path / "report.html").exists()


def test_the_command_writes_the_page(tmp_path):
    run_folder.write_lines(tmp_path / "records.jsonl", [plain()])
    outcome = run(tmp_path, "-o", tmp_path / "page.html", "--title", "Ours & theirs")
    assert outcome.exit_code == 0
    assert (outcome.stdout, outcome.stderr) == (
        "",
        f"note: 1 record, as a page to open in a browser: {tmp_path / 'page.html'}\n",
    )
    assert "<title>Ours &amp; theirs</title>" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("target", ["records.jsonl", "none/report.html", ""])
def test_a_bad_output_path_is_refused_before_reading(tmp_path, target, monkeypatch):
    run_folder.write_lines(tmp_path / "records.jsonl", [plain()])
    monkeypatch.setattr(compare, "collect", lambda runs: pytest.fail("work was done"))
    assert "cannot write" in str(run(tmp_path, "-o", tmp_path / target).exception)


def test_wrong_answers_by_hand():
    true, predicted = np.array(list("aaaabbc")), np.array(list("abbcbbb"))
    assert metrics.wrong_answers(true, predicted) == {"a": (("b", 0.5), ("c", 0.25)), "b": (), "c": (("b", 1.0),)}
    assert metrics.wrong_answers(true, predicted, most=1)["a"] == (("b", 0.5),)


def test_records_keep_little_of_a_model_and_that_exactly(digits_records):
    record, closed = digits_records[0], digits_records[-1]
    gram = np.array(record["gram"])
    assert gram.shape == (7, 7)
    np.testing.assert_allclose(np.diag(gram), 1, rtol=1e-3)
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=0)
    steps = record["convergence"]["step"]
    assert len(steps) <= 200
    assert steps == sorted(steps)
    assert "convergence" not in closed
    assert set(record["attributes"]) == {"3", "4", "6"}
    assert {name for name, _ in record["attributes"]["3"]} < set(datasets.load("digits").attribute_names)
    for name, wrong in record["zsl"]["mistaken"].items():  # three classes: all answers are there
        assert sum(share for _, share in wrong) + record["zsl"]["per_class"][name] == pytest.approx(1, abs=1e-3)
    extra = {key: record[key] for key in ("gram", "convergence", "attributes")}
    assert len(json.dumps(extra)) < 6000
