"""The view Classes."""

import re

import pytest

from browsing import MARKS, asked, caught, saved

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


def test_figures_that_come_late_take_neither_the_focus_nor_an_open_dialog(segments, visit):
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
