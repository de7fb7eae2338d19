"""The page of the service in headless Chromium. Run as a script, it takes the picture for the README."""

import shutil
import time
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PICTURE = Path(__file__).parents[2] / "docs" / "figures" / "page.png"
LIT = ("top", "upper right", "lower right", "bottom", "middle")
FEATURES = ["rpm", "current_A", "noise_dB", "oil, C"]  # of the fixture `machines`
LIMIT = 300  # seconds that only a page that is stuck takes
MARKS = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: install Debian's package chromium"),
    pytest.mark.xdist_group("browser"),  # one browser and one service of each sort for all
]
THREE = {name: name in LIT for name in (*LIT, "lower left", "upper left")}


@contextmanager
def browser(*options):
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * LIMIT)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", *options], timeout=1000 * LIMIT
        )
        try:
            yield found
        finally:
            found.close()


def new_page(found, **options):
    """A page of a browser, patient enough for a busy machine."""
    context = found.new_context(**options)
    context.set_default_timeout(1000 * LIMIT)
    return context.new_page()


def until(page, condition):
    """Wait for a condition in the page's own language; its policy forbids what Playwright has for that."""
    end = time.monotonic() + LIMIT
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def caught(page, held):
    """The first request that a route holds back in a list: the page knows of it before the list does."""
    end = time.monotonic() + LIMIT
    while not held:
        assert time.monotonic() < end, "no request came"
        page.wait_for_timeout(20)
    return held[0]


def describe(page, segments):
    """Set the switches of segments, each once the rows for the last have come: on a phone these take room."""
    for name, lit in segments.items():
        switch = page.get_by_label(name, exact=True)
        for state in (True,) if lit else (True, False):
            switch.set_checked(state)
            page.locator(".results[aria-busy=false] .card").first.wait_for()


def ranked(page):
    """Classes of the rows on show, best first, once the newest ranking has arrived."""
    page.locator(".results[aria-busy=false] .card").first.wait_for()
    return page.locator(".results .card b").all_inner_texts()


def asked(page, act, path="/rank"):
    """Do something and wait until what the page asks for because of it has been answered and shown."""
    with page.expect_response(lambda one: one.url.split("?")[0].endswith(path) and one.ok):
        act()
    until(page, "document.querySelectorAll('section:not([hidden]) [aria-busy=true]').length === 0")


def open_details(page):
    """What is for experts, and what is set by hand: folded at first."""
    page.evaluate(
        "document.querySelectorAll('section:not([hidden]) :is(.experts, .controls, .numbers)').forEach("
        "(one) => (one.open = true))"
    )


def saved(page, name):
    """Save what is described as a class, once the rows that match are there: they move the button."""
    until(page, "document.querySelectorAll('section:not([hidden]) [aria-busy=true]').length === 0")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Save").click()


def axe_faults(page, rules=None):
    """Serious faults, of all rules or of those that are named, once nothing is dimmed because it is about to change."""
    until(page, "!document.querySelector('[aria-busy=true]')")
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}  # what is in order is not told
    found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


if __name__ == "__main__":
    from services import running

    with running("--demo") as service, browser() as chromium:
        page = new_page(chromium, viewport={"width": 1280, "height": 950}, color_scheme="light")
        page.goto(service.address)
        page.locator(".results .card").nth(5).wait_for()
        page.locator(".fitting img").nth(5).wait_for()
        until(page, "[...document.querySelectorAll('.fitting img')].slice(0, 6).every((one) => one.naturalWidth)")
        page.screenshot(path=PICTURE)
