"""The view Describe: attributes and words, matching rows, saving a class, and the address that holds it all."""

import os
from pathlib import Path
from urllib.parse import urlencode

import pytest

from browsing import DESKTOP, MARKS, PHONE, THREE, asked, axe_faults, describe, open_details, ranked, saved, until
from zskl import datasets

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> & "it"/../é'
CUB = Path(os.environ.get("ZSKL_DATA", "")) / "cub-images"
WIDE = "document.documentElement.scrollWidth"


def test_described_digit_finds_its_pictures(segments, visit):
    page = visit(segments)
    expect(page.locator("#loaded")).to_contain_text("10 classes, 3 of them new to the model")
    expect(page.locator(".found h3")).to_contain_text("Some")
    describe(page, THREE)
    until(page, "document.querySelectorAll('.results .card').length === 6")
    three = ranked(page)
    assert three.count("3") > 3
    assert page.locator(".segment.on").count() == 5
    until(page, "[...document.querySelectorAll('.results img')].slice(0, 6).every((one) => one.naturalWidth)")
    asked(page, lambda: page.get_by_label("middle", exact=True).uncheck())
    assert ranked(page) != three
    asked(page, lambda: page.locator("polygon.segment").nth(6).click())  # the drawing is a second way to do the same
    assert ranked(page) == three
    open_details(page)
    asked(page, lambda: page.get_by_label("Which of the data").select_option("test_seen"))
    assert "3" not in ranked(page)
    asked(page, lambda: page.get_by_role("button", name="Show more").click())
    assert len(ranked(page)) == 24


def test_start_from_a_class_and_undo(segments, visit):
    page = visit(segments)
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    three = ranked(page)
    assert three.count("3") > 3
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
    expect(page.locator(".found h3")).to_contain_text("Some")


def test_attribute_search(segments, visit):
    page = visit(segments)
    page.get_by_label("Search attributes").fill("right")
    expect(page.get_by_text("2 attributes", exact=True)).to_be_visible()
    assert page.locator(".attribute:visible > label").all_inner_texts() == ["upper right", "lower right"]
    page.get_by_label("lower right", exact=True).locator("visible=true").check()
    page.get_by_label("Search attributes").fill("zzz")
    expect(page.get_by_text("No attribute has these letters")).to_be_visible()
    page.get_by_label("Search attributes").fill("")
    expect(page.locator(".attribute:visible").nth(2)).to_contain_text("on")


def test_search_prefers_word_starts(machines, visit):
    page = visit(machines[0])
    expect(page.locator("details.group[open]")).to_have_count(3)  # so few attributes are all in sight
    page.get_by_label("Search attributes").fill("ar")
    hits = page.locator(".attribute:visible > label")
    expect(hits).to_have_text(["bearing: wear", "bearing: greased"])
    page.get_by_label("Search attributes").fill("a")
    expect(hits.first).to_have_text("age")
    names = page.get_by_label("Start from").locator("option").all_inner_texts()
    assert names[1:] == ["fan", "saw", "lathe", "mill", "press", "pump"]


def test_typed_number_may_exceed_the_slider(machines, visit):
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
    expect(page.locator(".found h3")).to_contain_text("Some")
    asked(page, lambda: field.fill("-100"))
    saved(page, "slow")
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator(".detail .why tbody tr").first).to_contain_text("−100")
    page.get_by_role("button", name="Delete …").click()
    with page.expect_response(lambda answer: answer.request.method == "DELETE"):  # before another test looks
        page.get_by_role("button", name="Delete", exact=True).click()


def test_pictured_rows_come_first(pictured, visit):
    page = visit(f"{pictured}/#classify")
    expect(page.locator(".pick .card")).to_have_count(4)
    expect(page.locator(".pick img.picture")).to_have_count(4)
    page.get_by_label("only photos that can be shown").uncheck()
    expect(page.locator(".pick .card")).to_have_count(24)
    page.get_by_role("link", name="Find", exact=True).click()
    page.get_by_label("top", exact=True).check()
    expect(page.locator(".results img.picture")).to_have_count(4)
    open_details(page)
    page.get_by_role("checkbox", name="only photos that can be shown").uncheck()
    expect(page.locator(".results img.picture")).not_to_have_count(4)


