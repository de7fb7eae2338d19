"""The report in a real browser: headless Chromium, which no name of a host can leave."""

import time

import pytest

from browsing import BROWSER, LIMIT, browser, new_page
from records import full, page_of

pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: install Debian's package chromium"),
    pytest.mark.xdist_group("browser"),  # one service and one browser for all
]

LOOK = """
document.querySelectorAll("details").forEach((one) => { one.open = true; });
const box = (one) => one.getBoundingClientRect();
const beside = (a, b) => a.right - 1 <= b.left || b.right - 1 <= a.left;
const apart = (a, b) => beside(a, b) || a.bottom - 2 <= b.top || b.bottom - 2 <= a.top;
const figures = [...document.querySelectorAll("svg")].map((svg) => {
  const frame = box(svg), texts = [...svg.querySelectorAll("text")];
  const name = svg.querySelector("title").textContent;
  const outside = texts.filter((one) => box(one).left < frame.left - 1 || box(one).right > frame.right + 1
    || box(one).top < frame.top - 1 || box(one).bottom > frame.bottom + 1).map((one) => one.textContent);
  const over = texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => !apart(box(a), box(b)))
    .map((b) => a.textContent + " / " + b.textContent));
  const size = texts.map((one) => box(one).height).reduce((a, b) => Math.min(a, b), 99);
  const shapes = svg.querySelectorAll("path,rect,circle").length;
  return { name, wide: frame.width, high: frame.height, shapes, outside, over, size };
});
const column = () => [...document.querySelector("#generalised tbody").rows].map((row) => row.cells[3].dataset.value);
const orders = [column()];
for (let k = 0; k < 2; k++) { document.querySelectorAll("#generalised th button")[3].click(); orders.push(column()); }
return { figures, orders, page: document.body.scrollWidth, window: document.body.clientWidth,
  ground: getComputedStyle(document.body).backgroundColor };
"""


@pytest.fixture(scope="module")
def chromium():
    with browser("--host-resolver-rules=MAP * ~NOTFOUND") as found:
        yield found


@pytest.fixture(scope="module")
def one_page(chromium):
    """One page for all tests: another one takes a second to open."""
    found = new_page(chromium, viewport={"width": 1300, "height": 900})
    found.said = []
    found.on("console", lambda message: found.said.append(message.text))
    found.on("pageerror", lambda error: found.said.append(str(error)))
    return found


@pytest.fixture
def opened(one_page, tmp_path):
    """Open a report whose script has run; what its console says, and what requests of it failed, are in `said`."""

    def open_page(text, address="", color_scheme="null"):
        file = tmp_path / "report.html"
        file.write_text(text, "utf-8")
        one_page.emulate_media(color_scheme=color_scheme)
        one_page.goto(file.as_uri() + address)
        return one_page

    yield open_page
    one_page.goto("about:blank")
    one_page.said.clear()


def looked_at(found, wide=1200):
    """What a script sees in a page of this width."""
    seen = found.evaluate(f"() => {{ document.body.style.width = '{wide}px'; {LOOK} }}")
    assert found.said == []
    return seen


@pytest.fixture(scope="module")
def page():
    names = [f"{k:03d}.Long_named_bird_of_{k}" for k in range(40)]
    few = [full(method=name, accuracy=0.3 + k / 10) for k, name in enumerate(("dap", "eszsl", "gaussian"))]
    gram = [[1.0 if i == j else (-1) ** i * 0.55 for j in range(10)] for i in range(10)]
    return page_of([*few, *(full(dataset="CUB", seed=seed, classes=names, gram=gram) for seed in (0, 1))])


