"""The view Describe: attributes are set, and the rows that match come first."""

import re

import pytest

from browsing import MARKS, THREE, asked, describe, ranked, saved, until

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_a_digit_described_by_its_segments_brings_its_handwriting(segments, visit):
    page = visit(segments)
    expect(page.locator("#loaded")).to_contain_text("10 classes (3 new to the model, 0 added)")
    expect(page.locator(".results")).to_contain_text("Set an attribute")
    describe(page, THREE)
    until(page, "document.querySelectorAll('.results .card').length === 24")
    told = page.locator(".panel > .quiet").filter(has_text="Of these")
    expect(told).to_contain_text(re.compile(r"Of these 24: \d+ × 3"))
    three = ranked(page)
    assert three[0] == "3"
    assert three.count("3") > 12
    assert page.locator(".segment.on").count() == 5
    until(page, "[...document.querySelectorAll('.results img')].slice(0, 6).every((one) => one.naturalWidth)")
    asked(page, lambda: page.get_by_label("middle", exact=True).uncheck())
    assert ranked(page) != three
    asked(page, lambda: page.locator("polygon.segment").nth(6).click())  # the drawing is a second way to do the same
    assert ranked(page) == three
    asked(page, lambda: page.get_by_label("Part of the data").select_option("test_seen"))
    assert "3" not in ranked(page)
    asked(page, lambda: page.get_by_role("button", name="Show more").click())
    assert len(ranked(page)) == 48


def test_start_from_a_class_and_undo_changes(segments, visit):
    page = visit(segments)
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    three = ranked(page)
    assert three.count("3") > 12
    assert not page.get_by_label("upper left", exact=True).is_checked()
    assert page.get_by_label("middle", exact=True).is_checked()
    asked(page, lambda: page.get_by_label("upper left", exact=True).check())
    assert ranked(page) != three
    asked(page, lambda: page.get_by_role("button", name="Reset upper left").click())
    assert ranked(page) == three
    asked(page, lambda: page.get_by_label("top", exact=True).uncheck())
    asked(page, lambda: page.get_by_role("button", name="Reset all").click())
    assert ranked(page) == three
    page.get_by_label("Start from").select_option(index=0)
    expect(page.locator(".results")).to_contain_text("Set an attribute")
    asked(page, lambda: page.locator(".empty").get_by_role("button", name="6").click())
    assert page.get_by_label("Start from").input_value() == "=6"


def test_attributes_are_searched(segments, visit):
    page = visit(segments)
    page.get_by_label("Search attributes").fill("right")
    expect(page.get_by_text("2 attributes", exact=True)).to_be_visible()
    assert page.locator(".attribute:visible > label").all_inner_texts() == ["upper right", "lower right"]
    page.get_by_label("lower right", exact=True).locator("visible=true").check()
    page.get_by_label("Search attributes").fill("zzz")
    expect(page.get_by_text("No attribute has these letters")).to_be_visible()
    page.get_by_label("Search attributes").fill("")
    expect(page.locator(".attribute:visible").nth(2)).to_contain_text("on")


def test_hits_at_the_beginning_of_a_word_come_first(machines, visit):
    page = visit(machines[0])
    expect(page.locator("details.group[open]")).to_have_count(3)  # so few attributes are all in sight
    page.get_by_label("Search attributes").fill("ar")
    hits = page.locator(".attribute:visible > label")
    expect(hits).to_have_text(["bearing: wear", "bearing: greased"])
    page.get_by_label("Search attributes").fill("a")
    expect(hits.first).to_have_text("age")
    names = page.get_by_label("Start from").locator("option").all_inner_texts()
    assert names[1:] == ["fan", "saw", "lathe", "mill", "press", "pump"]


