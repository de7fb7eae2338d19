"""Files of samples on the page."""

import json

import numpy as np
import pandas as pd
import pytest

import zskl
from browsing import DESKTOP, FEATURES, MARKS, PHONE, axe_faults, caught, until
from zskl import TextClassifier, datasets

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_files_of_every_type_are_classified(segments, digits_file, visit, tmp_path):
    data = datasets.load("digits")
    rows = data.X[:30]
    first, second = zskl.load(digits_file).top_k(rows[:1], 2, data.signatures)[0]
    differing = int((data.signatures.loc[first] != data.signatures.loc[second]).sum())
    assert 0 < differing < 7  # a segment that both digits have, or neither, adds nothing
    files = [tmp_path / f"rows.{kind}" for kind in ("npy", "columnwise.npy", "csv", "json")]
    np.save(files[0], rows)
    np.save(files[1], np.asfortranarray(rows))
    pd.DataFrame(rows).to_csv(files[2], index=False)
    files[3].write_text(json.dumps({"rows": rows.tolist()}))
    page = visit(f"{segments}/#classify")
    page.locator(".pick .words b").first.wait_for()
    own = page.locator(".pick .words b").all_inner_texts()
    page.get_by_label("A file", exact=True).check()
    for file in files:
        page.get_by_label("A file of samples").set_input_files(file)
        expect(page.locator(".sample")).to_contain_text(f"Row 1 of {file.name}")
        expect(page.locator(".pager")).to_contain_text("1–24 of 30 rows")
        expect(page.locator(".why tbody tr:not(.balance):not(.rest)")).to_have_count(differing)
        expect(page.locator(".why tbody tr.rest")).to_contain_text("all other attributes")
        until(page, "[...document.querySelectorAll('.pick .words')].every((one) => one.textContent !== '…')")
        assert page.locator(".pick .words b").all_inner_texts() == own  # the first rows of the data are the same
        page.get_by_role("button", name="Later pictures").click()
        expect(page.locator(".pick .card")).to_have_count(6)
        expect(page.locator(".sample")).to_contain_text("Row 25")


def test_typed_texts_are_classified_and_explained(visit, tmp_path, monkeypatch):
    from services import in_thread

    kinds = ("play", "song", "eat")
    about = {"games": "something to play", "music": "a song", "food": "what we eat"}

    def count(texts):
        return np.array([[*(text.count(kind) for kind in kinds), 0.3] for text in texts], dtype=np.float32)

    monkeypatch.setattr("zskl.signatures.sentences.load_encoder", lambda name, device=None: count)
    monkeypatch.setattr("zskl.signatures.sentences.encoder_identity", lambda name: f"{name} 1")
    TextClassifier("minilm").fit(["let us play", "a new song"], ["games", "music"], about).save(tmp_path / "texts.zskl")
    with in_thread(tmp_path / "texts.zskl") as (address, _):
        page = visit(f"{address}/#classify")
        page.get_by_label("Your texts, one in each line").fill("we eat\n\nplay on, play\n")
        page.get_by_role("button", name="Classify", exact=True).click()
        expect(page.locator(".pager")).to_contain_text("1–2 of 2 texts")
        expect(page.locator(".sample")).to_contain_text("we eat")
        page.locator(".pick .card").nth(1).click()
        expect(page.locator(".reply")).to_contain_text("Why games and not")
        expect(page.locator(".reply .words li").first).to_contain_text("play")
        expect(page.locator(".reply")).to_contain_text("“let us play” (games)")
        assert page.locator(".pick .words b").all_inner_texts() == ["food", "games"]
        pytest.importorskip("axe_playwright_python")
        for size, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            assert axe_faults(page) == [], scheme
            assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_unreadable_file_is_explained(segments, visit):
    rows = pd.DataFrame(datasets.load("digits").X[:3])
    words, numbers = rows.assign(label="x").to_csv(index=False), rows.assign(label=1).to_csv(index_label="id")
    page = visit(f"{segments}/#classify")
    page.get_by_label("A file", exact=True).check()
    for name, text, fault in (
        ("x.csv", "1,2,3", "Row 1 of x.csv has 3 numbers, the model takes 64."),
        ("x.csv", "a,b\n1,2\n3,three", "Line 3 of x.csv: “three” in column “b” is not a number."),
        ("x.json", "{", "x.json is not JSON."),
        ("x.json", '{"rows": [["a"]]}', "x.json should be a list of rows"),
        ("x.npy", "no", "x.npy is not a .npy file."),
        ("x.parquet", "no", "choose a file that ends in .npy, .csv or .json."),
        ("x.csv", words, "has 65 columns, the model takes 64: drop column 65 (“label”), which has no numbers."),
        ("x.csv", numbers, "drop 2 of column 1 (“id”) to column 66 (“label”)."),
    ):
        file = {"name": name, "mimeType": "", "buffer": text.encode()}
        page.get_by_label("A file of samples").set_input_files(file)
        expect(page.locator(".drop .fault")).to_contain_text(fault)


