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


SMALL = """() => [...document.querySelectorAll("input:not([type=hidden], .off), summary, button")]
    .filter((one) => one.checkVisibility())
    .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
    .filter(([, box]) => box.width < 23.9 || box.height < 23.9).map(([html]) => html)"""


SIDEWAYS = """() => [...document.querySelectorAll(".scroll, .bar, .bar form")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 80))"""


@pytest.mark.usefixtures("ada")  # a second row of the page of people
def test_narrow_pages_fit_and_have_room_for_a_finger(
    heddle: Heddle, rich: dict[str, str], visit: Open
) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    tree = rich["dialogue"]
    pages = (
        *(f"/groves/{grove}", f"/groves/{grove}/link-types", f"/groves/{grove}/people"),
        *(f"/trees/{tree}/export", f"/trees/{tree}/models"),
    )
    long = heddle.line(tree, f'respond root "{"Donaudampfschifffahrt" * 4}"')["refs"][0]  # type: ignore[index]
    heddle.line(tree, f"bookmark {long}")
    page = visit(pages[0])
    for path in (*pages, "/settings", "/settings/keys", "/settings/look", "/settings/gateway"):
        page.set_viewport_size({"width": 320, "height": 640})
        page.goto(heddle.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") == 320, path
        assert page.evaluate(SIDEWAYS) == [], path
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate(SMALL) == [], path
    page.goto(f"{heddle.url}/settings")
    name = page.locator(".bar-name")
    for words in ("Bérénice Maximiliane von und zu Überlang-Hohenstein", "Abcdefghijklmnopqrs"):
        name.evaluate("(link, words) => { link.textContent = words; }", words)
        bar = page.locator(".bar").bounding_box()
        assert bar is not None and bar["height"] < 60
        expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
    page.goto(f"{heddle.url}/trees/{tree}")
    cost = live(page).locator("[data-cost]")
    expect(cost).to_contain_text("input tokens")
    height = "cost => cost.getBoundingClientRect().height"
    before = cost.evaluate(height)
    page.locator("[data-offer]").evaluate(
        "offer => { offer.hidden = false; offer.textContent = 'Last used: Base model '.repeat(9); }"
    )
    assert cost.evaluate(height) == before
    page.get_by_label("More about this tree").press("Enter")
    menu = page.locator("header .menu-items")
    for step in ("ArrowDown", "ArrowUp", "Home"):
        page.keyboard.press(step)
    expect(menu.get_by_role("link", name="Inbox")).to_be_focused()
    page.emulate_media(media="print")
    expect(page.locator(".pill.bookmark").first).to_be_hidden()
    expect(page.locator(".node .text").first).to_be_visible()
