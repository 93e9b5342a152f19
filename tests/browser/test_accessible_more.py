"""More pages by axe: provenance, money, sharing, the public page, texts side by side, turns;
and colours that the system forces."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_accessible import rich, sizes, violations_in_both_themes
from tests.browser.test_two_people import live

__all__ = ["rich"]


@pytest.fixture(scope="module", autouse=True)
def _tagged(heddle: Heddle, rich: dict[str, str]) -> None:
    tree = rich["dialogue"]
    heddle.line(tree, f'tag tree:{tree} #rich #"two words"')


def first_of(heddle: Heddle, tree: str) -> str:
    """The id of the first text of a tree."""
    ids = heddle.get(f"trees/{tree}/skeleton")["ids"]
    assert isinstance(ids, list)
    return str(ids[1])


@sizes
def test_pages_about_one_thing(
    heddle: Heddle, rich: dict[str, str], visit: Open, size: dict[str, int]
) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    people = heddle.get("participants")["results"]
    assert isinstance(people, list)
    model = next(person["id"] for person in people if person["kind"] == "model")
    tree = rich["dialogue"]
    for path in (
        f"/groves/{grove}/money",
        f"/groves/{grove}/participants/{model}",
        f"/groves/{grove}?tag=rich",
        f"/trees/{tree}/share",
        f"/trees/{tree}/nodes/{first_of(heddle, tree)}/provenance",
    ):
        page = visit(path, size=size, bypass_csp=True)
        assert violations_in_both_themes(page) == [], path
        page.context.close()


@sizes
def test_the_public_page(
    heddle: Heddle, rich: dict[str, str], visit: Open, size: dict[str, int]
) -> None:
    response = heddle.post(f"trees/{rich['dialogue']}/public-links", {"days": 1})
    path = re.sub(r"^https?://[^/]+", "", str(response["link"]))
    page = visit(path, size=size, anonymous=True, bypass_csp=True)
    page.locator("details").first.evaluate("details => { details.open = true }")
    assert violations_in_both_themes(page) == []


@sizes
def test_texts_side_by_side_and_the_history(
    heddle: Heddle, rich: dict[str, str], visit: Open, size: dict[str, int]
) -> None:
    tree = rich["dialogue"]
    at = first_of(heddle, tree)
    page = live(visit(f"/trees/{tree}?node={at}", size=size, bypass_csp=True))
    page.locator("main").press("c")
    expect(page.get_by_role("dialog", name="Compare").locator("article").nth(1)).to_be_visible()
    assert violations_in_both_themes(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Edit").first.click()
    expect(page.locator("dialog form.inline-form")).to_be_visible()
    assert violations_in_both_themes(page) == []


def test_forced_colours_show_which_one_is_chosen(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Forced", "One.", "Two.")
    heddle.line(tree, 'respond parent "Another two."')
    page = visit(f"/trees/{tree}")
    page.emulate_media(forced_colors="active")
    live(page)
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    page.locator("main").press("ArrowLeft")
    chosen = page.locator(".card.on")
    expect(chosen).to_contain_text("Another two.")
    expect(chosen).to_have_css("outline-style", "solid")
    expect(page.locator(".card:not(.on)")).to_have_css("outline-style", "none")
