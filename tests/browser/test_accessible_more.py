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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_drawn_can_be_read_in_forced_colours(
    heddle: Heddle, visit: Open, theme: str
) -> None:
    tree = heddle.tree("Forced", "One.", "Two.")
    here = first_of(heddle, tree)
    page = visit(f"/trees/{tree}", theme=theme)
    page.emulate_media(forced_colors="active")
    live(page)
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    ink = page.evaluate("document.querySelector('loom-map').ink")
    assert ink["ink"] not in (ink["panel"], ink["paper"])
    assert len(set(ink["threads"])) > 1
    divider = page.locator("loom-divider").first
    expect(divider).to_have_css("outline-style", "none")
    page.locator("main").press("Shift+Tab")  # it was the keyboard that gave the focus
    divider.focus()
    expect(divider).to_have_css("outline-style", "solid")
    tab = page.locator(".tabs [aria-selected=false]")
    chosen = page.locator(".tabs [aria-selected=true]")
    border = "tab => getComputedStyle(tab).borderBlockEndColor"
    assert tab.first.evaluate(border) == page.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
    assert chosen.first.evaluate(border) != tab.first.evaluate(border)
    page.goto(f"{heddle.url}/trees/{tree}/graph?node={here}")
    expect(page.locator("loom-graph canvas")).to_be_visible()
    names = "graph => [graph.colour('--ink'), graph.colour('--paper')]"
    words, paper = page.locator("loom-graph").evaluate(names)
    assert words != paper


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


LONG = "Donaudampfschifffahrtsgesellschaftskapitän" * 4
PAST_THE_EDGE = """() => [...document.querySelectorAll("main *")]
    .filter((one) => !one.closest(".trail-panes, .scroll, .off"))
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.outerHTML.slice(0, 80))"""
CUT = "text => text.scrollWidth > text.clientWidth"


def test_a_long_word_is_broken_where_the_screen_ends(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(LONG, LONG, f"עולם {LONG}")
    first = first_of(heddle, tree)
    heddle.line(tree, f'bookmark {first} "{LONG}"')
    heddle.line(tree, f'link {first} to here as:uses because:"{LONG}"')
    heddle.line(tree, f"switch {first}")
    heddle.line(tree, f'expand uses of {first} because:"{LONG}"')
    heddle.line(tree, f'trail save "{LONG[:80]}"')
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    trails = heddle.get(f"trails?grove={grove}")["results"]
    assert isinstance(trails, list)
    trail = next(row["id"] for row in trails if row["tree"] == tree)
    page = visit(f"/trails/{trail}", size={"width": 1440, "height": 900})
    why = page.locator(".trail-pane > p").first
    expect(why).to_contain_text(LONG)
    assert not why.evaluate(CUT)
    heights = {
        box["height"]
        for one in page.locator(".trail-acts .button:visible").all()
        if (box := one.bounding_box())
    }
    assert len(heights) == 1
    page.set_viewport_size({"width": 320, "height": 640})
    about = ("models", "explorations", "sandbox", "claims", "landscape", "manuscript/text")
    for path in (f"/trails/{trail}", *(f"/trees/{tree}/{name}" for name in about)):
        page.goto(heddle.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") == 320, path
        assert page.evaluate(PAST_THE_EDGE) == [], path
    for width in (320, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{heddle.url}/trees/{tree}?node={first}")
        live(page)
        assert page.evaluate(
            "() => document.querySelector('.pill.bookmark').getBoundingClientRect().right"
            " <= document.querySelector('.node .text').getBoundingClientRect().right + 1"
        )
        assert not page.locator(".card-text").first.evaluate(CUT)


@pytest.mark.parametrize("language", ["de", "es", "en"])
def test_the_buttons_below_the_text_are_on_the_screen_of_a_phone(
    heddle: Heddle, visit: Open, language: str
) -> None:
    tree = heddle.tree("Phone", "Lamp.")
    page = visit(f"/trees/{tree}", size={"width": 390, "height": 844})
    page.context.set_extra_http_headers({"Accept-Language": language})
    page.reload()
    live(page)
    expect(page.locator("html")).to_have_attribute("lang", language)
    buttons = page.locator(".composer-do button:visible")
    for width, size in ((390, "100%"), (320, "100%"), (390, "150%")):
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate("size => { document.documentElement.style.fontSize = size; }", size)
        for button in buttons.all():
            expect(button).to_be_in_viewport(ratio=1)
    # As at a zoom of 400 %: a long text does not push them below what is seen.
    page.evaluate("() => { document.documentElement.style.fontSize = '100%'; }")
    page.set_viewport_size({"width": 360, "height": 225})
    page.locator(".composer > textarea").fill("line\n" * 12)
    buttons.last.scroll_into_view_if_needed()
    expect(buttons.last).to_be_in_viewport(ratio=1)
    tabs, last = page.locator(".pane-tabs").bounding_box(), buttons.last.bounding_box()
    assert tabs is not None
    assert last is not None
    assert last["y"] + last["height"] <= tabs["y"]
