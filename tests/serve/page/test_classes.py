"""The view Classes."""

import re

import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, axe_faults, caught, open_details, saved, until

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_classes_are_sorted_filtered_and_shown(segments, visit):
    page = visit(f"{segments}/#classes?show=table")
    accuracy = page.locator(".sortable tbody td:nth-child(4)")
    expect(accuracy.last).to_contain_text("%")

    def column():
        return [float(one.split()[0]) for one in accuracy.all_inner_texts() if one != "–"]

    expect(page.get_by_role("button", name="Pictures", exact=True)).to_have_attribute(
        "title", re.compile("for training too")
    )
    page.get_by_role("button", name="Recognised").click()
    assert column() == sorted(column(), reverse=True)
    expect(page.get_by_role("columnheader", name="Recognised")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Recognised").click()
    assert column() == sorted(column())
    page.get_by_label("Kind").select_option("unseen")
    expect(page.locator(".sortable tbody tr")).to_have_count(3)
    page.get_by_label("Filter by name").fill("4")
    expect(page.locator(".sortable tbody tr")).to_have_count(1)
    page.get_by_role("link", name="4", exact=True).click()
    expect(page.locator(".detail")).to_contain_text("Described most like it")
    expect(page.locator(".detail .near").first.locator("li")).to_have_count(8)
    expect(page.locator(".detail")).to_contain_text(
        re.compile(r"181 pictures · 181 of them for testing.*of its 181 pictures for testing get the right", re.DOTALL)
    )
    page.locator(".detail .near a").first.click()
    expect(page.locator("#class-title")).not_to_contain_text("4")
    page.get_by_label("Filter by name").fill("nothing like it")
    expect(page.locator("#view-classes")).to_contain_text("No class has these letters in its name.")


def test_class_details_are_relative_to_attribute_ranges(machines, visit):
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


def test_late_figures_keep_focus_and_dialog(segments, visit):
    page = visit(segments)
    page.get_by_label("top", exact=True).check()
    saved(page, "late")
    expect(page.locator(".done")).to_contain_text("Saved")
    held = []
    page.route("**/confusion", lambda one: held.append(one))  # answered below, not before
    page.reload()
    page.get_by_role("link", name="Classes").click()
    page.get_by_role("link", name="late", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text("Asking the model about the test pictures")
    page.get_by_role("button", name="Delete …").click()
    asked(page, caught(page, held).continue_, "/confusion")
    expect(page.locator(".detail")).to_contain_text("no test pictures of this class")
    page.get_by_role("button", name="Keep it").click()  # the dialog is still there
    page.locator(".gallery").get_by_role("link", name="3", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text("get the right name.")
    page.locator(".gallery").get_by_role("link", name="late", exact=True).click()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_label("Filter by name")).to_be_focused()
    expect(page).to_have_url(re.compile("#classes$"))  # which no longer names what is gone
    page.locator(".gallery").get_by_role("link", name="3", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    page.go_back()
    expect(page.locator("#class-title")).to_have_count(0)


HERE = "document.activeElement.getAttribute('aria-label')"
OVERLAPS = """(() => {
  const all = [...document.querySelectorAll(".map .name:not(.over)")].map((one) => one.getBoundingClientRect());
  return all.some((a, i) => all.slice(i + 1).some(
    (b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3));
})()"""


def test_map_works_by_arrow_keys_and_matches_its_list(segments, visit):
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


def test_touch_near_a_point_shows_its_name_first(demo, visit):
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


def test_class_views_are_accessible(pictured, segments, visit):
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


def test_balance_slider_changes_answers(segments, visit):
    page = visit(f"{segments}/#classify")
    page.locator(".for").wait_for()
    open_details(page)
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
    expect(rows.last).to_contain_text("balance of trained and new")
    assert rows.count() >= 3  # two attributes or more, and the balance
    expect(rows.last).to_contain_text("subtracted from 8, which the model was trained on")
    adds = [float(one.replace("−", "-")) for one in rows.locator(".number").all_inner_texts()]
    told = page.locator(".sum").inner_text()
    assert "the balance of trained and new +" in told
    whole = float(re.search(r": (\S+) for", told)[1].replace("−", "-"))
    assert whole == pytest.approx(sum(adds), abs=0.01)
    wide = page.locator(".why .fill").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert max(wide) == 50
