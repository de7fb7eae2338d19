"""A token, a service that does not answer, a fault."""

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from browsing import MARKS, asked, ranked, until
from services import in_thread

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: install the extra browser")
pytestmark = MARKS
expect = playwright.expect


def test_token_prompt_and_stopped_service(digits_file, visit, tmp_path):
    with in_thread(digits_file, data="digits", classes=tmp_path / "classes", token="secret") as (address, stop):
        page = visit(address, faults="401|Failed to load resource")
        expect(page.get_by_label("Token")).to_be_focused()
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("main")).to_contain_text("does not accept this token")
        page.get_by_label("Token").fill("secret")
        page.get_by_role("button", name="Continue").click()
        asked(page, lambda: page.get_by_label("top", exact=True).check())
        until(page, "document.querySelector('.results img')?.naturalWidth > 0")
        assert page.locator(".results img").first.get_attribute("src").startswith("blob:")
        page.reload()
        expect(page.get_by_label("Start from")).to_be_visible()
        stop()
        page.get_by_label("middle", exact=True).check()
        expect(page.locator(".results .fault")).to_contain_text("The service does not answer. Is it still running?")
        expect(page.locator(".results").get_by_role("button", name="Try again")).to_be_visible()


def test_error_clears_after_retry(segments, visit):
    page = visit(f"{segments}/#classes", faults="500")
    page.route("**/rank", lambda route: route.fulfill(status=500, json={"error": "planted"}))
    page.get_by_role("link", name="Find", exact=True).click()
    page.get_by_label("top", exact=True).check()
    expect(page.locator(".results .fault")).to_contain_text("planted")
    page.unroute("**/rank")
    asked(page, page.get_by_role("button", name="Try again").click)
    assert ranked(page)
