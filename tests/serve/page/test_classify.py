"""The view Classify: the answer for a row, and why."""

import json
import re

import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, ranked

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def numbers(text):
    return [float(one.replace("−", "-")) for one in re.findall(r"[+−][\d.]*\d", text)]


def test_a_row_is_classified_and_explained(segments, visit):
    page = visit(f"{segments}/#classify?row=5")
    expect(page.locator(".sample")).to_contain_text("Picture 5")
    expect(page.locator(".card[aria-pressed=true]")).to_have_count(1)
    expect(page.locator(".top li")).to_have_count(5)
    assert set(page.locator(".top .badge").all_inner_texts()) <= {"● trained", "○ new", "+ added"}
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
    page.get_by_label("Part", exact=True).select_option("trainval")
    expect(page.locator(".pick .empty")).to_contain_text("No picture of the data is of this class and part.")


def test_class_means_are_explained_by_attributes_whatever_their_kernel(means, visit):
    page = visit(f"{means}/#classify?row=3")
    asked(page, lambda: page.get_by_label("Compare with").select_option("=5"), "/predict")
    fills = page.locator(".why").first.locator(".fill")
    wide = fills.evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert max(wide) == 50  # of attributes among themselves; what is no attribute is folded
    page.get_by_text("Everything else adds").click()
    names = page.locator(".why tbody th").all_inner_texts()
    assert any(re.match(r"(top|middle|bottom|upper|lower).*\s+(on|off) (against|in both)", name) for name in names)
    assert {"training rows", "examples", "crowding"} <= {name.split("\n")[0] for name in names}
    told = numbers(page.locator(".sum").inner_text())
    assert sum(told[:-1]) == pytest.approx(told[-1], abs=0.02)
    expect(page.locator(".sum")).to_contain_text("These attributes add")
    page = visit(means)  # the view that ranks rows by a description
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    assert len(ranked(page)) > 5


def test_the_answer_is_in_sight_wherever_its_row_is(segments, visit):
    inside = "(() => { const { top } = document.querySelector('.reply h3').getBoundingClientRect();"
    inside += " return top >= 0 && top < innerHeight / 2 })()"
    page = visit(f"{segments}/#classify", reduced_motion="reduce")
    page.locator(".why").wait_for()
    for size, row in ((DESKTOP, 23), (PHONE, 22)):
        page.set_viewport_size(size)
        page.locator(".pick .card").nth(row).scroll_into_view_if_needed()
        asked(page, page.locator(".pick .card").nth(row).click, "/predict")
        expect(page.locator(".sample")).to_contain_text(f"Picture {row}")
        assert page.evaluate(inside), size
    expect(page.locator(".reply h3")).to_be_focused()
    page.get_by_role("button", name="Back to the pictures").click()
    expect(page.locator(".pick .card").nth(22)).to_be_focused()


def test_a_wrong_answer_is_compared_with_the_true_class(segments, visit):
    page = visit(f"{segments}/#classify")
    page.get_by_label("Class", exact=True).select_option("=1")
    expect(page.locator(".told")).to_contain_text("trained on among them")
    page.get_by_label("Part", exact=True).select_option("test_seen")
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
    expect(page.locator(".why")).to_contain_text("on in both")
    expect(page.locator(".answer")).to_contain_text("scaled to unit length")


def test_a_reload_keeps_the_description_and_the_chosen_row(segments, visit):
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
    page.get_by_role("link", name="Classify").click()
    expect(page.locator(".sample")).to_contain_text("Picture 4")
    expect(page).to_have_url(re.compile(re.escape("#classify?row=4") + "$"))
    asked(page, page.get_by_role("button", name="Later pictures").click, "/predict")
    expect(page).to_have_url(re.compile(re.escape("#classify") + "$"))
    page.goto(f"{segments}/#classify?row=none")
    expect(page.locator(".sample")).to_contain_text("Picture 24")


def test_a_row_that_is_not_there(segments, visit):
    page = visit(f"{segments}/#classify?row=99999")
    expect(page.locator("#view-classify .note").first).to_have_text(
        "There is no picture 99999: pictures are numbered from 0 to 1796."
    )


def test_one_bad_row_of_a_file_silences_no_other(segments, visit, tmp_path):
    rows = [[0.0] * 64, [1e39] * 64, [float(k % 17) for k in range(64)]]
    (tmp_path / "rows.json").write_text(json.dumps(rows), "utf-8")
    page = visit(f"{segments}/#classify", faults="422")
    page.get_by_label("A file", exact=True).check()
    page.get_by_label("A file of samples").set_input_files(tmp_path / "rows.json")
    cards = page.locator(".pick .card")
    expect(cards.nth(1)).to_contain_text("cannot be read")
    for place in (0, 2):
        expect(cards.nth(place).locator("b")).to_have_text(re.compile(r"\d"))
