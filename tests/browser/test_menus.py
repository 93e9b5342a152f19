"""Menus: within what is seen, closed by what closes them, and the focus where it was."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open, invited
from tests.browser.test_two_people import live
from tests.providers.scripts import stalls


def opened(page: Page) -> Locator:
    """The items of the menu that is open, once they are placed."""
    items = page.locator("details.menu[open] > .menu-items")
    expect(items).to_have_attribute("style", re.compile("max-block-size"))
    return items


def demand_reachable(page: Page, items: Locator) -> None:
    """Fails where a part of the menu cannot be scrolled into what is seen of the page."""
    edges = """one => {
        const [box, all] = [one.getBoundingClientRect(),
            (one.closest(".thread, [role=tabpanel]") ?? document.body).getBoundingClientRect()];
        return [box.top - all.top, all.bottom - box.bottom, innerHeight - box.bottom];
    }"""
    assert min(items.evaluate(edges)) >= 0
    for place in (0, -1):
        choice = items.locator(":scope > :is(a, button):visible").nth(place)
        choice.scroll_into_view_if_needed()
        at = "one => { const box = one.getBoundingClientRect(); return one.contains("
        at += "document.elementFromPoint(box.x + 20, box.y + box.height / 2)); }"
        assert choice.evaluate(at), choice.inner_text()


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("low", [40, 300, 600])
def test_every_choice_of_a_node_is_reached_wherever_it_is(
    heddle: Heddle, visit: Open, size: dict[str, int], low: int
) -> None:
    words = "A line of some length, as one writes. " * 12
    tree = heddle.tree(f"Menus {low} {size['width']}", *[words] * 5)
    page = live(visit(f"/trees/{tree}", size=size))
    node = page.locator("article.node").nth(3)
    expect(page.locator("article.node")).to_have_count(5)
    node.evaluate(
        """(one, low) => {
            const thread = one.closest(".thread");
            const top = one.getBoundingClientRect().top - thread.getBoundingClientRect().top;
            thread.scrollBy(0, top - low);
        }""",
        low,
    )
    node.get_by_label(re.compile("^More for")).press("Enter")
    demand_reachable(page, opened(page))


def test_a_menu_closes_when_another_pane_or_the_keys_are_opened(
    heddle: Heddle, visit: Open
) -> None:
    page = live(visit(f"/trees/{heddle.tree('Closing', 'One.')}", size=PHONE))
    menus = page.locator("details.menu[open]")
    page.get_by_label("More about this tree").click()
    expect(menus).to_have_count(1)
    page.locator(".pane-tabs").get_by_role("button", name="Map").click()
    expect(menus).to_have_count(0)
    page.get_by_label("More about this tree").click()
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    expect(menus).to_have_count(0)


def test_escape_closes_a_menu_before_it_stops_what_comes_and_the_focus_stays(
    heddle: Heddle, visit: Open
) -> None:
    page = live(visit(f"/trees/{heddle.tree('Escape', 'One.')}"))
    heddle.provider.script(stalls("It is"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    page.get_by_role("button", name="Continue").last.click()
    expect(page.locator(".card.coming [data-text]")).to_have_text("It is")
    more = page.locator("article.node").get_by_label(re.compile("^More for"))
    more.press("Enter")
    opened(page).get_by_role("button", name="Tag…").focus()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    expect(page.locator("details.menu[open]")).to_have_count(0)
    expect(page.locator(".card.coming")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".card[data-id]")).to_contain_text("It is")


def test_the_menu_of_a_text_with_marks_stays_on_the_screen_of_a_phone(
    heddle: Heddle, visit: Open, chrome: Browser
) -> None:
    tree = heddle.tree("Marked")
    with heddle.client(invited(heddle, chrome, "bartholomew", "writer")) as client:
        line = {"line": 'respond "The lamp was lit."'}
        (node,) = client.post(f"/api/trees/{tree}/commands", json=line).json()["refs"]
    heddle.line(tree, f"exclude {node}")
    page = live(visit(f"/trees/{tree}?node={node}", size=PHONE))
    expect(page.locator("article.node .flag")).to_have_text("excluded from models")
    more = page.locator("article.node").get_by_label(re.compile("^More for"))
    box = more.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= PHONE["width"]
    more.click()
    demand_reachable(page, opened(page))
    assert page.locator("main").evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.locator("main").evaluate("one => one.scrollLeft") == 0
