"""Classes are saved, edited and deleted, under whatever name."""

from urllib.parse import urlencode

import pytest

from browsing import MARKS, asked, saved

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> & "it"/../é'


def test_a_saved_class_is_found_edited_and_deleted(segments, visit):
    page = visit(segments, faults="409")
    page.get_by_label("top", exact=True).check()
    page.get_by_label("middle", exact=True).check()
    page.get_by_text("Which ones?").click()
    expect(page.locator("div.rest")).to_contain_text("upper right, lower right, bottom, lower left, upper left")
    saved(page, "dash")
    expect(page.locator(".done")).to_contain_text("Saved “dash”. 5 attributes not set: the mean is used.")
    saved(page, "dash")
    expect(page.locator("form.panel .fault")).to_contain_text("dash")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.reload()
    page.get_by_role("link", name="Classes").click()
    page.get_by_label("Kind").select_option("added")
    page.get_by_role("link", name="dash", exact=True).click()
    expect(page.locator("#class-title")).to_be_focused()
    expect(page.locator(".detail")).to_contain_text("5 attributes not set")
    page.get_by_role("link", name="Edit").click()
    expect(page.locator("form.panel h3")).to_have_text("Edit the class dash")
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
    expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more")
    page.get_by_label("Kind").select_option("added")
    expect(page.get_by_role("link", name="dash", exact=True)).to_have_count(0)


def test_a_class_that_is_edited_under_another_name_is_a_new_one(segments, visit):
    page = visit(segments)
    page.get_by_label("Start from").select_option(label="8")
    expect(page.locator(".editing")).to_be_hidden()
    saved(page, "one")
    page.get_by_role("link", name="Show it in Classes").click()
    page.get_by_role("link", name="Edit").click()
    expect(page.locator(".editing")).to_contain_text("Editing the class one.")
    button = page.locator("form.panel button")
    expect(button).to_have_text("Save")
    page.get_by_label("middle", exact=True).uncheck()
    page.get_by_label("Name", exact=True).fill("two")
    expect(button).to_have_text("Save as a new class")
    expect(page.locator("form.panel h3")).to_have_text("Save as a new class")
    expect(page.locator("form.panel")).to_contain_text("The class one stays as it is.")
    button.dblclick()
    expect(page.locator(".done")).to_contain_text("Saved “two” as a new class; “one” is unchanged.")
    expect(page.locator(".editing")).to_contain_text("Editing the class two")
    assert page.get_by_label("Start from").input_value() == "=two"
    expect(page.get_by_role("button", name="Reset all")).to_be_disabled()  # what was saved is the start
    page.get_by_role("button", name="Stop editing").click()
    expect(page.locator(".editing")).to_be_hidden()
    expect(page.locator("#describe-title")).to_be_focused()
    expect(page.locator("form.panel h3")).to_have_text("Save as a class")
    assert not page.get_by_label("middle", exact=True).is_checked()
    for name in ("one", "two"):
        page.goto(f"{segments}/#describe?{urlencode({'class': name, 'edit': 'yes'})}")
        expect(page.locator(".editing")).to_contain_text(name)
        page.goto(f"{segments}/#classes?{urlencode({'class': name})}")
        expect(page.locator("#class-title")).to_be_focused()  # the panel is new; the old one had such a button too
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("button", name="Delete", exact=True).dblclick()
        expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more")
    page.get_by_role("link", name="Describe").click()
    expect(page.locator(".editing")).to_be_hidden()  # there is nothing to replace any more


def test_names_are_text_wherever_they_are_shown(segments, visit):
    page = visit(segments)
    page.get_by_label("Start from").select_option(label="8")
    saved(page, HOSTILE)
    expect(page.locator(".done")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator("#class-title")).to_contain_text(HOSTILE)
    expect(page.locator(".gallery")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_role("link", name="Classify").click(), "/predict")
    expect(page.locator(".answer .top")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_label("Compare with").select_option(f"={HOSTILE}"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_contain_text(HOSTILE)
    assert page.locator("main script").count() == 0
    assert page.title() == "Classify · zskl"
    page.go_back()
    expect(page.locator("#class-title")).to_be_focused()
    page.get_by_role("button", name="Delete …").click()
    expect(page.locator("dialog")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".gallery")).not_to_contain_text("<img")