def test_address_sorts_figures_are_drawn_and_no_words_overlap(page, opened):
    shown = opened(page, "#sort=zero-shot:3", color_scheme="light")
    table = shown.locator("#zero-shot")
    assert table.locator("th").nth(3).get_attribute("aria-sort") == "descending"
    values = [float(one.get_attribute("data-value")) for one in table.locator("tbody td:last-child").all()]
    assert len(values) == 4
    assert values == sorted(values, reverse=True)
    for wide in (1200, 390):
        found = looked_at(shown, wide)
        assert found["window"] == wide
        assert len(found["figures"]) == 28
        for figure in found["figures"]:
            assert figure["outside"] == [], figure["name"]
            assert figure["over"] == [], figure["name"]
            assert figure["shapes"] > 3
            assert figure["wide"] > 250
            assert figure["high"] > 80
            assert figure["size"] > 8, f"{figure['name']}: words {figure['size']} pixels high"
        assert found["page"] <= found["window"], "the page is wider than its body"
        assert found["ground"] == "rgb(255, 255, 255)"


def test_a_click_on_a_header_sorts_and_a_second_reverses_in_dark_mode_too(page, opened):
    found = looked_at(opened(page, color_scheme="dark"))
    before, first, second = found["orders"]
    assert first == sorted(before, key=float, reverse=True)
    assert second == first[::-1] != first
    assert found["ground"] == "rgb(22, 24, 27)"


def test_planted_faults_reach_the_console(page, opened):
    """All three; the console tells each of them apart."""
    faults = {
        "inline script": "<script>console.error('planted')</script>",
        "pixel.png": '<img src="https://example.org/pixel.png">',
        "x.css": '<link rel="stylesheet" href="https://example.org/x.css">',
    }
    found = opened(page.replace("</main>", "".join(faults.values()) + "</main>"))
    end = time.monotonic() + LIMIT
    while (missing := [one for one in faults if one not in " ".join(found.said)]) and time.monotonic() < end:
        found.wait_for_timeout(20)
    assert missing == []


def test_planted_words_outside_and_on_top_of_each_other_are_found(page, opened):
    stray = '<text x="-99" y="50">stray</text><text x="50" y="50">one</text><text x="52" y="50">two</text>'
    first = looked_at(opened(page.replace("</desc>", "</desc>" + stray, 1)))["figures"][0]
    assert first["outside"] == ["stray"]
    assert "one / two" in first["over"]


WIDE = """
document.querySelectorAll("details").forEach((one) => { one.open = true; });
const cut = [...document.querySelectorAll(".box")].filter((box) => box.scrollWidth > box.clientWidth + 1);
const words = [...document.querySelectorAll("p, figcaption, pre")].map((one) => one.innerText);
return { scrolled: cut.map((box) => box.querySelector("table").id), words, page: document.body.scrollWidth };
"""


def test_no_table_scrolls_sideways_at_1280_and_no_note_is_repeated(opened):
    """In 0.2 five of eleven tables did, and two notes and a list of commands stood there again and again."""
    from dataclasses import replace

    from zskl.experiments.record import AdaptedResults, Record, TaughtResults
    from zskl.report import page as make_page

    found = []
    for method in ("class-means", "gaussian-softmax", "polynomial-4-softmax"):
        one = Record.from_json(full(method=method, fingerprint="0123456789abcdef" * 4))
        taught = tuple(TaughtResults(shots, one.zsl, one.gzsl, one.gzsl_calibrated) for shots in (1, 5))
        refused = "validation classes promise +0.4 points: expected more than 1; use force=True (--force)"
        adapted = AdaptedResults("all", replace(one.zsl, declined=refused), one.gzsl, one.gzsl_calibrated)
        found.append(replace(one, taught=taught, adapted=(adapted,)))
    shown = opened(make_page(found))
    shown.set_viewport_size({"width": 1280, "height": 900})
    seen = shown.evaluate(f"() => {{ {WIDE} }}")
    stiff = 'document.querySelectorAll("th, td").forEach((one) => { one.style.whiteSpace = "nowrap"; });'
    assert len(shown.evaluate(f"() => {{ {stiff} {WIDE} }}")["scrolled"]) > 2  # as in 0.2
    shown.set_viewport_size({"width": 1300, "height": 900})
    assert (seen["scrolled"], seen["page"]) == ([], 1280)
    long = [text for text in seen["words"] if len(text) > 60]
    assert len(long) > 10
    assert sorted(text for text in set(long) if long.count(text) > 1) == []
    assert not [text for text in long if "=True" in text]
