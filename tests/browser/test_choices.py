"""What a person saw and went on from, as their own page says."""

import re
from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open


def test_what_one_saw_and_went_on_from_is_a_choice(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Chosen {uuid4().hex[:6]}", "What happened at sea?")
    point = str(heddle.line(tree, "list root continuations")["refs"][0])  # type: ignore[index]
    texts = ("A storm rose.", "The bread was baked.", "Nobody came.")
    cards = [heddle.line(tree, f"respond {point}\n{text}\n←")["refs"][0] for text in texts]  # type: ignore[index]
    page = visit("/")
    grove = str(heddle.get("groves")["results"][0]["id"])  # type: ignore[index]
    page.goto(f"{heddle.url}/groves/{grove}/choices")
    before = int(re.findall(r"(\d+) choices? so far", page.content())[0])
    with page.expect_response(re.compile("/exposures$")) as told:
        page.goto(f"{heddle.url}/trees/{tree}?node={point}")
    assert told.value.json() == {"logged": True}
    heddle.line(tree, f"respond {cards[1]}\nIt smelled of rye.\n←")
    page.goto(f"{heddle.url}/groves/{grove}/choices")
    expect(page.get_by_text(re.compile(rf"^{before + 1} choices? so far"))).to_be_visible()
    page.goto(f"{heddle.url}/trees/{tree}/candidates/{point}")
    page.get_by_role("link", name="as you tend to choose").click()
    expect(page.locator("[data-why]")).to_contain_text("Switch this order on")
    expect(page.locator(".skim-cell")).to_have_count(3)
