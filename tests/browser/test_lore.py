"""Lore in the browser: cards made without front matter, and words underlined where they apply."""

from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_two_people import live


def named(page: Page, *words: str) -> None:
    """Waits until these words are underlined, in this order."""
    page.wait_for_function(
        "(words) => [...(CSS.highlights.get('lore') ?? [])].map(String).join() === words",
        arg=",".join(words),
    )


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_a_card_is_made_and_its_words_are_underlined(
    heddle: Heddle, visit: Open, mode: str
) -> None:
    name = f"Marie{uuid4().hex[:6]}"
    tree = heddle.tree(f"Lore {name}", f"{name} came home. The keeper waited.", mode=mode)
    page = live(visit(f"/trees/{tree}"))
    page.locator('summary[aria-label="More about this tree"]').click()
    page.get_by_role("link", name="Lore: people, places, threads").click()
    expect(page.get_by_text("Nobody and nothing is described yet.")).to_be_visible()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Words that call it up").fill(f"{name}, the keeper")
    page.get_by_label("What is true of it").fill("She keeps the light.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text(f"Added {name}.")
    card = page.locator(".lore-card", has_text=name)
    expect(card.locator(".chip")).to_have_text([name, "the keeper"])
    page.get_by_role("link", name="← Back to the tree").click()
    live(page)
    named(page, name, "The keeper")
    place = page.evaluate(
        """() => {
          const box = [...CSS.highlights.get("lore")][0].getBoundingClientRect();
          return {x: box.left + box.width / 2, y: box.top + box.height / 2};
        }"""
    )
    page.mouse.move(place["x"], place["y"])
    page.mouse.move(place["x"] + 1, place["y"])
    expect(page.locator(".lore-tip")).to_contain_text("She keeps the light.")
    page.get_by_role("link", name="Open the card").click()
    expect(page.locator(".lore-card:target")).to_contain_text(name)
    page.locator(".lore-card", has_text=name).locator("summary").click()
    page.locator(".lore-card", has_text=name).get_by_role("button", name="Take out").click()
    expect(page.get_by_role("status").first).to_contain_text("is no lore of this tree any more")


def test_on_a_phone_the_cards_are_one_below_another(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Lore {uuid4().hex[:6]}", "Once.")
    page = visit(f"/trees/{tree}/lore", size=PHONE)
    expect(page.get_by_role("heading", name="New card")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
