"""The balance of seen and unseen classes."""

import re

import pytest

from browsing import MARKS, asked, until

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_the_balance_moves_the_point_and_the_answers_and_is_explained(segments, visit):
    page = visit(f"{segments}/#classify")
    slider = page.get_by_label("Subtracted from the scores of trained classes")
    point = page.locator(".curve .dot")
    page.locator(".told b").wait_for()

    def answers():
        return page.locator(".pick .words b").all_inner_texts(), point.get_attribute("cx")

    own = answers()
    slider.focus()
    asked(page, lambda: slider.press("End"), "/predict")
    expect(page.locator(".side")).to_contain_text(re.compile(r"new [789]\d\s%"))  # 81 % here
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
    expect(page.locator(".side")).to_contain_text("do not choose by it")
    asked(page, lambda: slider.press("End"), "/predict")
    asked(page, lambda: page.get_by_label("Compare with").select_option("=8"), "/predict")
    it_is_a_part_of_the_explanation(page)


def it_is_a_part_of_the_explanation(page):
    rows = page.locator(".why tbody tr")
    expect(rows).to_have_count(8)
    expect(rows.last).to_contain_text("balance of trained and new")
    expect(rows.last).to_contain_text("subtracted from 8, which the model was trained on")
    adds = [float(one.replace("−", "-")) for one in rows.locator(".number").all_inner_texts()]
    told = page.locator(".sum").inner_text()
    assert "the balance of trained and new +" in told
    whole = float(re.search(r": (\S+) for", told)[1].replace("−", "-"))
    assert whole == pytest.approx(sum(adds), abs=0.01)
    wide = page.locator(".why .fill").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert max(wide) == 50
