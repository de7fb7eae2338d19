"""Your own photos on the page, with a network that reads 8 × 8 pixels."""

import io

import numpy as np
import pytest

from browsing import MARKS, PHONE, axe_faults, until
from zskl import datasets

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect
QUIET = "document.querySelectorAll('section:not([hidden]) [aria-busy=true]').length === 0"
DROP = """(bytes) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
  const event = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
  document.querySelector("#classify-title").dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def reading(digits_file):
    """A service of the digits that reads photos."""
    import served
    from zskl.datasets.images.backbones.backbone import Backbone
    from zskl.serve import photos

    def prepare(image):
        return np.asarray(image.convert("L"), np.float32)[None] / 15

    network = Backbone("pixels", "pixels", prepare, lambda batch: np.resize(batch, (len(batch), 64)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(photos.backbones, "load", lambda name, device: network)
        patch.setattr(photos, "require", lambda *names: None)
        kept = digits_file.with_name("photos.jsonl")
        with served.in_thread(digits_file, data="digits", backbone="onnx:pixels.onnx", classes=kept) as (address, _):
            yield address


def photo(row, name="one.png"):
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray((15 * datasets.load("digits").X[row].reshape(8, 8)).astype(np.uint8)).save(out, "PNG")
    return {"name": name, "mimeType": "image/png", "buffer": out.getvalue()}


def test_photos_are_chosen_dropped_counted_and_downloaded(reading, visit):
    page = visit(f"{reading}/#classify?row=5")
    expect(page.locator(".sample")).to_contain_text("Picture 5")
    best = page.locator(".top .name").first.inner_text()
    page.get_by_label("Choose photos").set_input_files(photo(5))
    expect(page.locator(".sample")).to_contain_text("one.png")
    expect(page.locator(".sample")).to_contain_text("not kept")
    assert page.locator(".top .name").first.inner_text() == best  # as of the row with the same pixels
    expect(page.locator(".top .first .looks img")).to_have_count(3)
    page.evaluate(DROP, list(photo(7)["buffer"]))
    expect(page.locator(".sample")).to_contain_text("dropped.png")
    heic = {"name": "b.heic", "mimeType": "image/heic", "buffer": b"\0\0\0\x18ftypheic" + bytes(20)}
    page.get_by_label("Choose photos").set_input_files([photo(1, "=SUM(A1).png"), photo(2, 'a",b.png'), heic])
    expect(page.locator(".all h4")).to_have_text("2 photos by class")
    expect(page.locator(".drop")).to_contain_text("b.heic is a HEIC photo")
    page.get_by_label("Say so where the best class").fill("100")
    expect(page.locator(".answer")).to_contain_text("Probably none of these.")
    expect(page.locator(".counts")).to_contain_text("none of these")
    until(page, QUIET)
    with page.expect_download() as found:
        page.get_by_role("button", name="Download the answers").click()
    with open(found.value.path(), encoding="utf-8-sig", newline="") as file:
        lines = file.read().split("\r\n")
    assert lines[0] == "photo,class,probability,kind,none_of_these"
    assert lines[1].startswith("'=SUM(A1).png,")
    assert lines[2].startswith('"a"",b.png",')
    assert lines[1].endswith(",true")


def test_a_photo_on_a_phone(reading, visit):
    page = visit(f"{reading}/#classify", size=PHONE, has_touch=True, is_mobile=True, color_scheme="dark")
    expect(page.get_by_role("button", name="Take a photo")).to_be_visible()
    page.get_by_label("Take a photo").last.set_input_files(photo(5, "camera.png"))
    expect(page.locator(".sample")).to_contain_text("camera.png")
    until(page, QUIET)
    until(page, "scrollY > 100")  # the answer is brought into sight
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert axe_faults(page) == []


def test_a_model_without_probabilities_says_so(means, visit):
    page = visit(f"{means}/#classify?row=3")
    expect(page.locator(".answer")).to_contain_text("zskl fit … --calibrate")
    expect(page.locator(".answer")).to_contain_text("an empty bar is a class with an average score")
    widths = page.locator(".top .fill").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert widths[0] == 100
    assert widths == sorted(widths, reverse=True)
    expect(page.get_by_label("Say so where")).to_have_count(0)
