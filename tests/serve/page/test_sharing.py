"""A description in words and chips, in the address, and before it is saved; at both widths, in light and dark."""

import os
from pathlib import Path

import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, axe_faults, until

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect

CUB = Path(os.environ.get("ZSKL_DATA", "")) / "cub-images"
WIDE = "document.documentElement.scrollWidth"


def test_steps_of_a_value_are_cut_in_the_middle(machines, visit):
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
    expect(page.locator(".fits .score").first).to_contain_text("motor: load – strongly")


def test_the_address_holds_what_is_described(segments, visit):
    page = visit(segments)
    asked(page, lambda: page.get_by_label("top", exact=True).check())
    until(page, "location.hash === '#describe?a=top=1'")
    asked(page, lambda: page.get_by_label("middle", exact=True).check())
    until(page, "location.hash === '#describe?a=top=1,middle=1'")
    expect(page.locator(".wins")).to_contain_text("As a class this would win")
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
    expect(page.locator(".wins")).to_contain_text("It is all but the same as 3.")
    asked(page, lambda: page.goto(f"{segments}/#describe?a=top=1,colour=2,bottom=x"))
    told = "This link also sets what the model does not have: colour, bottom as x."
    expect(page.get_by_role("alert")).to_have_text(told)
    expect(page.locator(".chip")).to_have_count(1)
    page.get_by_label("Remove top").click()
    expect(page.locator(".kept")).to_be_hidden()
    page.locator(".welcome .card").first.wait_for()  # no empty gallery


@pytest.mark.skipif(not CUB.is_dir(), reason="no photographs of birds here: set ZSKL_DATA")
def test_a_birdwatcher_gets_from_a_sentence_to_the_species(visit, tmp_path):
    from served import in_thread
    from zskl import ClassMeansClassifier, datasets

    root = str(CUB.parent / "xlsa17")
    data = datasets.load("cub", root=root)
    ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures).save(tmp_path / "cub.zskl")
    with in_thread(tmp_path / "cub.zskl", data="cub", root=root, images=CUB) as (address, _):
        page = visit(address, color_scheme="light", reduced_motion="reduce")
        page.locator(".welcome img").first.wait_for()
        asked(page, page.get_by_role("button", name="“small black bird with a yellow head”").click)
        bird = page.locator(".fits .card").filter(has_text="Yellow-headed Blackbird")
        expect(bird).to_contain_text("new")
        expect(page.locator(".chip")).to_have_count(5)
        expect(page.locator(".said")).to_contain_text("Not among the attributes: bird.")
        expect(page.locator(".wins")).to_contain_text("photos")
        page.locator("details.group summary").filter(has_text="wing color").click()
        asked(page, page.locator(".paint").filter(has_text="white").click)  # what is still loading is paler
        expect(page.locator(".chip")).to_have_count(6)
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert axe_faults(page, None if scheme == "light" else ["color-contrast"]) == []
            page.evaluate("scrollTo(0, 900)")
            expect(page.get_by_role("button", name="Save")).to_be_in_viewport()
            expect(page.locator(".chip").first).to_be_in_viewport()
            assert page.evaluate(WIDE) == size["width"]
            page.emulate_media(color_scheme="light")
