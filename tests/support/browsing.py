"""The service in a process of its own and its page in headless Chromium; run as a script, the picture of the README."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PICTURE = Path(__file__).parents[2] / "docs" / "figures" / "page.png"
LIT = ("top", "upper right", "lower right", "bottom", "middle")
LIMIT = 300  # seconds that only a page that is stuck takes
THREE = {name: name in LIT for name in (*LIT, "lower left", "upper left")}


@contextmanager
def served(*options, token=None):
    """The address of a `zskl serve` with these options, and its process."""
    environment = {name: value for name, value in os.environ.items() if name != "ZSKL_TOKEN"}
    environment |= {"OMP_NUM_THREADS": "1"} | ({"ZSKL_TOKEN": token} if token else {})
    command = [sys.executable, "-m", "zskl", "serve", "--port", "0", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        found = next(filter(None, (re.search(r" at (http://\S+)", line) for line in process.stdout)), None)
        assert found, f"{' '.join(command)} ended with {process.wait()} and gave no address"
        yield found[1], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT)
        process.stdout.close()


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


def describe(page, segments):
    """Set the switches of segments, each once the rows for the last have come: on a phone these take room."""
    for name, lit in segments.items():
        switch = page.get_by_label(name, exact=True)
        for state in (True,) if lit else (True, False):
            switch.set_checked(state)
            page.locator(".results[aria-busy=false] .card").first.wait_for()


if __name__ == "__main__":
    with served("--demo") as (address, _), browser() as chromium:
        page = new_page(chromium, viewport={"width": 1280, "height": 950}, color_scheme="light")
        page.goto(address)
        describe(page, THREE)
        page.locator(".results .card").nth(23).wait_for()
        page.evaluate("document.activeElement.blur()")
        until(page, "[...document.querySelectorAll('.results img')].every((one) => one.naturalWidth)")
        page.screenshot(path=PICTURE)