def test_many_attributes_and_classes_without_data(large, visit):
    page = visit(large)
    expect(page.locator("#loaded")).to_contain_text("no data loaded")
    open_details(page)
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
    page.get_by_role("link", name="Identify").click()
    expect(page.locator(".side")).to_contain_text("there is no curve")
    page.get_by_label("A file of samples").set_input_files(
        {"name": "x.csv", "mimeType": "", "buffer": b",".join([b"1"] * 16)}
    )
    expect(page.locator(".top li")).to_have_count(5)
    expect(page.locator(".why .rest")).to_have_count(1)


def test_description_in_words(segments, visit):
    """Words set what they name; a new sentence takes the place of the last, unless one adds to it."""
    page = visit(segments)
    box, find = page.get_by_label("What does it look like?"), page.get_by_role("button", name="Find", exact=True)
    box.fill("top and upper right, no bottom, purple")
    asked(page, find.click)
    told = page.locator(".understood")
    expect(told).to_have_text("Not used: purple.")
    assert [page.get_by_label(name, exact=True).is_checked() for name in ("top", "upper right", "bottom")] == [
        True, True, False,
    ]  # fmt: skip
    expect(page.locator(".fits .card").first).to_contain_text("100")
    assert page.locator(".fits img").count() > 0
    box.fill("middle")
    asked(page, find.click)
    expect(page.locator(".chip")).to_have_count(1)
    expect(page.locator(".chip")).to_contain_text("middle")
    page.get_by_label("Add to what is there").check()
    box.fill("top")
    asked(page, find.click)
    expect(page.locator(".chip")).to_have_count(2)
    box.fill("purple")
    find.click()
    expect(told).to_contain_text("None of these words")
    expect(page.locator(".chip")).to_have_count(2)  # what nobody understands changes nothing


def test_few_tabs_lead_from_the_box_to_the_first_photo(demo, visit):
    page = visit(demo)
    ranked(page)
    page.get_by_label("What does it look like?").focus()
    there = False
    for _ in range(8):
        page.keyboard.press("Tab")
        there = there or page.evaluate("Boolean(document.activeElement.closest('.results .card'))")
    assert there
    page.locator(".chip select").first.focus()
    page.keyboard.press("ArrowRight")  # along the chips
    expect(page.locator(".chip button").first).to_be_focused()


def test_chips_stay_when_a_class_is_saved_and_opened_again(segments, visit):
    page = visit(segments)
    describe(page, {"top": True, "middle": True})
    saved(page, "pair")
    expect(page.locator(".done")).to_contain_text("Saved")
    expect(page.locator(".chip")).to_have_count(2)
    page.goto(f"{segments}/#describe?class=pair&edit=yes")
    expect(page.locator(".editing")).to_contain_text("pair")
    expect(page.locator(".chip")).to_have_count(2)
    asked(page, page.get_by_label("Remove top").click)
    expect(page.locator(".chip")).to_have_count(1)
    page.get_by_label("Name", exact=True).fill("Pa_ir")
    expect(page.locator(".saving")).to_contain_text("There is already pair")
    expect(page.get_by_role("button", name="Save all the same")).to_be_visible()
    page.goto(f"{segments}/#classes?class=pair")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator("#view-classes .note").get_by_role("button", name="Undo").click()  # a deletion can be taken back
    expect(page.locator("#class-title")).to_contain_text("pair")
    expect(page.locator(".detail")).to_contain_text("5 attributes not set")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#view-classes .note")).to_contain_text("Deleted “pair”.")


JARGON = ("trainval", "test_seen", "harmonic", "would win", "signature", "calibration")


def test_common_view_has_plain_words(demo, visit):
    """What is not folded away says nothing that only an expert knows."""
    page = visit(demo)
    ranked(page)
    for view in ("describe", "classify", "label", "classes"):
        page.goto(f"{demo}/#{view}")
        page.locator("section:not([hidden]) :is(.card, .subject img)").first.wait_for()
        until(page, "document.querySelectorAll('section:not([hidden]) [aria-busy=true]').length === 0")
        text = page.locator("main").inner_text()
        assert [word for word in JARGON if word in text.lower()] == [], view


