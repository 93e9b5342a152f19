"""Searching the web: set up by an owner in the settings, used in the command bar, read there."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_palette import bar
from tests.browser.test_two_people import live
from tests.providers.scripts import Script


@pytest.mark.parametrize(("size", "theme"), [(DESK, "light"), (PHONE, "dark")])
def test_a_service_is_set_and_its_results_are_read(
    heddle: Heddle, visit: Open, size: dict[str, int], theme: str
) -> None:
    listed: Any = heddle.get("groves")["results"]
    grove = listed[0]["id"]
    page = visit(f"/groves/{grove}/settings", size=size, theme=theme)
    form = page.get_by_role("form", name="Web search")
    address = form.get_by_role("textbox", name="Address")
    address.fill("http://127.0.0.1:9")
    form.get_by_role("spinbutton", name="Price of a search").fill("0.25")
    form.get_by_role("button", name="Save").click()
    # Why it was refused is read at the form, with what was typed.
    expect(form.get_by_role("alert")).to_contain_text("127.0.0.1:9 may not be called")
    expect(form.get_by_role("alert")).to_be_in_viewport()
    expect(address).to_have_value("http://127.0.0.1:9")
    price = form.get_by_role("spinbutton", name="Price of a search")
    expect(price).to_have_value("0.25")
    price.fill("")
    address.fill(f"http://{heddle.provider.entry}")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. → search")).to_be_in_viewport()
    expect(form.get_by_text("SearXNG answers")).to_be_visible()
    rows = [{"title": "The tower", "url": "https://example.org/tower", "content": "It is tall."}]
    heddle.provider.script(Script(body=json.dumps({"results": rows}).encode()))
    page.goto(f"{heddle.url}/trees/{heddle.tree('Towers', 'An old clock.')}")
    live(page)
    bar(page, '→ search "clock towers"')
    page.keyboard.press("Enter")
    answer = page.locator(".command-answer")
    expect(answer).to_contain_text("1. The tower")
    expect(answer).to_contain_text("https://example.org/tower")
    page.goto(f"{heddle.url}/groves/{grove}/settings")
    page.get_by_role("form", name="Web search").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Web search is off.")).to_be_visible()
