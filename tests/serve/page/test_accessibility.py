"""The page by keyboard, for screen readers, in light and dark, and on a small phone."""

import re

import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, axe_faults, open_details, saved

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


VIEWS = ("describe", "classify", "classes")
SMALL = {"width": 360, "height": 740}


def test_page_works_by_keyboard(segments, visit):
    page = visit(segments)
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
    expect(page.locator(".sample")).to_contain_text("Picture 1")
    outline = page.locator(".pick .card").nth(1).evaluate("(one) => getComputedStyle(one).outlineStyle")
    assert outline == "solid"


def prepared(page, address, view):
    """The view with as much on it as there can be."""
    page.goto(f"{address}/#{view}")
    if view == "describe":
        asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
        asked(page, lambda: page.get_by_label("upper left", exact=True).check())
        page.locator(".results .card").nth(5).wait_for()
    elif view == "classify":
        page.locator(".for").wait_for()
        open_details(page)
        page.locator(".curve").wait_for()
    else:
        page.get_by_role("link", name="4", exact=True).first.click()
        page.locator(".detail .pair").first.wait_for()
        page.locator(".detail .shots img").first.wait_for()


GROUND = "getComputedStyle(document.body).backgroundColor"
WIDE = "document.documentElement.scrollWidth"


def test_views_are_accessible_in_light_and_dark(segments, visit):
    pytest.importorskip("axe_playwright_python")
    page = visit(segments, color_scheme="light")
    for view in VIEWS:
        prepared(page, segments, view)
        assert page.evaluate(GROUND) == "rgb(255, 255, 255)"
        assert axe_faults(page) == [], view
        page.set_viewport_size(PHONE)
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(GROUND) == "rgb(22, 24, 27)"
        assert axe_faults(page) == [], view
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESKTOP)


def test_number_fields_are_accessible(machines, visit):
    pytest.importorskip("axe_playwright_python")
    page = visit(machines[0])
    asked(page, lambda: page.get_by_role("spinbutton", name="speed", exact=True).fill("-12345.6"))
    page.get_by_role("spinbutton", name="wear", exact=True).fill("1e9")  # refused
    for size in (DESKTOP, SMALL):
        page.set_viewport_size(size)
        assert axe_faults(page) == [], size
        assert page.evaluate(WIDE) == size["width"]
        narrow = page.get_by_role("slider").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width)")
        assert min(narrow) > 60
    for view in ("classify", "classes?class=press"):
        page.goto(f"{machines[0]}/#{view}")
        page.locator("section:not([hidden]) :is(.for, .why)").first.wait_for()
        assert axe_faults(page) == [], view
        for size in (DESKTOP, SMALL):
            page.set_viewport_size(size)
            assert page.evaluate(WIDE) == size["width"]


def test_axe_finds_planted_faults(segments, visit):
    page = visit(segments)
    page.evaluate(
        "document.querySelector('.inwords label').remove(); document.querySelector('.inwords input').placeholder = ''"
    )
    page.evaluate("document.querySelector('.found h3').style.color = '#ccc'")
    assert {name for name, _ in axe_faults(page)} == {"color-contrast", "label"}
    assert {name for name, _ in axe_faults(page, ["color-contrast"])} == {"color-contrast"}


def test_page_fits_a_small_phone(segments, large, visit):
    page = visit(segments, SMALL)
    page.get_by_label("Start from").select_option(label="0")
    saved(page, "W" * 200)
    page.locator(".done").wait_for()
    for view in VIEWS:
        prepared(page, segments, view)
        assert page.evaluate(WIDE) == 360, view
    page.get_by_role("link", name="W" * 200).first.click()
    expect(page.locator("#class-title")).to_be_focused()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator("#view-classes .empty").wait_for()
    page = visit(large, SMALL)
    open_details(page)
    page.locator("details.group summary").first.click()
    assert page.evaluate(WIDE) == 360
    controls = page.locator("button:visible, select:visible, nav a:visible")
    heights = controls.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().height)")
    assert min(heights) >= 40
