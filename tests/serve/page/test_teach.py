"""Pictures are marked as right or wrong, taken back, labelled and adapted to."""

import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, axe_faults

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_teaching_a_description_and_undoing_it(demo, visit, size):
    page = visit(demo, size)
    page.locator(".results[aria-busy=false] .card").nth(23).wait_for()
    marks = page.locator(".results .marks")
    marks.nth(1).get_by_role("button").first.click()
    page.get_by_role("button", name="Not now").click()  # nothing is saved
    marks.nth(1).get_by_role("button").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is it called?").fill("mine")
    asked(page, dialog.get_by_role("button", name="Save and mark").click)
    said = page.locator("#view-describe .taught")
    expect(said).to_contain_text("Taught: 1 right, 0 wrong for mine")
    expect(page.locator(".editing")).to_contain_text("Editing the class mine")
    assert page.locator(".results .yes[aria-pressed=true]").count() == 1
    wrong = marks.nth(3).get_by_role("button").nth(1)
    name = wrong.get_attribute("aria-label")
    assert name.startswith("Not this: picture ")
    asked(page, wrong.click)
    expect(said).to_contain_text("1 right, 1 wrong")
    assert axe_faults(page) == []
    asked(page, said.get_by_role("button", name="Undo").click)
    expect(said).to_contain_text("1 right, 0 wrong")
    expect(page.locator(".results .no[aria-pressed=true]")).to_have_count(0)
    page.goto(f"{demo}/#classes?class=mine")
    detail = page.locator(".detail")
    expect(detail.locator(".taught")).to_contain_text("1 right, 0 wrong for mine")
    asked(page, detail.locator(".no").nth(2).click)
    expect(detail.locator(".taught")).to_contain_text("1 right, 1 wrong for mine")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert axe_faults(page) == []
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more.")


def test_rows_to_label_and_verdict_before_adapting(demo, visit):
    page = visit(f"{demo}/#classify")
    page.get_by_role("button", name="Show 10 pictures").click()
    first = page.locator(".tolabel li").first
    expect(page.locator(".tolabel li")).to_have_count(10)
    guess = first.get_by_role("combobox").input_value().removeprefix("=")
    asked(page, first.get_by_role("button", name="Teach").click, "/predict")
    expect(first).to_contain_text(f"Taught: {guess}")
    assert axe_faults(page) == []
    page.set_viewport_size(PHONE)
    asked(page, first.get_by_role("button", name="Undo").click, "/predict")
    expect(first.get_by_role("combobox")).to_be_focused()
    expect(page.locator(".verdict")).to_contain_text("Tried on classes that were set aside")
    asked(page, page.get_by_role("button", name="Adapt to these pictures").click, "/predict")
    panel = page.locator(".teach .panel").nth(1)
    expect(panel).to_contain_text("get another answer now")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert axe_faults(page) == []
    asked(page, panel.get_by_role("button", name="Undo").click, "/predict")
    expect(panel).not_to_contain_text("get another answer now")
