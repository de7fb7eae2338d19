"""The page of the service in a real browser: what a person does on it, with a mouse, a keyboard and on a phone."""

import json
import re
from importlib import resources
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

from browsing import BROWSER, DESKTOP, LIMIT, PHONE, THREE, browser, describe, new_page, served, until
from zskl import ZeroShotKernelClassifier, datasets
from zskl.serve import pictures

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: install Debian's package chromium"),
    pytest.mark.xdist_group("browser"),  # one service and one browser for all
]

expect = playwright.expect
VIEWS = ("describe", "classify", "classes")
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> & "it"/../é'


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def demo():
    with served("--demo") as (address, _):
        yield address


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A service without data: 312 attributes in groups, 3000 classes."""
    rng = np.random.default_rng(0)
    names = [f"has_part_{k // 12}_colour::shade_{k % 12}" for k in range(312)]
    table = pd.DataFrame(rng.random((3000, 312)), index=[f"{k:04d}.Bird_{k}" for k in range(3000)], columns=names)
    y = np.repeat(table.index[:4].to_numpy(str), 8)
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(rng.normal(size=(32, 16)), y, table)
    file = tmp_path_factory.mktemp("large") / "birds.zskl"
    model.save(file)
    with served(file) as (address, _):
        yield address


FEATURES = ["rpm", "current_A", "noise_dB", "oil, C"]


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """A service whose features have names and whose attributes have units: a speed in thousands, a load below 1."""
    rng = np.random.default_rng(7)
    names = ["motor: speed", "motor: load", "bearing: wear", "bearing: greased", "age"]
    rows = [[3000, 0.5, 0.2, 1, 4], [2400, 0.7, 0.4, 1, 9], [1500, 0.9, 0.6, 0, 12]]
    rows += [[1200, 0.2, 0.1, 0, 2], [400, 1.0, 0.8, 1, 25], [3600, 0.6, 0.7, 0, 7]]
    table = pd.DataFrame(rows, index=["lathe", "mill", "pump", "fan", "press", "saw"], columns=names)
    table["made"] = 1.0
    spread = ((table - table.mean()) / table.std()).fillna(0.0).to_numpy() @ rng.normal(size=(6, 4))
    X = pd.DataFrame(np.repeat(spread, 20, axis=0) + rng.normal(size=(120, 4)) / 4, columns=FEATURES)
    y = np.repeat(table.index.to_numpy(str), 20)
    place = tmp_path_factory.mktemp("machines")
    X.assign(machine=y).to_csv(place / "rows.csv", index_label="id")
    table.to_csv(place / "classes.csv", index_label="class")
    own = datasets.make(place / "own", place / "rows.csv", "machine", place / "classes.csv", unseen=["fan", "saw"])
    model = ZeroShotKernelClassifier(signature_scaling="standardize-l2", epochs=20, random_state=0)
    seen = ~np.isin(y, ["fan", "saw"])
    model.fit(X[seen], y[seen], own.signatures).save(place / "machines.zskl")
    with served(place / "machines.zskl", "--data", place / "own") as (address, _):
        yield address, place / "rows.csv"


@pytest.fixture
def visit(chromium):
    """Open a page whose console stays empty and that asks no other host; `faults` are messages a test expects."""
    opened = []

    def open_page(address, size=DESKTOP, faults="", **options):
        page = new_page(chromium, viewport=size, **options)
        said, hosts = [], set()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        opened.append((page, said, hosts, faults, address.split("/")[2]))
        page.goto(address)
        page.locator("main[aria-busy=false]").wait_for()
        return page

    yield open_page
    for page, said, hosts, faults, own in opened:
        page.context.close()
        assert [one for one in said if not faults or not re.search(faults, one)] == []
        assert hosts == {own}


def ranked(page):
    """Classes of the rows on show, best first, once the newest ranking has arrived."""
    page.locator(".results[aria-busy=false] .card").first.wait_for()
    return page.locator(".results .card b").all_inner_texts()


def asked(page, act, path="/rank"):
    """Do something and wait until what the page asks for because of it has been answered and shown."""
    with page.expect_response(lambda one: one.url.split("?")[0].endswith(path) and one.ok):
        act()
    until(page, "document.querySelectorAll('section:not([hidden]) [aria-busy=true]').length === 0")


def saved(page, name):
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Save").click()


def test_a_digit_described_by_its_segments_brings_its_handwriting(demo, visit):
    page = visit(demo)
    expect(page.locator("#loaded")).to_contain_text("10 classes (7 seen, 3 unseen, 0 added)")
    expect(page.locator(".results")).to_contain_text("Set an attribute")
    describe(page, THREE)
    until(page, "document.querySelectorAll('.results .card').length === 24")
    expect(page.locator(".panel > .quiet").first).to_contain_text(re.compile(r"Of these 24: \d+ × 3"))
    three = ranked(page)
    assert three[0] == "3"
    assert three.count("3") > 12
    assert page.locator(".segment.on").count() == 5
    until(page, "[...document.querySelectorAll('.results img')].slice(0, 6).every((one) => one.naturalWidth)")
    asked(page, lambda: page.get_by_label("middle", exact=True).uncheck())
    assert ranked(page) != three
    asked(page, lambda: page.locator("polygon.segment").nth(6).click())  # the drawing is a second way to do the same
    assert ranked(page) == three
    asked(page, lambda: page.get_by_label("Part of the data").select_option("test_seen"))
    assert "3" not in ranked(page)
    asked(page, lambda: page.get_by_role("button", name="Show more").click())
    assert len(ranked(page)) == 48


def test_start_from_a_class_and_take_changes_back(demo, visit):
    page = visit(demo)
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    three = ranked(page)
    assert three.count("3") > 12
    assert not page.get_by_label("upper left", exact=True).is_checked()
    assert page.get_by_label("middle", exact=True).is_checked()
    asked(page, lambda: page.get_by_label("upper left", exact=True).check())
    assert ranked(page) != three
    asked(page, lambda: page.get_by_role("button", name="Reset upper left").click())
    assert ranked(page) == three
    asked(page, lambda: page.get_by_label("top", exact=True).uncheck())
    asked(page, lambda: page.get_by_role("button", name="Reset all").click())
    assert ranked(page) == three
    page.get_by_label("Start from").select_option(index=0)
    expect(page.locator(".results")).to_contain_text("Set an attribute")
    asked(page, lambda: page.locator(".empty").get_by_role("button", name="6").click())
    assert page.get_by_label("Start from").input_value() == "=6"


def test_attributes_are_searched(demo, visit):
    page = visit(demo)
    page.get_by_label("Search attributes").fill("right")
    expect(page.get_by_text("2 attributes", exact=True)).to_be_visible()
    assert page.locator(".attribute:visible label").all_inner_texts() == ["upper right", "lower right"]
    page.get_by_label("lower right", exact=True).locator("visible=true").check()
    page.get_by_label("Search attributes").fill("zzz")
    expect(page.get_by_text("No attribute has these letters")).to_be_visible()
    page.get_by_label("Search attributes").fill("")
    expect(page.locator(".attribute:visible").nth(2)).to_contain_text("on")


def test_hits_at_the_beginning_of_a_word_come_first(machines, visit):
    page = visit(machines[0])
    expect(page.locator("details.group[open]")).to_have_count(3)  # so few attributes are all in sight
    page.get_by_label("Search attributes").fill("ar")
    hits = page.locator(".attribute:visible label")
    expect(hits).to_have_text(["bearing: wear", "bearing: greased"])
    page.get_by_label("Search attributes").fill("a")
    expect(hits.first).to_have_text("age")
    names = page.get_by_label("Start from").locator("option").all_inner_texts()
    assert names[1:] == ["fan", "saw", "lathe", "mill", "press", "pump"]


def test_a_number_can_be_typed_also_beyond_the_slider(machines, visit):
    page = visit(machines[0])
    slider = page.get_by_role("slider", name="speed", exact=True)
    field = page.get_by_role("spinbutton", name="speed", exact=True)
    assert field.input_value() == ""
    assert field.get_attribute("placeholder") == "1825"  # the mean of the seen classes
    for typed, shown in (("2500.5", "2500.5"), ("5000", "3600")):
        asked(page, lambda typed=typed: field.fill(typed))
        assert slider.input_value() == shown
    field.fill("5000000")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.blur()
    assert field.input_value() == "5000"  # what was before
    slider.focus()
    asked(page, lambda: slider.press("Home"))
    assert field.input_value() == "400"
    field.fill("")
    expect(page.locator(".results")).to_contain_text("Set an attribute")
    asked(page, lambda: field.fill("-100"))
    saved(page, "slow")
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator(".detail .why tbody tr").first).to_contain_text("−100")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()


def test_a_reload_keeps_the_description_and_the_chosen_row(demo, visit):
    page = visit(demo)
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    asked(page, lambda: page.get_by_label("top", exact=True).uncheck())
    before = ranked(page)
    asked(page, page.reload)
    assert ranked(page) == before
    assert page.get_by_label("Start from").input_value() == "=3"
    expect(page.get_by_role("button", name="Reset top")).to_be_visible()
    page.goto(f"{demo}/#classify")
    asked(page, lambda: page.locator(".pick .card").nth(4).click(), "/predict")
    expect(page).to_have_url(re.compile(re.escape("#classify?row=4") + "$"))
    asked(page, page.reload, "/predict")
    expect(page.locator(".sample")).to_contain_text("Row 4")
    page.get_by_role("link", name="Classes").click()
    page.get_by_role("link", name="Classify").click()
    expect(page.locator(".sample")).to_contain_text("Row 4")
    expect(page).to_have_url(re.compile(re.escape("#classify?row=4") + "$"))
    asked(page, page.get_by_role("button", name="Later rows").click, "/predict")
    expect(page).to_have_url(re.compile(re.escape("#classify") + "$"))
    page.goto(f"{demo}/#classify?row=none")
    expect(page.locator(".sample")).to_contain_text("Row 24")


def test_figures_that_come_late_take_neither_the_focus_nor_an_open_dialog(demo, visit):
    page = visit(demo)
    page.get_by_label("top", exact=True).check()
    saved(page, "late")
    expect(page.locator(".done")).to_contain_text("Saved")
    held = []
    page.route("**/confusion", lambda one: held.append(one))  # answered below, not before
    page.reload()
    page.get_by_role("link", name="Classes").click()
    page.get_by_role("link", name="late", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text("Loading the answers for test rows")
    page.get_by_role("button", name="Delete …").click()
    asked(page, held[0].continue_, "/confusion")
    expect(page.locator(".detail")).to_contain_text("No test rows of this class.")
    page.get_by_role("button", name="Keep it").click()  # the dialog is still there
    page.locator(".sortable").get_by_role("link", name="3", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text(" test rows right.")
    page.locator(".sortable").get_by_role("link", name="late", exact=True).click()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_label("Filter by name")).to_be_focused()


def test_a_saved_class_is_found_edited_and_deleted(demo, visit):
    page = visit(demo, faults="409")
    page.get_by_label("top", exact=True).check()
    page.get_by_label("middle", exact=True).check()
    page.get_by_text("Which ones?").click()
    expect(page.locator("form")).to_contain_text("upper right, lower right, bottom, lower left, upper left")
    saved(page, "dash")
    expect(page.locator(".done")).to_contain_text("Saved “dash”. 5 attributes not set: the mean was taken.")
    saved(page, "dash")
    expect(page.locator("form .fault")).to_contain_text("dash")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.reload()
    page.get_by_role("link", name="Classes").click()
    page.get_by_label("Kind").select_option("added")
    page.get_by_role("link", name="dash", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text("5 attributes not set")
    page.get_by_role("link", name="Edit").click()
    expect(page.locator("form h3")).to_have_text("Edit the class dash")
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
    expect(page.locator("#view-classes")).to_contain_text("Choose a class of the table")
    page.get_by_label("Kind").select_option("added")
    expect(page.get_by_role("link", name="dash", exact=True)).to_have_count(0)


def test_a_class_that_is_edited_under_another_name_is_a_new_one(demo, visit):
    page = visit(demo)
    page.get_by_label("Start from").select_option(label="8")
    expect(page.locator(".editing")).to_be_hidden()
    saved(page, "one")
    page.get_by_role("link", name="Show it in Classes").click()
    page.get_by_role("link", name="Edit").click()
    expect(page.locator(".editing")).to_contain_text("Editing the class one.")
    button = page.locator("form button")
    expect(button).to_have_text("Save")
    page.get_by_label("middle", exact=True).uncheck()
    page.get_by_label("Name", exact=True).fill("two")
    expect(button).to_have_text("Save as a new class")
    expect(page.locator("form h3")).to_have_text("Save as a new class")
    expect(page.locator("form")).to_contain_text("The class one stays as it is.")
    button.dblclick()
    expect(page.locator(".done")).to_contain_text("Saved “two” as a new class; “one” is as it was.")
    expect(page.locator(".editing")).to_contain_text("Editing the class two")
    assert page.get_by_label("Start from").input_value() == "=two"
    expect(page.get_by_role("button", name="Reset all")).to_be_disabled()  # what was saved is the start
    page.get_by_role("button", name="Stop editing").click()
    expect(page.locator(".editing")).to_be_hidden()
    expect(page.locator("#describe-title")).to_be_focused()
    expect(page.locator("form h3")).to_have_text("Save as a class")
    assert not page.get_by_label("middle", exact=True).is_checked()
    for name in ("one", "two"):
        page.goto(f"{demo}/#describe?{urlencode({'class': name, 'edit': 'yes'})}")
        expect(page.locator(".editing")).to_contain_text(name)
        page.goto(f"{demo}/#classes?{urlencode({'class': name})}")
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("button", name="Delete", exact=True).dblclick()
        expect(page.locator("#view-classes")).to_contain_text("Choose a class of the table")
    page.get_by_role("link", name="Describe").click()
    expect(page.locator(".editing")).to_be_hidden()  # there is nothing to replace any more


def test_names_are_text_wherever_they_are_shown(demo, visit):
    page = visit(demo)
    page.get_by_label("Start from").select_option(label="8")
    saved(page, HOSTILE)
    expect(page.locator(".done")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator("#class-title")).to_contain_text(HOSTILE)
    expect(page.locator(".sortable")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_role("link", name="Classify").click(), "/predict")
    expect(page.locator(".answer .top")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_label("Compare with").select_option(f"={HOSTILE}"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_contain_text(HOSTILE)
    assert page.locator("main script").count() == 0
    assert page.title() == "Classify · zskl"
    page.go_back()
    page.get_by_role("button", name="Delete …").click()
    expect(page.locator("dialog")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".sortable")).not_to_contain_text("<img")


@pytest.fixture(scope="module")
def pictured(tmp_path_factory):
    """A service of the user's own rows, of which four have pictures."""
    place = tmp_path_factory.mktemp("pictured")
    data = datasets.load("digits")
    few = np.concatenate([np.flatnonzero(data.y == digit)[:4] for digit in range(10)])
    rows = pd.DataFrame(data.X[few]).assign(label=data.y[few])
    rows.to_csv(place / "rows.csv", index_label="id")
    data.signatures.to_csv(place / "classes.csv", index_label="class")
    own = datasets.make(place / "own", place / "rows.csv", "label", place / "classes.csv", unseen=["3", "4"])
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*own.samples("trainval"), own.signatures)
    model.save(place / "own.zskl")
    images = place / "images"
    images.mkdir()
    for row in (0, 8, 16, 39):
        (images / f"{row}.png").write_bytes(pictures.Digits(data.X[few]).read(row)[0])
    (images / "rows.csv").write_text("file,row\n" + "".join(f"{row}.png,{row}\n" for row in (0, 8, 16, 39)))
    with served(place / "own.zskl", "--data", place / "own", "--images", images) as (address, _):
        yield address


