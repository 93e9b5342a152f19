"""A model is added by its address: its models are listed, one is taken, it is asked what it can
do, and what is not as it should be says what to do next."""

import json
import re
from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_right_pane import tab
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, raw, says


def test_a_model_is_added_from_what_its_address_lists(heddle: Heddle, visit: Open) -> None:
    provider = heddle.provider
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/participants/new")
    kind, address = page.locator("[data-kind]"), page.locator("[data-address]")
    expect(page.get_by_label(re.compile("^Persona"))).to_be_hidden()  # folded, with its default
    expect(address).to_be_hidden()
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
    poet = {"id": "poet-1b", "context_length": 16_384}
    names = {"data": [{"id": "novelist-7b"}, poet]}
    provider.script(raw(json.dumps(names).encode(), kind="application/json"))
    page.get_by_label(re.compile("^Key")).fill("sk-good")
    page.get_by_role("button", name="List models").click()
    page.get_by_label("2 models available").select_option("poet-1b")
    expect(page.get_by_label("Model", exact=True)).to_have_value("poet-1b")
    name = page.get_by_label(re.compile("^Name"))
    expect(name).to_have_value("poet-1b")  # until somebody gives another
    expect(page.locator("[name=context_limit]")).to_have_value("16384")
    name.fill("Poet")
    kept, provider.default = provider.default, says("and ", "so on")
    page.get_by_role("button", name="Save").click()
    row = page.locator("li[id^=model-]").filter(has_text="Poet")
    expect(row.get_by_role("status")).to_contain_text("It works")
    provider.default = kept
    row.get_by_role("link", name="Change").click()
    probe = page.locator("#probe")
    expect(probe).to_contain_text("Tested")
    by_instruction = probe.get_by_role("listitem").filter(has_text="by instruction")
    expect(by_instruction).to_contain_text("yes")
    expect(page.get_by_role("checkbox", name=re.compile("^prefill"))).to_be_checked()
    expect(page.get_by_label("Model", exact=True)).to_have_value("poet-1b")
    expect(page.locator("[name=context_limit]")).to_have_value("16384")
    assert "sk-good" not in page.content()


def test_a_participant_gets_another_model_with_the_key_it_has(heddle: Heddle, visit: Open) -> None:
    provider = heddle.provider
    settings = {"name": "Changeling", "model_ref": "custom:small", "base_url": provider.url}
    response = heddle.post("participants", {**settings, "api_key": "sk-stored"})
    page = visit(f"/groves/{response['grove']}/participants/{response['id']}")
    expect(page.get_by_label("Model", exact=True)).to_have_value("small")
    names = json.dumps({"data": [{"id": "small"}, {"id": "large", "max_model_len": 65_536}]})
    provider.script(raw(names.encode(), kind="application/json"))
    page.get_by_role("button", name="List models").click()
    page.get_by_label("2 models available").select_option("large")
    assert provider.seen[-1].header("authorization") == "Bearer sk-stored"
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Changeling has been saved.")).to_be_visible()
    now = heddle.get(f"participants/{response['id']}")
    assert (now["model_ref"], now["context_limit"]) == ("custom:large", 65_536)
    assert (now["has_key"], now["name"]) == (True, "Changeling")
    heddle.archive(response)


def test_an_owner_allows_a_private_address_and_the_open_page_offers_the_model(
    heddle: Heddle, visit: Open
) -> None:
    name = f"cellar-{uuid4().hex[:6]}"
    tree = heddle.tree("An open page", "The rain had stopped.")
    reading = visit(f"/trees/{tree}")
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    with ScriptedProvider() as private:  # which no setting of the environment names
        names = json.dumps({"data": [{"id": name}]})
        private.script(raw(names.encode(), kind="application/json"))
        page = visit(f"/groves/{grove}/participants/new")
        page.locator("[data-kind]").select_option("custom")
        page.locator("[data-address]").fill(private.url)
        page.get_by_role("button", name="List models").click()
        warning = page.get_by_role("alert")
        expect(warning).to_contain_text("not on the internet")
        assert not private.seen
        # A click and not check(): the box goes as soon as the models are listed, and check()
        # would look for it again.
        warning.get_by_role("checkbox").click()
        page.get_by_label("1 model available").select_option(name)
        page.get_by_label(re.compile("Test capabilities")).uncheck()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text(f"{name} has been saved.")).to_be_visible()
        reading.locator("[data-agents] summary").click()
        box = reading.get_by_role("checkbox", name=re.compile(name))
        expect(box).to_be_visible()
        assert not box.is_checked()  # who was chosen stays chosen
        reading.locator('[name="using"]:checked').uncheck()
        box.check()
        private.default = says("and the gutters ", "sang.")
        reading.get_by_label("answers", exact=True).fill("1")
        reading.get_by_role("button", name="Continue", exact=True).last.click()
        expect(reading.locator(".card")).to_contain_text("and the gutters sang.")
        tab(reading, "Participants")
        expect(reading.locator("[data-fold=people]")).to_contain_text(name)
        for result in heddle.get("participants")["results"]:  # type: ignore[attr-defined]
            if result["name"] == name:
                heddle.archive(result)


def test_what_a_model_cannot_read_is_shown_beside_the_composer(heddle: Heddle, visit: Open) -> None:
    settings = {"name": "Sieve", "model_ref": "custom:tiny", "base_url": heddle.provider.url}
    response = heddle.post("participants", {**settings, "context_limit": 1100})
    tree = heddle.tree("A long path", "It rained, and it rained. " * 300)
    page = visit(f"/trees/{tree}")
    page.locator("[data-agents] summary").click()
    page.get_by_role("checkbox", name=re.compile("Sieve")).check()
    expect(page.locator("[data-cost]")).to_contain_text("cut: Sieve reads 825 of about")
    page.get_by_role("checkbox", name=re.compile("Sieve")).uncheck()
    expect(page.locator("[data-cost]")).not_to_contain_text("cut")
    heddle.archive(response)


def test_the_form_fits_a_phone(heddle: Heddle, visit: Open) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/participants/new", size=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