def test_a_number_can_be_typed_also_beyond_the_slider(machines, visit):
    page = visit(machines[0])
    slider = page.get_by_role("slider", name="speed", exact=True)
    field = page.get_by_role("spinbutton", name="speed", exact=True)
    assert field.input_value() == ""
    assert field.get_attribute("placeholder") == "1825"  # the mean of the seen classes
    for typed, shown in (("2500.5", "2500.5"), ("5000", "3600")):
        asked(page, lambda typed=typed: field.fill(typed))
        assert slider.input_value() == shown
    field.fill("5000000")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.blur()
    assert field.input_value() == "5000"  # what was before
    slider.focus()
    asked(page, lambda: slider.press("Home"))
    assert field.input_value() == "400"
    field.fill("")
    expect(page.locator(".results")).to_contain_text("Set an attribute")
    asked(page, lambda: field.fill("-100"))
    saved(page, "slow")
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator(".detail .why tbody tr").first).to_contain_text("−100")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()


def test_if_only_some_rows_have_pictures_you_see_those_first(pictured, visit):
    page = visit(f"{pictured}/#classify")
    expect(page.locator(".pick .card")).to_have_count(4)
    expect(page.locator(".pick img.picture")).to_have_count(4)
    page.get_by_label("only photos that can be shown").uncheck()
    expect(page.locator(".pick .card")).to_have_count(24)
    page.get_by_role("link", name="Describe").click()
    page.get_by_label("top", exact=True).check()
    expect(page.locator(".results img.picture")).to_have_count(4)
    page.get_by_role("checkbox", name="only photos that can be shown").uncheck()
    expect(page.locator(".results .card")).to_have_count(24)
    expect(page.locator(".results img.picture")).not_to_have_count(24)


def test_many_attributes_and_classes_without_data(large, visit):
    page = visit(large)
    expect(page.locator("#loaded")).to_contain_text("no data loaded")
    assert page.locator("details.group").count() == 26
    assert page.locator(".attribute").count() == 0  # closed groups are not drawn
    page.locator("details.group summary").first.click()
    expect(page.locator(".attribute")).to_have_count(12)
    levels = page.get_by_role("radiogroup", name="shade 3", exact=True)
    levels.get_by_label("strongly").check()
    expect(page.locator("details.group summary").first).to_contain_text("1 of 12 set")
    expect(page.locator(".chips li")).to_have_count(1)
    expect(page.locator(".results")).to_contain_text("No data is loaded")
    page.get_by_label("Search attributes").fill("part_7 shade_11")
    expect(page.locator(".attribute:visible > label")).to_have_text(["part 7 colour: shade 11"])
    page.locator(".chips button").click()
    expect(page.locator(".chips li")).to_have_count(0)
    page.get_by_role("link", name="Classes").click()
    expect(page.locator(".sortable tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Show 50 more").click()
    expect(page.locator(".sortable tbody tr")).to_have_count(100)
    page.get_by_label("Filter by name").fill("bird_2999")
    expect(page.locator(".sortable tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Classify").click()
    expect(page.locator(".side")).to_contain_text("there is no curve")
    page.get_by_label("A file of samples").set_input_files(
        {"name": "x.csv", "mimeType": "", "buffer": b",".join([b"1"] * 16)}
    )
    expect(page.locator(".top li")).to_have_count(5)
    expect(page.locator(".why .rest")).to_have_count(1)


def test_a_description_in_words(segments, visit):
    """Words set what they name; the classes that fit come as cards, the rows below."""
    page = visit(segments)
    page.get_by_label("In words").fill("top and upper right, no bottom, purple")
    asked(page, lambda: page.get_by_role("button", name="Understand").click())
    told = page.locator(".said [role=status]")
    expect(told).to_contain_text("“top” is top")
    expect(told).to_contain_text("Not among the attributes: purple.")
    assert [page.get_by_label(name, exact=True).is_checked() for name in ("top", "upper right", "bottom")] == [
        True, True, False,
    ]  # fmt: skip
    first = page.locator(".fits .card").first
    expect(first).to_contain_text("fits to 100")
    assert page.locator(".fits img").count() > 0
    page.get_by_label("In words").fill("purple")
    page.get_by_role("button", name="Understand").click()
    expect(told).to_contain_text("No attribute was recognised.")
