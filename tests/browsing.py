"""The service in a process of its own and its page in headless Chromium; run as a script, the picture of the README."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "page.png"
LIT = ("top", "upper right", "lower right", "bottom", "middle")
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
        process.wait(30)
        process.stdout.close()


@contextmanager
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


def describe(page, segments):
    """Set the switches of segments, each once the rows for the last have come: on a phone these take room."""
    for name, lit in segments.items():
        switch = page.get_by_label(name, exact=True)
        for state in (True,) if lit else (True, False):
            switch.set_checked(state)
            page.locator(".results[aria-busy=false] .card").first.wait_for()


if __name__ == "__main__":
    with served("--demo") as (address, _), browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 950}, color_scheme="light")
        page.goto(address)
        describe(page, THREE)
        page.locator(".results .card").nth(23).wait_for()
        page.evaluate("document.activeElement.blur()")
        while not page.evaluate("[...document.querySelectorAll('.results img')].every((one) => one.naturalWidth)"):
            page.wait_for_timeout(50)
        page.screenshot(path=PICTURE)
