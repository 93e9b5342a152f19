"""The time slider, by keyboard alone: earlier, and back to now."""

import re

from playwright.sync_api import Route, expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live


def test_the_slider_shows_the_tree_as_it_was_and_leads_back(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Past", "One.", "Two.")
    heddle.line(tree, 'edit parent "Other words." as:version')
    heddle.line(tree, "switch to root")
    last = heddle.get(f"trees/{tree}/nodes")["results"][2]["id"]  # type: ignore[index]
    page = live(visit(f"/trees/{tree}?node={last}"))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    page.get_by_label("More about this tree").press("Enter")
    page.get_by_role("button", name="View earlier states").press("Enter")
    slider = page.get_by_role("slider", name="Point in the tree's history")
    expect(slider).to_be_focused()
    expect(page.locator(".past-said")).to_have_text(re.compile(r"\d+ of \d+, .*: You wrote"))
    expect(page.locator(".composer")).to_be_hidden()
    slider.press("ArrowLeft")
    expect(page.locator(".past-text article")).to_have_count(2)
    expect(page.locator(".past-text")).to_contain_text("One.")
    slider.press("Home")
    expect(page.locator(".past-text article")).to_have_count(0)
    # Somebody writes meanwhile: it is not shown in the past, and is there afterwards.
    heddle.line(tree, f'respond {last} "Meanwhile."')
    expect(page.locator(".past-text article")).to_have_count(0)
    slider.press("Escape")
    expect(page.locator(".past-bar")).to_have_count(0)
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator(".card")).to_contain_text("Meanwhile.")
    assert f"node={last}" in page.url


def test_reading_a_moment_shows_that_it_is_read_until_it_is_there(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Slow past", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile(r"/past/path\?"), hold)
    page.get_by_label("More about this tree").press("Enter")
    page.get_by_role("button", name="View earlier states").press("Enter")
    waiting = page.get_by_role("progressbar", name="Loading the tree at this point…")
    expect(waiting).to_be_visible()
    expect(page.locator(".past-text")).to_have_attribute("aria-busy", "true")
    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.locator(".past-text article")).to_have_count(2)
    expect(waiting).to_be_hidden()
    expect(page.locator(".past-said")).to_have_text(re.compile(r"\d+ of \d+"))
