"""Pictures are marked as right or wrong, taken back, labelled and adapted to."""

import pytest

from browsing import DESKTOP, MARKS, PHONE, asked, axe_faults, open_details, until

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_teaching_a_description_and_undoing_it(demo, visit, size):
    page = visit(demo, size)
    page.locator(".results[aria-busy=false] .card").nth(5).wait_for()
    marks = page.locator(".results .marks")
    marks.nth(1).get_by_role("button").first.click()
    page.get_by_role("button", name="Not now").click()  # nothing is saved
    marks.nth(1).get_by_role("button").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is it called?").fill("mine")
    asked(page, dialog.get_by_role("button", name="Save and mark").click)
    said = page.locator("#view-describe .taught")
    expect(said).to_contain_text("Taught: 1 right, 0 wrong for mine")
    expect(page.locator(".editing")).to_contain_text("Editing the class mine")
    assert page.locator(".results .yes[aria-pressed=true]").count() == 1
    wrong = marks.nth(3).get_by_role("button").nth(1)
    name = wrong.get_attribute("aria-label")
    assert name.startswith("Not this: picture ")
    asked(page, wrong.click)
    expect(said).to_contain_text("1 right, 1 wrong")
    assert axe_faults(page) == []
    asked(page, said.get_by_role("button", name="Undo").click)
    expect(said).to_contain_text("1 right, 0 wrong")
    expect(page.locator(".results .no[aria-pressed=true]")).to_have_count(0)
    page.goto(f"{demo}/#classes?class=mine")
    detail = page.locator(".detail")
    expect(detail.locator(".taught")).to_contain_text("1 right, 0 wrong for mine")
    asked(page, detail.locator(".no").nth(2).click)
    expect(detail.locator(".taught")).to_contain_text("1 right, 1 wrong for mine")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert axe_faults(page) == []
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more.")


def test_labelling_goes_on_by_itself(demo, visit):
    page = visit(f"{demo}/#label")
    page.locator(".subject img").wait_for()
    box = page.get_by_role("combobox")
    expect(box).to_be_focused()
    expect(page.locator(".options li")).to_have_count(9)
    first = page.locator(".subject img").get_attribute("alt")
    asked(page, lambda: page.keyboard.press("2"), "/label-next")
    until(page, f"document.querySelector('.subject img').alt !== '{first}'")
    expect(page.locator(".naming .strong")).to_have_text("1 picture labelled of 50")
    expect(page.locator(".grows")).to_contain_text("kept back are named right")
    expect(page.locator(".growth")).to_be_visible()
    box.fill("Å")
    expect(page.locator(".options li").first).to_contain_text("Å")
    asked(page, lambda: page.keyboard.press("Enter"), "/label-next")
    expect(page.locator(".naming .strong")).to_have_text("2 pictures labelled of 50")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert axe_faults(page) == []
    for left in ("1 picture labelled of 50", "0 pictures labelled of 50"):
        asked(page, page.get_by_role("button", name="Undo").first.click, "/examples")
        expect(page.locator(".naming .strong")).to_have_text(left)
    expect(page.locator(".subject img")).to_have_attribute("alt", first)
    open_details(page)
    expect(page.locator(".verdict")).to_contain_text("Tried on classes that were set aside")
    page.get_by_role("button", name="Adapt to these pictures").click()
    panel = page.locator(".adapting")
    expect(panel).to_contain_text("get another answer now")
    panel.get_by_role("button", name="Undo").click()
    expect(panel).not_to_contain_text("get another answer now")


def test_answer_is_confirmed_or_corrected(demo, visit):
    """ "Right" and "No, it is …" below an answer; what was taught is the class's photo."""
    page = visit(f"{demo}/#classify?row=4")
    page.get_by_role("button", name="✓ Right", exact=True).click()
    expect(page.locator(".feedback")).to_contain_text("Learned: this is")
    page.locator(".feedback").get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="No, it is …").click()
    page.get_by_role("combobox", name="It is").fill("mine too")
    expect(page.locator(".options li").first).to_contain_text("A new class: mine too")
    page.keyboard.press("Enter")
    expect(page.locator(".feedback")).to_contain_text("Learned: this is mine too.")
    assert axe_faults(page) == []
    page.goto(f"{demo}/#classes?class=mine too")
    expect(page.locator(".taught-photos img")).to_have_count(1)
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator("#view-classes .note").get_by_role("button", name="Undo").click()  # and its example comes back
    expect(page.locator(".taught-photos img")).to_have_count(1)
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#view-classes")).to_contain_text("Choose a class to see more.")


SHRINK = """async () => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [3000, 2000];
  const ink = canvas.getContext("2d");
  const noise = ink.createImageData(3000, 2000);
  for (let k = 0, x = 1; k < noise.data.length; k++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    noise.data[k] = k % 4 === 3 ? 255 : x >>> 24;
  }
  ink.putImageData(noise, 0, 0);
  const large = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const { shrink } = await import("./page/photo_files.js");
  const small = await shrink(new File([large], "large.png", { type: "image/png" }));
  const image = await createImageBitmap(small);
  return [large.size > small.size, image.width, image.height, small.type];
}"""


def test_photos_are_made_smaller_before_they_are_sent(demo, visit):
    assert visit(demo).evaluate(SHRINK) == [True, 1536, 1024, "image/jpeg"]