def answered(page, name, text):
    """The answers for the rows of a file."""
    file = {"name": name, "mimeType": "", "buffer": text.encode()}
    page.evaluate("document.querySelectorAll('.pick .card').forEach((one) => one.setAttribute('data-old', ''))")
    page.get_by_label("A file of samples").set_input_files(file)
    page.locator(".pick .card:not([data-old])").first.wait_for()
    until(page, "[...document.querySelectorAll('.pick .words')].every((one) => one.textContent !== '…')")
    return page.locator(".pick .words b").all_inner_texts()


def test_late_rows_do_not_replace_a_file(machines, visit):
    address, rows = machines
    page = visit(address)
    held = []
    page.route("**/rows?*", lambda one: held.append(one))  # never answered
    page.goto(f"{address}/#classify")
    until(page, "document.querySelector('.pick [aria-busy=true]') !== null")
    caught(page, held)
    with page.expect_event("requestfailed", lambda request: "/rows?" in request.url):  # the page gives it up
        page.get_by_label("A file", exact=True).check()
    page.unroute("**/rows?*")
    right = answered(page, "a.csv", pd.read_csv(rows)[::6][FEATURES].to_csv(index=False))
    assert len(set(right)) > 2
    page.get_by_label("Loaded data").check()
    expect(page.locator(".pick .card")).to_have_count(24)


def test_csv_columns_are_matched_by_name(machines, visit):
    address, rows = machines
    table = pd.read_csv(rows)[::6]
    page = visit(f"{address}/#classify")
    page.get_by_label("A file", exact=True).check()
    expect(page.locator(".drop")).to_contain_text("found by their names")
    right = answered(page, "a.csv", table[FEATURES].to_csv(index=False))
    assert len(set(right)) > 2
    mixed = table[["id", *FEATURES[::-1], "machine"]]
    assert answered(page, "b.csv", mixed.to_csv(index=False)) == right
    expect(page.locator(".drop")).to_contain_text("Not used: “id”, “machine”")
    assert answered(page, "c.csv", table[FEATURES].to_csv(index=False, header=False, sep=";")) == right
    assert answered(page, "d.csv", table[FEATURES].set_axis(range(4), axis=1).to_csv(index=False)) == right
    refused = {
        "lacks the columns “noise_dB”, “oil, C”.": table[FEATURES[:2]].to_csv(index=False),
        "has 5 columns, the model takes 4: drop column 5, which has no numbers.": (
            table[[*FEATURES, "machine"]].to_csv(index=False, header=False)
        ),
        "has the column “rpm” twice": table[["rpm", *FEATURES]].to_csv(index=False),
        "Line 2 of e.csv: column “rpm” is empty.": ",".join(["rpm", "current_A", "noise_dB", '"oil, C"']) + "\n,1,2,3",
    }
    for fault, text in refused.items():
        file = {"name": "e.csv", "mimeType": "", "buffer": text.encode()}
        page.get_by_label("A file of samples").set_input_files(file)
        expect(page.locator(".drop .fault")).to_contain_text(fault)
        expect(page.locator(".pick .card")).to_have_count(0)  # not the answers of the file before
        expect(page.locator(".answer")).to_contain_text("Choose a row or a file")
        answered(page, "a.csv", table[FEATURES].to_csv(index=False))