def test_where_some_rows_have_pictures_these_can_be_seen_alone(pictured, visit):
    page = visit(f"{pictured}/#classify")
    expect(page.locator(".pick .card")).to_have_count(4)
    expect(page.locator(".pick img.picture")).to_have_count(4)
    page.get_by_label("only rows with pictures").uncheck()
    expect(page.locator(".pick .card")).to_have_count(24)
    page = visit(f"{pictured}/#describe")
    page.get_by_label("top", exact=True).check()
    expect(page.locator(".results img.picture")).to_have_count(4)
    page.get_by_label("only rows with pictures").uncheck()
    expect(page.locator(".results .card")).to_have_count(24)
    expect(page.locator(".results img.picture")).not_to_have_count(24)


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[+−][\d.]*\d", text)]


def test_a_row_is_classified_and_explained(demo, visit):
    page = visit(f"{demo}/#classify?row=5")
    expect(page.locator(".sample")).to_contain_text("Row 5")
    expect(page.locator(".card[aria-pressed=true]")).to_have_count(1)
    expect(page.locator(".top li")).to_have_count(5)
    assert set(page.locator(".top .badge").all_inner_texts()) <= {"● seen", "○ unseen", "+ added"}
    told = page.locator(".why .number").all_inner_texts()[1:]
    sums = numbers(page.locator(".sum").inner_text())
    assert sum(numbers(" ".join(told))) == pytest.approx(sums[0], abs=0.005)
    for fill, words in zip(page.locator(".why .fill").all(), told, strict=True):
        assert ("plus" in fill.get_attribute("class")) == (not words.startswith("−"))
    asked(page, lambda: page.get_by_label("Compare with").select_option("=0"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_have_text(re.compile(r"Why \d and not 0\?"))
    asked(page, lambda: page.get_by_label("Class", exact=True).select_option("=4"), "/predict")
    expect(page.locator(".pager")).to_contain_text("of 181 rows")
    expect(page.locator(".sample")).to_contain_text("True class: 4")
    asked(page, lambda: page.get_by_role("button", name="Later rows").click(), "/predict")
    expect(page.locator(".pager")).to_contain_text("25–48")
    asked(page, lambda: page.locator(".pick .card").nth(3).click(), "/predict")
    expect(page.locator(".pick .card").nth(3)).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Part", exact=True).select_option("trainval")
    expect(page.locator(".pick .empty")).to_contain_text("No row of the data is of this class and part.")


def test_the_answer_is_in_sight_wherever_its_row_is(demo, visit):
    inside = "(() => { const { top } = document.querySelector('.reply h3').getBoundingClientRect();"
    inside += " return top >= 0 && top < innerHeight / 2 })()"
    for size in (DESKTOP, PHONE):
        page = visit(f"{demo}/#classify", size, reduced_motion="reduce")
        page.locator(".why").wait_for()
        page.locator(".pick .card").nth(22).scroll_into_view_if_needed()
        asked(page, lambda page=page: page.locator(".pick .card").nth(22).click(), "/predict")
        expect(page.locator(".sample")).to_contain_text("Row 22")
        assert page.evaluate(inside), size
    expect(page.locator(".reply h3")).to_be_focused()
    page.get_by_role("button", name="Back to the rows").click()
    expect(page.locator(".pick .card").nth(22)).to_be_focused()


def test_files_of_every_kind_are_classified(demo, visit, tmp_path):
    rows = datasets.load("digits").X[:30]
    files = [tmp_path / f"rows.{kind}" for kind in ("npy", "columnwise.npy", "csv", "json")]
    np.save(files[0], rows)
    np.save(files[1], np.asfortranarray(rows))
    pd.DataFrame(rows).to_csv(files[2], index=False)
    files[3].write_text(json.dumps({"rows": rows.tolist()}))
    page = visit(f"{demo}/#classify")
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
        page.get_by_role("button", name="Later rows").click()
        expect(page.locator(".pick .card")).to_have_count(6)
        expect(page.locator(".sample")).to_contain_text("Row 25")


def test_a_file_that_cannot_be_read_is_refused_with_a_reason(demo, visit):
    page = visit(f"{demo}/#classify")
    page.get_by_label("A file", exact=True).check()
    for name, text, fault in (
        ("x.csv", "1,2,3", "Row 1 of x.csv has 3 numbers, the model takes 64."),
        ("x.csv", "a,b\n1,2\n3,three", "Line 3 of x.csv: “three” in column “b” is no number."),
        ("x.json", "{", "x.json is no JSON."),
        ("x.json", '{"rows": [["a"]]}', "x.json should be a list of rows"),
        ("x.npy", "no", "x.npy is no .npy file."),
        ("x.parquet", "no", "a file that ends in .npy, .csv or .json is expected."),
    ):
        file = {"name": name, "mimeType": "", "buffer": text.encode()}
        page.get_by_label("A file of samples").set_input_files(file)
        expect(page.locator(".drop .fault")).to_contain_text(fault)


def answered(page, name, text):
    """The answers for the rows of a file."""
    file = {"name": name, "mimeType": "", "buffer": text.encode()}
    with page.expect_response("**/predict"):
        page.get_by_label("A file of samples").set_input_files(file)
    until(page, "[...document.querySelectorAll('.pick .words')].every((one) => one.textContent !== '…')")
    return page.locator(".pick .words b").all_inner_texts()


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
    expect(page.locator(".drop")).to_contain_text("left out: “id”, “machine”")
    assert answered(page, "c.csv", table[FEATURES].to_csv(index=False, header=False, sep=";")) == right
    assert answered(page, "d.csv", table[FEATURES].set_axis(range(4), axis=1).to_csv(index=False)) == right
    refused = {
        "lacks the columns “noise_dB”, “oil, C”.": table[FEATURES[:2]].to_csv(index=False),
        "has 5 columns, the model takes 4: drop column 5, which has no numbers.": (
            table[[*FEATURES, "machine"]].to_csv(index=False, header=False)
        ),
        "has the column “rpm” twice": table[["rpm", *FEATURES]].to_csv(index=False),
        "Line 2 of e.csv: nothing in column “rpm” is no number.": ",".join(["rpm", "current_A", "noise_dB", '"oil, C"'])
        + "\n,1,2,3",
    }
    for fault, text in refused.items():
        file = {"name": "e.csv", "mimeType": "", "buffer": text.encode()}
        page.get_by_label("A file of samples").set_input_files(file)
        expect(page.locator(".drop .fault")).to_contain_text(fault)
        expect(page.locator(".pick .card")).to_have_count(0)  # not the answers of the file before
        expect(page.locator(".answer")).to_contain_text("Choose a row or a file")
        answered(page, "a.csv", table[FEATURES].to_csv(index=False))


def test_columns_that_are_no_features_are_named_where_features_have_no_names(demo, visit):
    rows = pd.DataFrame(datasets.load("digits").X[:3]).assign(label="x")
    page = visit(f"{demo}/#classify")
    page.get_by_label("A file", exact=True).check()
    for text, fault in (
        (
            rows.to_csv(index=False),
            "has 65 columns, the model takes 64: drop column 65 (“label”), which has no numbers.",
        ),
        (rows.assign(label=1).to_csv(index_label="id"), "drop 2 of column 1 (“id”) to column 66 (“label”)."),
    ):
        file = {"name": "x.csv", "mimeType": "", "buffer": text.encode()}
        page.get_by_label("A file of samples").set_input_files(file)
        expect(page.locator(".drop .fault")).to_contain_text(fault)


def test_the_balance_moves_the_point_and_the_answers(demo, visit):
    page = visit(f"{demo}/#classify")
    slider = page.get_by_label("Taken off the scores of seen classes")
    point = page.locator(".curve .dot")
    page.locator(".told b").wait_for()

    def answers():
        return page.locator(".pick .words b").all_inner_texts(), point.get_attribute("cx")

    own = answers()
    slider.focus()
    asked(page, lambda: slider.press("End"), "/predict")
    expect(page.locator(".side")).to_contain_text(re.compile(r"unseen [789]\d\s%"))  # 81 % here
    until(page, "document.querySelectorAll('.pick .words b').length === 24")
    unseen = answers()
    assert set(unseen[0]) <= {"3", "4", "6"}
    asked(page, lambda: slider.press("Home"), "/predict")
    until(page, "![...document.querySelectorAll('.pick .words b')].some((one) => '346'.includes(one.textContent))")
    assert float(answers()[1]) > float(own[1]) > float(unseen[1])
    asked(page, page.get_by_role("button", name="Back to the model’s own").click, "/predict")
    expect(page.locator(".side")).to_contain_text("the model’s own")
    expect(page.locator(".pick .words b")).to_have_text(own[0])
    assert answers() == own
    expect(page.locator(".side")).to_contain_text("for looking, not for choosing")


def test_the_balance_is_a_part_of_the_explanation(demo, visit):
    page = visit(f"{demo}/#classify")
    page.locator(".why").wait_for()
    slider = page.get_by_label("Taken off the scores of seen classes")
    slider.focus()
    asked(page, lambda: slider.press("End"), "/predict")
    asked(page, lambda: page.get_by_label("Compare with").select_option("=8"), "/predict")
    rows = page.locator(".why tbody tr")
    expect(rows).to_have_count(8)
    expect(rows.last).to_contain_text("balance of seen and unseen")
    expect(rows.last).to_contain_text("taken off 8, which is seen")
    adds = [float(one.replace("−", "-")) for one in rows.locator(".number").all_inner_texts()]
    told = page.locator(".sum").inner_text()
    assert "the balance of seen and unseen +" in told
    whole = float(re.search(r": (\S+) for", told)[1].replace("−", "-"))
    assert whole == pytest.approx(sum(adds), abs=0.01)
    wide = page.locator(".why .fill").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert max(wide) == 50


def test_a_wrong_answer_is_compared_with_the_true_class(demo, visit):
    page = visit(f"{demo}/#classify")
    page.get_by_label("Class", exact=True).select_option("=1")
    expect(page.locator(".told")).to_contain_text("training rows among them")
    page.get_by_label("Part", exact=True).select_option("test_seen")
    expect(page.locator(".pager")).not_to_contain_text("of 182 rows")
    expect(page.locator(".told")).to_contain_text("rows shown.")
    wrong = page.locator(".pick .card", has=page.locator(".wrong"))
    for place in range(wrong.count()):  # one whose true class is not the second best
        asked(page, wrong.nth(place).click, "/predict")
        if "true class" in page.get_by_label("Compare with").locator("option").first.inner_text():
            break
    first = page.get_by_label("Compare with").locator("option").first
    if first.get_attribute("value"):
        asked(page, lambda: page.get_by_label("Compare with").select_option(index=0), "/predict")
        expect(page.locator(".answer h4").nth(1)).to_contain_text("and not 1?")
        expect(page.get_by_label("Compare with").locator("option").nth(1)).to_contain_text("second best (")
    else:
        expect(first).to_have_text("second best (1, the true class)")
    expect(page.locator(".why")).to_contain_text("on in both")
    expect(page.locator(".answer")).to_contain_text("scaled to unit length")


def test_classes_are_sorted_filtered_and_shown(demo, visit):
    page = visit(f"{demo}/#classes")
    accuracy = page.locator(".sortable tbody td:nth-child(4)")
    expect(accuracy.last).to_contain_text("%")

    def column():
        return [float(one.split()[0]) for one in accuracy.all_inner_texts() if one != "–"]

    expect(page.get_by_role("button", name="Rows", exact=True)).to_have_attribute(
        "title", re.compile("training rows too")
    )
    page.get_by_role("button", name="Accuracy on test rows").click()
    assert column() == sorted(column(), reverse=True)
    expect(page.get_by_role("columnheader", name="Accuracy")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Accuracy").click()
    assert column() == sorted(column())
    page.get_by_label("Kind").select_option("unseen")
    expect(page.locator(".sortable tbody tr")).to_have_count(3)
    page.get_by_label("Filter by name").fill("4")
    expect(page.locator(".sortable tbody tr")).to_have_count(1)
    page.get_by_role("link", name="4", exact=True).click()
    expect(page.locator(".detail")).to_contain_text("Nearest classes")
    expect(page.locator(".detail .near").first.locator("li")).to_have_count(8)
    expect(page.locator(".detail")).to_contain_text(
        re.compile(r"181 rows · 181 test rows.*of 181 test rows right", re.DOTALL)
    )
    page.locator(".detail .near a").first.click()
    expect(page.locator("#class-title")).not_to_contain_text("4")
    page.get_by_label("Filter by name").fill("nothing like it")
    expect(page.locator("#view-classes")).to_contain_text("No class has these letters in its name.")


def test_what_sets_a_class_apart_is_told_by_the_range_of_each_attribute(machines, visit):
    page = visit(f"{machines[0]}/#classes?class=press")
    rows = page.locator(".detail .why tbody tr")
    expect(rows).to_have_count(5)  # not `made`, which is the same for all classes
    table = {name.split("\n")[0]: name for name in rows.all_inner_texts()}
    assert next(iter(table)) == "age"  # not the speed, whose numbers are larger
    assert {"400", "−1425"} <= set(table["motor: speed"].split())
    assert {"0.8", "+0.3"} <= set(table["bearing: wear"].split())
    wide = rows.locator(".fill").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert wide == sorted(wide, reverse=True)
    assert wide[0] == 50
    assert min(wide) > 5


def test_all_of_it_by_keyboard(demo, visit):
    page = visit(demo)
    keys = page.keyboard
    keys.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page).to_have_url(re.compile(re.escape("/") + "$"))
    page.get_by_label("top", exact=True).focus()
    for _ in range(2):  # top, then upper right
        asked(page, lambda: keys.press("Space"))
        keys.press("Tab")
        keys.press("Tab")
    assert page.locator(".segment.on").count() == 2
    page.locator("nav a").nth(1).focus()
    asked(page, lambda: keys.press("Enter"), "/predict")
    expect(page.locator("#classify-title")).to_be_focused()
    page.locator(".pick .card").nth(1).focus()
    asked(page, lambda: keys.press("Enter"), "/predict")
    expect(page.locator(".sample")).to_contain_text("Row 1")
    outline = page.locator(".pick .card").nth(1).evaluate("(one) => getComputedStyle(one).outlineStyle")
    assert outline == "solid"


def test_many_attributes_and_classes_without_data(large, visit):
    page = visit(large)
    expect(page.locator("#loaded")).to_contain_text("no data loaded")
    assert page.locator("details.group").count() == 26
    assert page.locator(".attribute").count() == 0  # closed groups are not drawn
    page.locator("details.group summary").first.click()
    expect(page.locator(".attribute")).to_have_count(12)
    slider = page.get_by_role("slider", name="shade 3", exact=True)
    slider.focus()
    slider.press("End")
    expect(page.locator("details.group summary").first).to_contain_text("1 of 12 changed")
    expect(page.locator(".chips li")).to_have_count(1)
    expect(page.locator(".results")).to_contain_text("No data is loaded")
    page.get_by_label("Search attributes").fill("part_7 shade_11")
    expect(page.locator(".attribute:visible label")).to_have_text(["part 7 colour: shade 11"])
    page.locator(".chips button").click()
    expect(page.locator(".chips li")).to_have_count(0)
    page.get_by_role("link", name="Classes").click()
    expect(page.locator(".sortable tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Show 50 more").click()
    expect(page.locator(".sortable tbody tr")).to_have_count(100)
    page.get_by_label("Filter by name").fill("bird_2999")
    expect(page.locator(".sortable tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Classify").click()
    expect(page.locator(".side")).to_contain_text("there is no curve")
    page.get_by_label("A file of samples").set_input_files(
        {"name": "x.csv", "mimeType": "", "buffer": b",".join([b"1"] * 16)}
    )
    expect(page.locator(".top li")).to_have_count(5)
    expect(page.locator(".why .rest")).to_have_count(1)


def test_a_token_is_asked_for_and_a_stopped_service_is_said(visit):
    with served("--demo", token="secret") as (address, process):
        page = visit(address, faults="401|Failed to load resource")
        expect(page.get_by_label("Token")).to_be_focused()
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("main")).to_contain_text("does not take this token")
        page.get_by_label("Token").fill("secret")
        page.get_by_role("button", name="Continue").click()
        asked(page, lambda: page.get_by_label("top", exact=True).check())
        until(page, "document.querySelector('.results img')?.naturalWidth > 0")
        assert page.locator(".results img").first.get_attribute("src").startswith("blob:")
        page.reload()
        expect(page.get_by_label("Start from")).to_be_visible()
        process.terminate()
        process.wait(LIMIT)
        page.get_by_label("middle", exact=True).check()
        expect(page.locator(".results .fault")).to_contain_text("The service does not answer. Is it still running?")
        expect(page.locator(".results").get_by_role("button", name="Try again")).to_be_visible()


def test_a_fault_goes_away_when_trying_again_helps(demo, visit):
    page = visit(f"{demo}/#classes", faults="500")
    page.route("**/rank", lambda route: route.fulfill(status=500, json={"error": "planted"}))
    page.get_by_role("link", name="Describe").click()
    page.get_by_label("top", exact=True).check()
    expect(page.locator(".results .fault")).to_contain_text("planted")
    page.unroute("**/rank")
    asked(page, page.get_by_role("button", name="Try again").click)
    assert ranked(page)


def axe_faults(page, rules=None):
    """Serious faults, of all rules or of those that are named."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("(rules) => axe.run(rules ? { runOnly: rules } : {})", rules)["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


def prepared(page, address, view):
    """The view with as much on it as there can be."""
    page.goto(f"{address}/#{view}")
    if view == "describe":
        describe(page, THREE)
        page.locator(".results .card").nth(23).wait_for()
    elif view == "classify":
        page.locator(".why").wait_for()
        page.locator(".curve").wait_for()
    else:
        page.get_by_role("link", name="4", exact=True).first.click()
        page.locator(".detail .near").nth(1).wait_for()


GROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_no_serious_fault_in_light_or_dark(demo, visit, size):
    pytest.importorskip("axe_playwright_python")
    page = visit(demo, size, color_scheme="light", reduced_motion="reduce")
    for view in VIEWS:
        prepared(page, demo, view)
        assert page.evaluate(GROUND) == "rgb(255, 255, 255)"
        assert axe_faults(page) == [], view
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(GROUND) == "rgb(22, 24, 27)"
        assert axe_faults(page, ["color-contrast"]) == [], view  # nothing but colours changes
        page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("size", [DESKTOP, {"width": 360, "height": 740}], ids=["desktop", "phone"])
def test_axe_finds_no_serious_fault_where_numbers_are_typed(machines, visit, size):
    pytest.importorskip("axe_playwright_python")
    page = visit(machines[0], size)
    asked(page, lambda: page.get_by_role("spinbutton", name="speed", exact=True).fill("-12345.6"))
    page.get_by_role("spinbutton", name="wear", exact=True).fill("1e9")  # refused
    assert axe_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    narrow = page.get_by_role("slider").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width)")
    assert min(narrow) > 60
    for view in ("classify", "classes?class=press"):
        page.goto(f"{machines[0]}/#{view}")
        page.locator("section:not([hidden]) .why").wait_for()
        assert axe_faults(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_axe_finds_planted_faults(demo, visit):
    page = visit(demo)
    page.evaluate("document.querySelector('#view-describe label').remove()")
    page.evaluate("document.querySelector('.lead').style.color = '#ccc'")
    assert {name for name, _ in axe_faults(page)} == {"color-contrast", "select-name"}
    assert {name for name, _ in axe_faults(page, ["color-contrast"])} == {"color-contrast"}


def test_nothing_is_wider_than_a_small_phone(demo, large, visit):
    wide = "document.documentElement.scrollWidth"
    page = visit(demo, {"width": 360, "height": 740})
    page.get_by_label("Start from").select_option(label="0")
    saved(page, "W" * 200)
    page.locator(".done").wait_for()
    for view in VIEWS:
        prepared(page, demo, view)
        assert page.evaluate(wide) == 360, view
    page.get_by_role("link", name="W" * 200).first.click()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator("#view-classes .empty").wait_for()
    page = visit(large, {"width": 360, "height": 740})
    page.locator("details.group summary").first.click()
    assert page.evaluate(wide) == 360
    controls = page.locator("button:visible, select:visible, nav a:visible")
    heights = controls.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().height)")
    assert min(heights) >= 40
