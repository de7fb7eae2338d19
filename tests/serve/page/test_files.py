"""Files of samples on the page."""

import json
import os
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

from browsing import DESKTOP, FEATURES, MARKS, PHONE, asked, axe_faults, caught, saved, until
from zskl import datasets

# Files ----------------------------------------------------------------------------------------------------------------

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_files_of_every_kind_are_classified(segments, visit, tmp_path):
    rows = datasets.load("digits").X[:30]
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
        expect(page.locator(".why tbody tr:not(.balance)")).to_have_count(7)
        until(page, "[...document.querySelectorAll('.pick .words')].every((one) => one.textContent !== '…')")
        assert page.locator(".pick .words b").all_inner_texts() == own  # the first rows of the data are the same
        page.get_by_role("button", name="Later pictures").click()
        expect(page.locator(".pick .card")).to_have_count(6)
        expect(page.locator(".sample")).to_contain_text("Row 25")


def test_a_file_that_cannot_be_read_is_refused_with_a_reason(segments, visit):
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


def test_rows_of_the_data_that_come_late_do_not_stand_for_a_file(machines, visit):
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


def test_columns_of_a_csv_file_are_found_by_their_names(machines, visit):
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


# Saving ---------------------------------------------------------------------------------------------------------------
# Classes are saved, edited and deleted, under whatever name.

pytestmark = MARKS


HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> & "it"/../é'


def test_a_saved_class_is_found_edited_and_deleted(segments, visit):
    page = visit(segments, faults="409")
    page.get_by_label("top", exact=True).check()
    page.get_by_label("middle", exact=True).check()
    page.get_by_text("Which ones?").click()
    expect(page.locator("div.rest")).to_contain_text("upper right, lower right, bottom, lower left, upper left")
    saved(page, "dash")
    expect(page.locator(".done")).to_contain_text("Saved “dash”. 5 attributes not set: the mean is used.")
    saved(page, "dash")
    expect(page.locator("form.panel .fault")).to_contain_text("dash")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.reload()
    page.get_by_role("link", name="Classes").click()
    page.get_by_label("Kind").select_option("added")
    page.get_by_role("link", name="dash", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text("5 attributes not set")
    page.get_by_role("link", name="Edit").click()
    expect(page.locator("form.panel h3")).to_have_text("Edit the class dash")
    assert page.get_by_label("bottom", exact=True).evaluate("(one) => one.indeterminate")
    page.get_by_label("bottom", exact=True).check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".done")).to_contain_text("4 attributes not set")
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator(".detail")).to_contain_text("4 attributes not set")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more")
    page.get_by_label("Kind").select_option("added")
    expect(page.get_by_role("link", name="dash", exact=True)).to_have_count(0)


def test_a_class_that_is_edited_under_another_name_is_a_new_one(segments, visit):
    page = visit(segments)
    page.get_by_label("Start from").select_option(label="8")
    expect(page.locator(".editing")).to_be_hidden()
    saved(page, "one")
    page.get_by_role("link", name="Show it in Classes").click()
    page.get_by_role("link", name="Edit").click()
    expect(page.locator(".editing")).to_contain_text("Editing the class one.")
    button = page.locator("form.panel button")
    expect(button).to_have_text("Save")
    page.get_by_label("middle", exact=True).uncheck()
    page.get_by_label("Name", exact=True).fill("two")
    expect(button).to_have_text("Save as a new class")
    expect(page.locator("form.panel h3")).to_have_text("Save as a new class")
    expect(page.locator("form.panel")).to_contain_text("The class one stays as it is.")
    button.dblclick()
    expect(page.locator(".done")).to_contain_text("Saved “two” as a new class; “one” is unchanged.")
    expect(page.locator(".editing")).to_contain_text("Editing the class two")
    assert page.get_by_label("Start from").input_value() == "=two"
    expect(page.get_by_role("button", name="Reset all")).to_be_disabled()  # what was saved is the start
    page.get_by_role("button", name="Stop editing").click()
    expect(page.locator(".editing")).to_be_hidden()
    expect(page.locator("#describe-title")).to_be_focused()
    expect(page.locator("form.panel h3")).to_have_text("Save as a class")
    assert not page.get_by_label("middle", exact=True).is_checked()
    for name in ("one", "two"):
        page.goto(f"{segments}/#describe?{urlencode({'class': name, 'edit': 'yes'})}")
        expect(page.locator(".editing")).to_contain_text(name)
        page.goto(f"{segments}/#classes?{urlencode({'class': name})}")
        expect(page.locator("#class-title")).to_be_focused()  # the panel is new; the old one had such a button too
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("button", name="Delete", exact=True).dblclick()
        expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more")
    page.get_by_role("link", name="Describe").click()
    expect(page.locator(".editing")).to_be_hidden()  # there is nothing to replace any more


