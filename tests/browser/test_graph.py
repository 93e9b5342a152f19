"""The graph around a text: seen, walked by keyboard, linked and tagged by hand; its list is its
twin."""

import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open


def _linked(heddle: Heddle, title: str) -> tuple[str, list[str]]:
    """A tree of four texts, the first of which is linked to two, and one of those to the last."""
    tree = heddle.tree(title, "The lamp is lit.", "Oil was bought.", "A debt is owed.", "The will.")
    nodes: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    ids = [node["id"] for node in nodes if node["depth"]]
    for source, target, kind in ((0, 1, "uses"), (0, 2, "supports"), (2, 3, "evidence")):
        heddle.line(tree, f"link {ids[source]} to {ids[target]} as:{kind}")
    return tree, ids


def _at_rest(page: Page) -> None:
    expect(page.locator("loom-graph")).to_have_attribute("data-at-rest", "")


def _place(page: Page, item: str) -> Any:
    """Where an item is drawn, in the window."""
    page.locator("canvas").scroll_into_view_if_needed()
    return page.evaluate(
        """(item) => {
            const graph = document.querySelector("loom-graph");
            const canvas = graph.querySelector("canvas").getBoundingClientRect();
            const at = graph.at.get(item);
            const { x, y, scale } = graph.view;
            return { x: canvas.x + graph.x[at] * scale + x, y: canvas.y + graph.y[at] * scale + y };
        }""",
        item,
    )


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_click_opens_an_item_and_places_stay(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    tree, ids = _linked(heddle, "Seen as a graph")
    page = visit(f"/trees/{tree}/graph?node={ids[0]}", size=size)
    _at_rest(page)
    expect(page.locator(".graph-list li")).to_have_count(4)
    expect(page.locator(".graph-list li").first).to_contain_text("The lamp is lit.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    before = _place(page, ids[2])
    page.reload()
    _at_rest(page)
    after = _place(page, ids[2])
    assert abs(before["x"] - after["x"]) < 40 and abs(before["y"] - after["y"]) < 40
    page.mouse.click(after["x"], after["y"])
    expect(page).to_have_url(re.compile(f"/trees/{tree}\\?node={ids[2]}"))


def test_words_are_drawn_once_and_only_copied_into_the_frames(heddle: Heddle, visit: Open) -> None:
    tree, ids = _linked(heddle, "Drawn as a graph")
    page = visit(f"/trees/{tree}/graph?node={ids[0]}")
    _at_rest(page)
    written = page.evaluate(
        """async () => {
            const graph = document.querySelector("loom-graph");
            const { prototype } = CanvasRenderingContext2D;
            const write = prototype.fillText;
            let many = 0;
            prototype.fillText = function (...args) { many += 1; write.apply(this, args); };
            await document.fonts.ready;
            graph.redrawn();
            graph.paint();
            const first = many;
            for (let at = 0; at < 5; at += 1) { graph.view.x += 3; graph.paint(); }
            return [first, many - first];
        }"""
    )
    assert written[0] >= 4 and written[1] == 0


def test_a_graph_is_walked_by_keyboard_and_stops_where_it_is_told(
    heddle: Heddle, visit: Open
) -> None:
    tree, ids = _linked(heddle, "Walked as a graph")
    page = visit(f"/trees/{tree}/graph?node={ids[0]}")
    _at_rest(page)
    canvas = page.locator("canvas")
    canvas.focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft"):
        canvas.press(key)
    current = page.locator(".graph-list li[aria-current]")
    expect(current).to_have_count(1)
    expect(page.locator("[data-said]")).not_to_be_empty()
    page.locator(f'li[data-item="{ids[2]}"]').get_by_role("button", name="Stop here").click()
    expect(page.locator(".graph-list li")).to_have_count(3)
    expect(page.locator(f'li[data-item="{ids[2]}"] .flag')).to_have_text("stop")
    page.locator(f'li[data-item="{ids[2]}"]').get_by_role("button", name="Pass through").click()
    expect(page.locator(".graph-list li")).to_have_count(4)
    page.get_by_label("one link").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".graph-list li")).to_have_count(3)


def test_dragging_links_and_a_line_around_items_tags_them(heddle: Heddle, visit: Open) -> None:
    tree, ids = _linked(heddle, "Linked in a graph")
    page = visit(f"/trees/{tree}/graph?node={ids[0]}")
    _at_rest(page)
    page.get_by_role("button", name="Link", exact=True).click()
    start, end = _place(page, ids[1]), _place(page, ids[3])
    page.mouse.move(start["x"], start["y"])
    page.mouse.down()
    page.mouse.move(end["x"], end["y"], steps=5)
    page.mouse.up()
    form = page.locator("loom-graph form")
    form.locator("select[name=type]").select_option("requires")
    form.get_by_role("textbox").fill("the will names the oil")
    form.get_by_role("button", name="Link", exact=True).click()
    row = page.locator(f'li[data-item="{ids[3]}"]')
    expect(row).to_contain_text("required by “Oil was bought.”")
    _at_rest(page)
    page.get_by_role("button", name="Select and tag").click()
    box: Any = page.locator("canvas").bounding_box()
    right, low = box["width"] - 2, box["height"] - 2
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in ((2, 2), (right, 2), (right, low), (2, low), (2, 4)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    name = f"walk{uuid4().hex[:6]}"
    page.locator("loom-graph form").get_by_role("textbox").fill(name)
    page.locator("loom-graph form").get_by_role("button", name="Tag", exact=True).click()
    expect(page.locator("[data-said]")).to_have_text("Tagged 4 items.")
    page.goto(f"{heddle.url}/trees/{tree}?node={ids[3]}")
    expect(page.locator("article.node").last.locator(".pill.tag")).to_contain_text(name)