def test_unseen_letter_is_found_by_letter_and_mark(demo, visit):
    page = visit(demo)
    assert ranked(page).count("å") > 4
    expect(page.locator(".examples")).to_contain_text("new to the model")
    letter, mark = (page.get_by_role("radiogroup", name=name, exact=True) for name in ("letter", "mark"))
    expect(letter.get_by_label("a", exact=True)).to_be_checked()
    asked(page, lambda: mark.get_by_label("grave", exact=True).check())
    expect(mark.get_by_label("ring above")).not_to_be_checked()
    assert ranked(page).count("à") > 4
    expect(page.locator(".examples p")).to_be_hidden()
    letter.get_by_label("a", exact=True).focus()
    asked(page, lambda: page.keyboard.press("ArrowRight"))
    expect(letter.get_by_label("b", exact=True)).to_be_checked()
    page.reload()
    expect(letter.get_by_label("b", exact=True)).to_be_checked()
    asked(page, lambda: mark.get_by_label("not set").check())
    assert ranked(page).count("b") > 4
    asked(page, lambda: page.get_by_label("Start from").select_option(label="ñ"))
    expect(mark.get_by_label("tilde")).to_be_checked()
    expect(mark.get_by_label("not set")).to_be_hidden()
    page.get_by_label("Start from").select_option(index=0)
    expect(letter.get_by_label("not set")).to_be_checked()


def test_invented_letter_becomes_a_class(demo, visit):
    page = visit(demo)
    asked(page, page.get_by_role("button", name="q with ring above").click)
    expect(page.locator("div.rest")).to_contain_text("All attributes are set.")
    assert len(ranked(page)) == 6
    saved(page, "q̊")
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator("#class-title")).to_contain_text("q̊")
    expect(page.locator(".detail .near").first).to_contain_text("q")
    asked(page, page.get_by_role("link", name="Identify").click, "/predict")
    asked(page, lambda: page.get_by_label("Compare with").select_option("=q̊"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_contain_text("q̊")
    page.go_back()
    expect(page.locator("#class-title")).to_be_focused()  # the panel is new
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".gallery")).not_to_contain_text("q̊")


def test_choice_is_accessible(demo, visit):
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


def test_class_is_saved_edited_and_deleted(segments, visit):
    page = visit(segments, faults="409")
    page.get_by_label("top", exact=True).check()
    page.get_by_label("middle", exact=True).check()
    open_details(page)
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


def test_renaming_an_edited_class_adds_a_new_one(segments, visit):
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
    expect(page.locator("form.panel h3")).to_have_text("Keep it as a class")
    assert not page.get_by_label("middle", exact=True).is_checked()
    for name in ("one", "two"):
        page.goto(f"{segments}/#describe?{urlencode({'class': name, 'edit': 'yes'})}")
        expect(page.locator(".editing")).to_contain_text(name)
        page.goto(f"{segments}/#classes?{urlencode({'class': name})}")
        expect(page.locator("#class-title")).to_be_focused()  # the panel is new; the old one had such a button too
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("button", name="Delete", exact=True).dblclick()
        expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more")
    page.get_by_role("link", name="Find", exact=True).click()
    expect(page.locator(".editing")).to_be_hidden()  # there is nothing to replace any more


def test_names_are_escaped_everywhere(segments, visit):
    page = visit(segments)
    page.get_by_label("Start from").select_option(label="8")
    saved(page, HOSTILE)
    expect(page.locator(".done")).to_contain_text(HOSTILE)
    page.get_by_role("link", name="Show it in Classes").click()
    expect(page.locator("#class-title")).to_contain_text(HOSTILE)
    expect(page.locator(".gallery")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_role("link", name="Identify").click(), "/predict")
    expect(page.locator(".answer .top")).to_contain_text(HOSTILE)
    asked(page, lambda: page.get_by_label("Compare with").select_option(f"={HOSTILE}"), "/predict")
    expect(page.locator(".answer h4").nth(1)).to_contain_text(HOSTILE)
    assert page.locator("main script").count() == 0
    assert page.title() == "Identify · zskl"
    page.go_back()
    expect(page.locator("#class-title")).to_be_focused()
    page.get_by_role("button", name="Delete …").click()
    expect(page.locator("dialog")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".gallery")).not_to_contain_text("<img")