def test_names_are_text_wherever_they_are_shown(segments, visit):
    page = visit(segments)
    page.get_by_label("Start from").select_option(label="8")
    saved(page, HOSTILE)
    expect(page.locator(".done")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator("#class-title")).to_contain_text(HOSTILE)
    expect(page.locator(".gallery")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_role("link", name="Classify").click(), "/predict")
    expect(page.locator(".answer .top")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_label("Compare with").select_option(f"={HOSTILE}"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_contain_text(HOSTILE)
    assert page.locator("main script").count() == 0
    assert page.title() == "Classify · zskl"
    page.go_back()
    expect(page.locator("#class-title")).to_be_focused()
    page.get_by_role("button", name="Delete …").click()
    expect(page.locator("dialog")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".gallery")).not_to_contain_text("<img")


# Sharing --------------------------------------------------------------------------------------------------------------
# A description in words and chips, in the address, and before it is saved; at both widths, in light and dark.

pytestmark = MARKS

CUB = Path(os.environ.get("ZSKL_DATA", "")) / "cub-images"
WIDE = "document.documentElement.scrollWidth"


def test_steps_of_a_value_are_cut_in_the_middle(machines, visit):
    page = visit(machines[0])
    found = page.evaluate(
        """async () => {
          const { levelOf, stepOf, valueOf, areDegrees } = await import("./page/levels.js");
          const one = { low: 10, high: 70, binary: false };
          const words = [0, 10, 19, 21, 39, 41, 59, 61, 70, 99].map((value) => levelOf(one, value));
          const step = stepOf(one, valueOf(one, 2 / 3));
          return [words, step, stepOf(one, 11), areDegrees([one]), levelOf({ low: 1, high: 1 }, 1)];
        }"""
    )
    no, little, typical, strongly = ["no"] * 3, ["a little"] * 2, ["typical"] * 2, ["strongly"] * 3
    assert found == [[*no, *little, *typical, *strongly], "typical", None, True, "strongly"]
    expect(page.get_by_label("Show numbers")).to_be_checked()  # a speed in thousands needs its number
    page.get_by_label("Show numbers").uncheck()
    load = page.get_by_role("radiogroup", name="load", exact=True)
    asked(page, lambda: load.get_by_label("a little").check())
    expect(page.get_by_label("Change motor: load")).to_have_value("1")
    asked(page, lambda: page.get_by_label("Change motor: load").select_option("strongly"))
    expect(load.get_by_label("strongly")).to_be_checked()
    expect(page.locator(".fits .score").first).to_contain_text("motor: load – strongly")


def test_the_address_holds_what_is_described(segments, visit):
    page = visit(segments)
    asked(page, lambda: page.get_by_label("top", exact=True).check())
    until(page, "location.hash === '#describe?a=top=1'")
    asked(page, lambda: page.get_by_label("middle", exact=True).check())
    until(page, "location.hash === '#describe?a=top=1,middle=1'")
    expect(page.locator(".wins")).to_contain_text("As a class this would win")
    asked(page, page.go_back)
    expect(page.locator(".chip")).to_have_count(1)
    asked(page, page.go_forward)
    expect(page.locator(".chip")).to_have_count(2)
    page.reload()
    expect(page.get_by_label("middle", exact=True)).to_be_checked()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".share")).to_contain_text("copie")
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    until(page, "location.hash === '#describe?class=3'")
    expect(page.locator(".wins")).to_contain_text("It is all but the same as 3.")
    asked(page, lambda: page.goto(f"{segments}/#describe?a=top=1,colour=2,bottom=x"))
    told = "This link also sets what the model does not have: colour, bottom as x."
    expect(page.get_by_role("alert")).to_have_text(told)
    expect(page.locator(".chip")).to_have_count(1)
    page.get_by_label("Remove top").click()
    expect(page.locator(".kept")).to_be_hidden()
    page.locator(".welcome .card").first.wait_for()  # no empty gallery


@pytest.mark.skipif(not CUB.is_dir(), reason="no photographs of birds here: set ZSKL_DATA")
def test_a_birdwatcher_gets_from_a_sentence_to_the_species(visit, tmp_path):
    from services import in_thread
    from zskl import ClassMeansClassifier, datasets

    root = str(CUB.parent / "xlsa17")
    data = datasets.load("cub", root=root)
    ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures).save(tmp_path / "cub.zskl")
    with in_thread(tmp_path / "cub.zskl", data="cub", root=root, images=CUB) as (address, _):
        page = visit(address, color_scheme="light", reduced_motion="reduce")
        page.locator(".welcome img").first.wait_for()
        asked(page, page.get_by_role("button", name="“small black bird with a yellow head”").click)
        bird = page.locator(".fits .card").filter(has_text="Yellow-headed Blackbird")
        expect(bird).to_contain_text("new")
        expect(page.locator(".chip")).to_have_count(5)
        expect(page.locator(".said")).to_contain_text("Not among the attributes: bird.")
        expect(page.locator(".wins")).to_contain_text("photos")
        page.locator("details.group summary").filter(has_text="wing color").click()
        asked(page, page.locator(".paint").filter(has_text="white").click)  # what is still loading is paler
        expect(page.locator(".chip")).to_have_count(6)
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert axe_faults(page, None if scheme == "light" else ["color-contrast"]) == []
            page.evaluate("scrollTo(0, 900)")
            expect(page.get_by_role("button", name="Save")).to_be_in_viewport()
            expect(page.locator(".chip").first).to_be_in_viewport()
            assert page.evaluate(WIDE) == size["width"]
            page.emulate_media(color_scheme="light")
