"""The report in a real browser: headless Chromium, which no name of a host can leave."""

import html
import json
import re
import shutil
import subprocess

import pytest

from reported import full
from zskl import report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: install Debian's package chromium")

LOOK = """
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
const column = () => [...document.querySelector("#generalised tbody").rows].map((row) => row.cells[2].textContent);
const orders = [column()];
for (let k = 0; k < 2; k++) { document.querySelectorAll("#generalised th button")[2].click(); orders.push(column()); }
const found = { figures, orders, page: document.body.scrollWidth, window: document.body.clientWidth,
  ground: getComputedStyle(document.body).backgroundColor };
document.body.append(Object.assign(document.createElement("pre"), { id: "found", textContent: JSON.stringify(found) }));
"""


def opened(folder, text, *options, address=""):
    """The page after its script has run, and what its console says."""
    file = folder / "report.html"
    file.write_text(text, "utf-8")
    command = [
        BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}", *options,
        file.as_uri() + address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, re.findall(r"CONSOLE.*", done.stderr)


def looked_at(folder, text, *options, wide=1200):
    """What a script sees that is added to the page, whose policy has to go for that."""
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    narrow = f"document.body.style.width = '{wide}px';"  # a window cannot be as narrow as a phone
    dom, console = opened(folder, free.replace("</body>", f"<script>{narrow}{LOOK}</script></body>"), *options)
    assert console == []
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))


@pytest.fixture(scope="module")
def page():
    names = [f"{k:03d}.Long_named_bird_of_{k}" for k in range(40)]
    few = [full(method=name, accuracy=0.3 + k / 10) for k, name in enumerate(("dap", "eszsl", "gaussian"))]
    gram = [[1.0 if i == j else (-1) ** i * 0.55 for j in range(10)] for i in range(10)]
    return report.page([*few, *(full(dataset="CUB", seed=seed, classes=names, gram=gram) for seed in (0, 1))])


def test_no_console_message_and_sorted_by_address(page, tmp_path):
    dom, console = opened(tmp_path, page, address="#sort=zero-shot:3")
    assert console == []
    table = re.search(r'<table class="sortable" id="zero-shot">.*?</table>', dom, re.DOTALL)[0]
    assert re.search(r'<th scope="col" class="number" aria-sort="descending">', table)
    values = [
        float(row)
        for row in re.findall(r'data-value="([\d.]+)"[^>]*>(?:<b>)?[\d.]+(?: ± [\d.]+)?(?:</b>)?</td></tr>', table)
    ]
    assert len(values) == 4
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("wide", [1200, 390])
def test_figures_are_drawn_and_nothing_overlaps(page, tmp_path, wide):
    found = looked_at(tmp_path, page, "--window-size=1300,900", wide=wide)
    assert found["window"] == wide
    assert len(found["figures"]) == 19
    for figure in found["figures"]:
        assert figure["outside"] == [], figure["name"]
        assert figure["over"] == [], figure["name"]
        assert figure["shapes"] > 3
        assert figure["wide"] > 250
        assert figure["high"] > 80
        assert figure["size"] > 8, f"{figure['name']}: words {figure['size']} pixels high"
    assert found["page"] <= found["window"], "the page is wider than its body"


def test_a_click_on_a_header_sorts_and_a_second_one_turns(page, tmp_path):
    before, first, second = looked_at(tmp_path, page)["orders"]
    assert first == sorted(before, key=float, reverse=True)
    assert second == first[::-1] != first


def test_light_and_dark(page, tmp_path):
    grounds = [looked_at(tmp_path, page, f"--blink-settings=preferredColorScheme={k}")["ground"] for k in (0, 1)]
    assert grounds == ["rgb(22, 24, 27)", "rgb(255, 255, 255)"]


@pytest.mark.parametrize(
    "fault",
    [
        "<script>console.error('planted')</script>",
        '<img src="https://example.org/pixel.png">',
        '<link rel="stylesheet" href="https://example.org/x.css">',
    ],
)
def test_a_planted_fault_reaches_the_console(page, tmp_path, fault):
    assert opened(tmp_path, page.replace("</main>", fault + "</main>"))[1]


def test_planted_words_outside_and_on_top_of_each_other_are_found(page, tmp_path):
    stray = '<text x="-99" y="50">stray</text><text x="50" y="50">one</text><text x="52" y="50">two</text>'
    first = looked_at(tmp_path, page.replace("</desc>", "</desc>" + stray, 1))["figures"][0]
    assert first["outside"] == ["stray"]
    assert "one / two" in first["over"]
