"""The demonstration: letters, of which you choose a base letter and a mark."""

import pytest

from browsing import MARKS, PHONE, asked, axe_faults, ranked, saved

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_a_letter_and_a_mark_bring_pictures_of_a_letter_that_is_new_to_the_model(demo, visit):
    page = visit(demo)
    assert ranked(page)[:12].count("å") > 9
    expect(page.locator(".examples")).to_contain_text("new to the model")
    letter, mark = (page.get_by_role("radiogroup", name=name, exact=True) for name in ("letter", "mark"))
    expect(letter.get_by_label("a", exact=True)).to_be_checked()
    asked(page, lambda: mark.get_by_label("grave", exact=True).check())
    expect(mark.get_by_label("ring above")).not_to_be_checked()
    assert ranked(page)[:12].count("à") > 9
    expect(page.locator(".examples p")).to_be_hidden()
    letter.get_by_label("a", exact=True).focus()
    asked(page, lambda: page.keyboard.press("ArrowRight"))
    expect(letter.get_by_label("b", exact=True)).to_be_checked()
    page.reload()
    expect(letter.get_by_label("b", exact=True)).to_be_checked()
    asked(page, lambda: mark.get_by_label("not set").check())
    assert ranked(page)[:12].count("b") > 9
    asked(page, lambda: page.get_by_label("Start from").select_option(label="ñ"))
    expect(mark.get_by_label("tilde")).to_be_checked()
    expect(mark.get_by_label("not set")).to_be_hidden()
    page.get_by_label("Start from").select_option(index=0)
    expect(letter.get_by_label("not set")).to_be_checked()


def test_a_letter_that_no_language_has_becomes_a_class(demo, visit):
    page = visit(demo)
    asked(page, page.get_by_role("button", name="q with ring above").click)
    expect(page.locator("div.rest")).to_contain_text("All attributes are set.")
    assert {"å", "ů"} <= set(ranked(page))
    saved(page, "q̊")
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator("#class-title")).to_contain_text("q̊")
    expect(page.locator(".detail .near").first).to_contain_text("q")
    asked(page, page.get_by_role("link", name="Classify").click, "/predict")
    asked(page, lambda: page.get_by_label("Compare with").select_option("=q̊"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_contain_text("q̊")
    page.go_back()
    expect(page.locator("#class-title")).to_be_focused()  # the panel is new
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#view-classes")).not_to_contain_text("q̊")


def test_axe_finds_no_serious_fault_in_a_choice(demo, visit):
    pytest.importorskip("axe_playwright_python")
    page = visit(demo, PHONE, color_scheme="light", reduced_motion="reduce")
    ranked(page)  # what is still loading is paler
    assert axe_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.emulate_media(color_scheme="dark")
    assert axe_faults(page, ["color-contrast"]) == []
    heights = page.locator(".choice label").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 40
