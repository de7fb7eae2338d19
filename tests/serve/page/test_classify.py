"""The view Classify: the answer for a row, and why."""

import io
import json
import re

import numpy as np
import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, axe_faults, open_details, ranked, until
from zskl import datasets

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[+−][\d.]*\d", text)]


def test_row_is_classified_and_explained(segments, visit):
    page = visit(f"{segments}/#classify?row=5")
    expect(page.locator(".sample")).to_contain_text("Picture 5")
    expect(page.locator(".card[aria-pressed=true]")).to_have_count(1)
    expect(page.locator(".top li")).to_have_count(5)
    assert set(page.locator(".top .badge").all_inner_texts()) <= {"● trained", "○ new", "+ added"}
    expect(page.locator(".for")).to_contain_text("What speaks for")
    open_details(page)
    told = page.locator(".why .number").all_inner_texts()[1:]
    sums = numbers(page.locator(".sum").inner_text())
    assert sum(numbers(" ".join(told))) == pytest.approx(sums[0], abs=0.005)
    for fill, words in zip(page.locator(".why .fill").all(), told, strict=True):
        assert ("plus" in fill.get_attribute("class")) == (not words.startswith("−"))
    asked(page, lambda: page.get_by_label("Compare with").select_option("=0"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_have_text(re.compile(r"Why \d and not 0\?"))
    asked(page, lambda: page.get_by_label("Class", exact=True).select_option("=4"), "/predict")
    expect(page.locator(".pager")).to_contain_text("of 181 pictures")
    expect(page.locator(".sample")).to_contain_text("True class: 4")
    asked(page, lambda: page.get_by_role("button", name="Later pictures").click(), "/predict")
    expect(page.locator(".pager")).to_contain_text("25–48")
    asked(page, lambda: page.locator(".pick .card").nth(3).click(), "/predict")
    expect(page.locator(".pick .card").nth(3)).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Which", exact=True).select_option("trainval")
    expect(page.locator(".pick .empty")).to_contain_text("No picture of the data is of this class and part.")


def test_class_means_are_explained_by_attributes(means, visit):
    page = visit(f"{means}/#classify?row=3")
    asked(page, lambda: page.get_by_label("Compare with").select_option("=5"), "/predict")
    open_details(page)
    fills = page.locator(".why").first.locator(".fill")
    wide = fills.evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert max(wide) == 50  # of attributes among themselves; what is no attribute is folded
    page.get_by_text("Everything else adds").click()
    names = page.locator(".why tbody th").all_inner_texts()
    assert any(re.match(r"(top|middle|bottom|upper|lower).*\s+(on|off) (against|in both)", name) for name in names)
    told = {name.split("\n")[0] for name in names}
    assert "crowding" in told
    assert any(re.fullmatch(r"\d+ training rows of \d", name) for name in told), told  # which rows of which class
    assert any(re.fullmatch(r"\d+ examples? of \d", name) for name in told), told
    told = numbers(page.locator(".sum").inner_text())
    assert sum(told[:-1]) == pytest.approx(told[-1], abs=0.02)
    expect(page.locator(".sum")).to_contain_text("These attributes add")
    page = visit(means)  # the view that ranks rows by a description
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    assert len(ranked(page)) > 5


def test_answer_stays_in_view(segments, visit):
    inside = "(() => { const { top } = document.querySelector('.reply h3').getBoundingClientRect();"
    inside += " return top >= 0 && top < innerHeight / 2 })()"
    page = visit(f"{segments}/#classify", reduced_motion="reduce")
    page.locator(".for").wait_for()
    for size, row in ((DESKTOP, 23), (PHONE, 22)):
        page.set_viewport_size(size)
        page.locator(".pick .card").nth(row).scroll_into_view_if_needed()
        asked(page, page.locator(".pick .card").nth(row).click, "/predict")
        expect(page.locator(".sample")).to_contain_text(f"Picture {row}")
        assert page.evaluate(inside), size
    expect(page.locator(".reply h3")).to_be_focused()
    page.get_by_role("button", name="Back to the pictures").click()
    expect(page.locator(".pick .card").nth(22)).to_be_focused()


def test_wrong_answer_is_compared_with_the_true_class(segments, visit):
    page = visit(f"{segments}/#classify")
    page.get_by_label("Class", exact=True).select_option("=1")
    expect(page.locator(".told")).to_contain_text("learned from among them")
    page.get_by_label("Which", exact=True).select_option("test_seen")
    expect(page.locator(".pager")).not_to_contain_text("of 182 pictures")
    expect(page.locator(".told")).to_contain_text("pictures shown.")
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
    expect(page.locator(".why").first).not_to_contain_text("in both")  # which adds nothing


def test_reload_keeps_description_and_row(segments, visit):
    page = visit(segments)
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    asked(page, lambda: page.get_by_label("top", exact=True).uncheck())
    before = ranked(page)
    asked(page, page.reload)
    assert ranked(page) == before
    assert page.get_by_label("Start from").input_value() == "=3"
    expect(page.get_by_role("button", name="Reset top")).to_be_visible()
    page.goto(f"{segments}/#classify")
    asked(page, lambda: page.locator(".pick .card").nth(4).click(), "/predict")
    expect(page).to_have_url(re.compile(re.escape("#classify?row=4") + "$"))
    asked(page, page.reload, "/predict")
    expect(page.locator(".sample")).to_contain_text("Picture 4")
    page.get_by_role("link", name="Classes").click()
    page.get_by_role("link", name="Identify").click()
    expect(page.locator(".sample")).to_contain_text("Picture 4")
    expect(page).to_have_url(re.compile(re.escape("#classify?row=4") + "$"))
    asked(page, page.get_by_role("button", name="Later pictures").click, "/predict")
    expect(page).to_have_url(re.compile(re.escape("#classify") + "$"))
    page.goto(f"{segments}/#classify?row=none")
    expect(page.locator(".sample")).to_contain_text("Picture 24")


def test_missing_row_is_explained(segments, visit):
    page = visit(f"{segments}/#classify?row=99999")
    expect(page.locator("#view-classify .note").first).to_have_text(
        "There is no picture 99999: pictures are numbered from 0 to 1796."
    )


def test_bad_row_of_a_file_leaves_others(segments, visit, tmp_path):
    rows = [[0.0] * 64, [1e39] * 64, [float(k % 17) for k in range(64)]]
    (tmp_path / "rows.json").write_text(json.dumps(rows), "utf-8")
    page = visit(f"{segments}/#classify", faults="422")
    page.get_by_label("A file", exact=True).check()
    page.get_by_label("A file of samples").set_input_files(tmp_path / "rows.json")
    cards = page.locator(".pick .card")
    expect(cards.nth(1)).to_contain_text("cannot be read")
    for place in (0, 2):
        expect(cards.nth(place).locator("b")).to_have_text(re.compile(r"\d"))


QUIET = "document.querySelectorAll('section:not([hidden]) [aria-busy=true]').length === 0"
DROP = """(bytes) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
  const event = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
  document.querySelector("#classify-title").dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def reading(digits_file):
    """A service of the digits that reads photos."""
    import services
    from zskl.datasets import images
    from zskl.datasets.backbones import Backbone
    from zskl.serve import requests

    def prepare(image):
        return np.asarray(image.convert("L"), np.float32)[None] / 15

    network = Backbone("pixels", "pixels", prepare, lambda batch: np.resize(batch, (len(batch), 64)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "load_backbone", lambda name, device: network)
        patch.setattr(requests, "import_or_explain", lambda *names: None)
        kept = digits_file.with_name("photos.jsonl")
        with services.in_thread(digits_file, data="digits", backbone=["onnx:pixels.onnx"], classes=kept) as (
            address,
            _,
        ):
            yield address


def photo(row, name="one.png"):
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray((15 * datasets.load("digits").X[row].reshape(8, 8)).astype(np.uint8)).save(out, "PNG")
    return {"name": name, "mimeType": "image/png", "buffer": out.getvalue()}


def test_photos_are_classified_and_downloaded(reading, visit):
    page = visit(f"{reading}/#classify?row=5")
    expect(page.locator(".sample")).to_contain_text("Picture 5")
    best = page.locator(".top .name").first.inner_text()
    page.get_by_label("Choose photos").set_input_files(photo(5))
    expect(page.locator(".sample")).to_contain_text("one.png")
    expect(page.locator(".sample")).to_contain_text("not kept")
    assert page.locator(".top .name").first.inner_text() == best  # as of the row with the same pixels
    expect(page.locator(".top .first .looks img")).to_have_count(3)
    page.evaluate(DROP, list(photo(7)["buffer"]))
    expect(page.locator(".sample")).to_contain_text("dropped.png")
    heic = {"name": "b.heic", "mimeType": "image/heic", "buffer": b"\0\0\0\x18ftypheic" + bytes(20)}
    page.get_by_label("Choose photos").set_input_files([photo(1, "=SUM(A1).png"), photo(2, 'a",b.png'), heic])
    expect(page.locator(".all h4")).to_have_text("2 photos by class")
    expect(page.locator(".drop")).to_contain_text("b.heic is a HEIC photo")
    open_details(page)
    page.get_by_label(re.compile("^Say so")).fill("99")  # all but the surest
    expect(page.locator(".answer")).to_contain_text("Probably none of these.")
    expect(page.locator(".counts")).to_contain_text("none of these")
    until(page, QUIET)
    with page.expect_download() as found:
        page.get_by_role("button", name="Download the answers").click()
    with open(found.value.path(), encoding="utf-8-sig", newline="") as file:
        lines = file.read().split("\r\n")
    assert lines[0] == "photo,class,probability,kind,none_of_these"
    assert lines[1].startswith("'=SUM(A1).png,")
    assert lines[2].startswith('"a"",b.png",')
    assert lines[1].endswith(",true")


def test_photo_on_a_phone(reading, visit):
    page = visit(f"{reading}/#classify", size=PHONE, has_touch=True, is_mobile=True, color_scheme="dark")
    expect(page.get_by_role("button", name="Take a photo")).to_be_visible()
    page.get_by_label("Take a photo").last.set_input_files(photo(5, "camera.png"))
    expect(page.locator(".sample")).to_contain_text("camera.png")
    until(page, QUIET)
    until(page, "scrollY > 100")  # the answer is brought into sight
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert axe_faults(page) == []


def test_missing_probabilities_are_explained(means, visit):
    page = visit(f"{means}/#classify?row=3")
    expect(page.locator(".answer")).to_contain_text("zskl fit … --calibrate")
    expect(page.locator(".answer")).to_contain_text("an empty bar is a class with an average score")
    widths = page.locator(".top .fill").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert widths[0] == 100
    assert widths == sorted(widths, reverse=True)
    expect(page.get_by_label("Say so where")).to_have_count(0)
