"""A page for readers from the right: in a language made up of every text of the catalogues."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle
from tests.browser.house import give, opened
from tests.house.catalogues import pseudo, speak_pseudo


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory, chrome: Browser) -> Iterator[Heddle]:
    """A Heddle that was given a catalogue beside its data."""
    data = tmp_path_factory.mktemp("turned")
    speak_pseudo(data / "locale", "ar")
    with opened(data, chrome) as running:
        yield running


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, turned: Heddle, chrome: Browser) -> Iterator[Page]:
    """A tree as somebody sees it whose browser asks for that language."""
    tree = turned.tree("Marie", "She isn't angry.", " Then who is?")
    turned.line(tree, 'annotate here "A note." as:question')
    turned.line(tree, 'bookmark here "start"')
    turned.line(tree, 'respond here "Nobody."')
    turned.line(tree, "switch to parent")
    context = chrome.new_context(viewport=request.param, locale="ar", reduced_motion="reduce")
    give(context, turned.owner, turned.url)
    page = context.new_page()
    page.goto(f"{turned.url}/trees/{tree}")
    expect(page.locator(".dot")).to_have_attribute("data-state", "live")
    yield page
    context.close()


def width_past_the_edge(page: Page) -> int:
    """How many pixels the page is wider than the window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return wide


def test_the_page_is_turned_and_speaks(page: Page) -> None:
    assert page.locator("html").get_attribute("dir") == "rtl"
    assert width_past_the_edge(page) <= 0
    box = page.locator(".node").first.bounding_box()
    text = page.locator(".node .text").first.bounding_box()
    assert box
    assert text
    # The thread runs down the side where lines begin: the right one.
    assert box["x"] + box["width"] - (text["x"] + text["width"]) > 10
    assert text["x"] - box["x"] < 10
    # What was written in English keeps its own direction.
    assert page.locator(".node .text").first.evaluate("e => getComputedStyle(e).direction") == "ltr"
    page.locator("main").press("?")
    expect(page.get_by_role("heading", name=pseudo("Keys"))).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("main").press("e")
    expect(page.get_by_role("button", name=pseudo("Save"))).to_be_visible()


def test_no_page_of_forms_is_wider_than_its_window(page: Page, turned: Heddle) -> None:
    grove = turned.get("groves")["results"][0]["id"]  # type: ignore[index]
    for path in ("/", f"/groves/{grove}/people", "/settings/keys", "/settings/look", "/about"):
        page.goto(turned.url + path)
        assert width_past_the_edge(page) <= 0, path