def test_value_steps_are_bisected(machines, visit):
    page = visit(machines[0])
    found = page.evaluate(
        """async () => {
          const { levelOf, stepOf, valueOf, areDegrees } = await import("./page/levels.js");
          const one = { low: 10, high: 70, binary: false };
          const words = [0, 10, 19, 21, 39, 41, 59, 61, 70, 99].map((value) => levelOf(one, value));
          const step = stepOf(one, valueOf(one, 2 / 3));
          return [words, step, stepOf(one, 11), areDegrees([one]), levelOf({ low: 1, high: 1 }, 1)];
        }"""
    )
    no, little, typical, strongly = ["no"] * 3, ["a little"] * 2, ["typical"] * 2, ["strongly"] * 3
    assert found == [[*no, *little, *typical, *strongly], "typical", None, True, "strongly"]
    expect(page.get_by_label("Show numbers")).to_be_checked()  # a speed in thousands needs its number
    page.get_by_label("Show numbers").uncheck()
    load = page.get_by_role("radiogroup", name="load", exact=True)
    asked(page, lambda: load.get_by_label("a little").check())
    expect(page.get_by_label("Change motor: load")).to_have_value("1")
    asked(page, lambda: page.get_by_label("Change motor: load").select_option("strongly"))
    expect(load.get_by_label("strongly")).to_be_checked()
    expect(page.locator(".fits .score").first).to_contain_text("motor load")


def test_address_holds_the_description(segments, visit):
    page = visit(segments)
    asked(page, lambda: page.get_by_label("top", exact=True).check())
    until(page, "location.hash === '#describe?a=top=1'")
    asked(page, lambda: page.get_by_label("middle", exact=True).check())
    until(page, "location.hash === '#describe?a=top=1,middle=1'")
    expect(page.locator(".wins")).to_contain_text("would be taken for this")
    asked(page, page.go_back)
    expect(page.locator(".chip")).to_have_count(1)
    asked(page, page.go_forward)
    expect(page.locator(".chip")).to_have_count(2)
    page.reload()
    expect(page.get_by_label("middle", exact=True)).to_be_checked()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".share")).to_contain_text("copie")
    asked(page, lambda: page.get_by_label("Start from").select_option(label="3"))
    until(page, "location.hash === '#describe?class=3'")
    expect(page.locator(".same")).to_have_text("This describes almost exactly 3.")
    asked(page, lambda: page.goto(f"{segments}/#describe?a=top=1,colour=2,bottom=x"))
    told = "This link also sets what the model does not have: colour, bottom as x."
    expect(page.get_by_role("alert")).to_have_text(told)
    expect(page.locator(".chip")).to_have_count(1)
    page.get_by_label("Remove top").click()
    expect(page.locator(".kept")).to_be_hidden()
    page.locator(".found .card").first.wait_for()  # no empty gallery


@pytest.mark.skipif(not CUB.is_dir(), reason="no photographs of birds here: set ZSKL_DATA")
def test_sentence_leads_to_the_species(visit, tmp_path):
    from services import in_thread
    from zskl import ClassMeansClassifier

    root = str(CUB.parent / "xlsa17")
    data = datasets.load("cub", root=root)
    ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures).save(tmp_path / "cub.zskl")
    with in_thread(tmp_path / "cub.zskl", data="cub", root=[root], images=CUB) as (address, _):
        page = visit(address, color_scheme="light", reduced_motion="reduce")
        page.locator(".found img").nth(5).wait_for()
        assert page.evaluate("document.querySelector('.found img').getBoundingClientRect().top < innerHeight")
        assert page.locator(".attribute").count() == 0
        asked(page, page.get_by_role("button", name="“small black bird with a yellow head”").click)
        expect(page.locator(".fits .card").first).to_contain_text("Yellow-headed Blackbird")
        first = page.locator(".results .card").first.inner_text()
        if "Yellow-headed Blackbird" not in first:  # photos and classes agree, or the page says why
            expect(page.locator(".differ-why")).to_contain_text("The words fit Yellow-headed Blackbird best")
        expect(page.locator(".chip")).to_have_count(5)
        expect(page.locator(".understood")).to_have_text("")
        page.get_by_text("Set it by hand").click()
        page.locator("details.group summary").filter(has_text="wing color").click()
        asked(page, page.locator(".paint").filter(has_text="white").click)  # what is still loading is paler
        expect(page.locator(".chip")).to_have_count(6)
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert axe_faults(page, None if scheme == "light" else ["color-contrast"]) == []
            assert page.evaluate(WIDE) == size["width"]
            page.emulate_media(color_scheme="light")
