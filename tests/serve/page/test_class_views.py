"""Classes as photos, as pairs that are mistaken, and on a map: by mouse, finger and keys."""

import re

import pytest

from browsing import DESKTOP, MARKS, PHONE, axe_faults, until

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect
HERE = "document.activeElement.getAttribute('aria-label')"
OVERLAPS = """(() => {
  const all = [...document.querySelectorAll(".map .name:not(.over)")].map((one) => one.getBoundingClientRect());
  return all.some((a, i) => all.slice(i + 1).some(
    (b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3));
})()"""


def test_the_map_is_walked_by_arrow_keys_and_its_list_says_the_same(segments, visit):
    page = visit(f"{segments}/#classes?show=map")
    expect(page.locator(".map .mark")).to_have_count(10)
    assert page.locator(".map .mark[tabindex='0']").count() == 1
    page.locator(".map .mark[tabindex='0']").focus()
    first = page.evaluate(HERE)
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    reached = {first, page.evaluate(HERE)}
    page.keyboard.press("ArrowDown")
    reached.add(page.evaluate(HERE))
    assert len(reached) > 1
    name = page.evaluate(HERE).split(",")[0]
    told = page.locator(".pointed")
    expect(told).to_contain_text("Most like it")
    row = page.locator(".mapped tbody tr", has=page.get_by_role("rowheader", name=name, exact=True))
    assert told.locator("p").inner_text().removeprefix("Most like it: ") == row.locator("td").last.inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#class-title")).to_contain_text(name)
    expect(page.locator(".map .mark.chosen")).to_have_count(1)
    page.get_by_label("Kind").select_option("unseen")
    expect(page.locator(".map .mark:not(.faint)")).to_have_count(3)
    expect(page.locator(".mapped tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Pictures", exact=True).click()
    expect(page.locator(".gallery .card")).to_have_count(3)
    expect(page.locator("#class-title")).to_be_visible()  # the class stays open
    page.go_back()
    expect(page.locator(".map svg")).to_be_visible()


def test_a_finger_near_a_mark_sees_what_it_is_before_anything_opens(demo, visit):
    """Of 225 classes on a phone."""
    page = visit(f"{demo}/#classes?show=map", PHONE, has_touch=True)
    expect(page.locator(".map .mark")).to_have_count(225)
    assert not page.evaluate(OVERLAPS)
    assert page.locator(".map .name:not(.over)").count() >= 5
    mark = page.locator(".map .mark.unseen").first
    mark.scroll_into_view_if_needed()
    mark.tap(force=True)  # others may lie on top of it: the nearest is told
    expect(page.locator(".pointed b")).to_be_visible()
    expect(page.locator("#class-title")).to_have_count(0)
    page.locator(".pointed b a").click()
    expect(page.locator("#class-title")).to_be_focused()


def test_photos_pairs_and_the_map_are_without_serious_faults(pictured, segments, visit):
    pytest.importorskip("axe_playwright_python")
    page = visit(f"{pictured}/#classes")
    expect(page.locator(".gallery .card")).to_have_count(10)
    assert page.locator(".gallery .nophoto").count() == 6  # four classes have a picture
    page = visit(f"{segments}/#classes?show=pairs", color_scheme="light", reduced_motion="reduce")
    expect(page.locator(".pairs .pair").first).to_contain_text(re.compile(r"% of the \d+ pictures are mistaken"))
    expect(page.locator("#view-classes")).to_contain_text("nothing is chosen by it")
    assert page.locator(".pair").first.locator("img").count() == 2
    for show in ("pairs", "map"):
        page.goto(f"{segments}/#classes?show={show}")
        page.locator({"pairs": ".pair", "map": ".map .mark"}[show]).first.wait_for()
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            until(page, f"document.documentElement.scrollWidth === {size['width']}")
            assert axe_faults(page) == [], show
        page.emulate_media(color_scheme="dark")
        assert axe_faults(page, ["color-contrast"]) == [], show
        page.emulate_media(color_scheme="light")
