"""A model is added by its address: its models are listed, one is taken, it is asked what it can
do, and what is not as it should be says what to do next."""

import json
import re

from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.providers.scripts import fails, raw, says


def test_a_model_is_added_from_what_its_address_lists(heddle: Heddle, visit: Open) -> None:
    provider = heddle.provider
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/participants/new")
    kind, address = page.locator("[data-kind]"), page.get_by_label(re.compile("^Base URL"))
    expect(address).to_have_attribute("placeholder", "https://api.openai.com/v1")
    kind.select_option("litellm")
    expect(page.get_by_role("button", name="List models")).to_be_disabled()
    kind.select_option("custom")
    page.get_by_role("button", name="List models").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter the base URL first.")
    address.fill(provider.url)
    provider.script(fails(401, "no such key"))
    page.get_by_role("button", name="List models").click()
    expect(page.get_by_role("alert")).to_contain_text("The provider refused the key")
    names = {"data": [{"id": "novelist-7b"}, {"id": "poet-1b"}]}
    provider.script(raw(json.dumps(names).encode(), kind="application/json"))
    page.get_by_label(re.compile("^Key")).fill("sk-good")
    page.get_by_role("button", name="List models").click()
    page.get_by_label("2 models available").select_option("poet-1b")
    expect(page.get_by_label("Model", exact=True)).to_have_value("poet-1b")
    page.get_by_label(re.compile("^Name")).fill("Poet")
    kept, provider.default = provider.default, says("and ", "so on")
    page.get_by_role("button", name="Save").click()
    probe = page.locator("#probe")
    expect(probe).to_contain_text("Tested at", timeout=30_000)
    expect(probe.get_by_role("listitem").filter(has_text="instruction")).to_contain_text("yes")
    provider.default = kept
    page.reload()
    expect(page.get_by_role("checkbox", name=re.compile("^prefill"))).to_be_checked()
    expect(page.get_by_label("Model", exact=True)).to_have_value("custom:poet-1b")
    assert "sk-good" not in page.content()


def test_the_form_fits_a_phone(heddle: Heddle, visit: Open) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/participants/new", size=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
