"""The map of a tree of many texts: an icicle, by pointer, by keys and as a list."""

import json
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_accessible import violations_in_both_themes
from tests.browser.test_two_people import live
from tests.house.processes import wait_for

DRAWN = """() => { const map = document.querySelector("loom-map"); const said = [];
    const pen = map.canvas.getContext("2d"), plain = pen.fillText;
    pen.fillText = (...given) => { said.push(given[0]); plain.apply(pen, given); };
    map.paint(); pen.fillText = plain; return said; }"""
AT = """id => { const map = document.querySelector("loom-map");
    const {places, texts, camera} = map.icicle;
    const place = texts.placeOf(id), box = map.canvas.getBoundingClientRect();
    return [box.x + camera.toX(places.x[place] + places.w[place] / 2),
        box.y + camera.toY(places.y[place]) + 3]; }"""
WIDTH = """id => { const {places, texts, camera} = document.querySelector("loom-map").icicle;
    return places.w[texts.placeOf(id)] / camera.span * camera.frame.width; }"""


def _name(place: int) -> str:
    letters = "abcdefghjkmnpqrstvwxyz"
    return f"{letters[place % 22]}{2 + place // 22}k2"


@pytest.fixture
def tree(heddle: Heddle) -> str:
    """A chain of 60 with a second branch of 30 from its third text, and 20 rejected texts."""
    parents = [-1, *range(59), 3, *range(60, 89), *[10] * 20]
    nodes = [
        {
            "id": _name(place),
            "slot": _name(place),
            "kind": "text",
            "author": "Ada" if place < 60 else "Ben",
            "created_at": "2026-11-21T02:07:00.000000Z",
            "text": f"Passage {place} of the tale." if place else "",
            **({"parent": _name(parent)} if place else {}),
        }
        for place, parent in enumerate(parents)
    ]
    marks = [{"kind": "bookmark", "label": "the fork", "item": _name(3), "by": "Ada"}]
    body = {
        "heddle": 1,
        "tree": {"title": f"Icicle {uuid4().hex[:6]}", "mode": "dialogue"},
        "participants": [{"name": name, "kind": "human"} for name in ("Ada", "Ben")],
        "nodes": nodes,
        "marks": marks,
        "links": [],
    }
    with heddle.client() as client:
        sent = {"file": ("icicle.json", json.dumps(body))}
        asked = client.post("/api/import", files=sent).json()["id"]
        wait_for(lambda: client.get(f"/api/imports/{asked}").json()["status"] == "done")
        return str(client.get(f"/api/imports/{asked}").json()["tree"])


def opened(page: Page) -> Page:
    """The page once its map is drawn."""
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    return page


def test_a_big_tree_opens_fitted_with_labels_and_a_legend(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    assert page.locator("loom-map").get_attribute("data-form") == "icicle"
    assert page.evaluate("document.querySelector('loom-map').icicle.camera.isWhole")
    page.wait_for_function(f"() => ({DRAWN})().some(one => one.includes('the fork'))")
    legend = page.get_by_role("list", name="Authors on the map")
    expect(legend).to_contain_text("Ada (imported)59")
    expect(legend).to_contain_text("Ben (imported)50")
    expect(page.get_by_role("navigation", name="Where the map is")).to_be_hidden()


def test_a_click_goes_to_a_text_and_threads_are_one_button_away(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    page.mouse.click(*page.evaluate(AT, _name(40)))
    expect(page.locator(f'article.node[data-id="{_name(40)}"]')).to_be_visible()
    page.get_by_role("button", name="Draw the tree as threads").click()
    expect(page.locator('loom-map[data-form="threads"]')).to_be_attached()
    expect(page.get_by_role("list", name="Authors on the map")).to_have_count(0)
    page.get_by_role("button", name="Draw the tree as an icicle").click()
    expect(page.locator('loom-map[data-form="icicle"]')).to_be_attached()


def test_keys_walk_say_zoom_and_go(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}?node={_name(3)}")))
    canvas = page.locator("loom-map canvas")
    status = page.locator("loom-map > [role=status]")
    canvas.press("ArrowDown")
    expect(status).to_contain_text("Passage 4 of the tale. · 75 texts below")
    canvas.press("ArrowRight")
    expect(status).to_contain_text("Passage 60 of the tale. · 29 texts below")
    before = page.evaluate(WIDTH, _name(60))
    canvas.press("z")
    crumbs = page.get_by_role("navigation", name="Where the map is")
    expect(crumbs.get_by_role("button").last).to_contain_text("Passage 60")
    assert page.evaluate(WIDTH, _name(60)) > before * 1.5
    canvas.press("Enter")
    expect(page.locator(f'article.node[data-id="{_name(60)}"]')).to_be_visible()
    crumbs.get_by_role("button", name="Whole tree").click()
    expect(crumbs).to_be_hidden()


def test_branches_are_a_list_as_well(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    page.get_by_text("Branches as a list").click()
    branches = page.locator("loom-map .map-branches li")
    expect(branches).to_have_count(2)
    expect(branches.first).to_contain_text("Passage 4 of the tale. · 75 texts below")
    branches.last.get_by_role("button").click()
    expect(branches).to_have_count(1)  # two rows at once are refused without waiting
    expect(branches).to_have_text("No branch: 30 texts one below the other")


def test_a_key_fills_the_page_with_the_map_and_escape_gives_it_back(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    page.locator("main").press("m")
    expect(page.locator("loom-map[data-full]")).to_be_attached()
    expect(page.locator("loom-map canvas")).to_be_focused()
    assert page.locator("loom-map").evaluate("map => map.clientWidth") == 1440
    assert page.locator("main").evaluate("main => Boolean(main.closest('[inert]'))")
    page.keyboard.press("Escape")
    expect(page.locator("loom-map[data-full]")).to_have_count(0)
    assert not page.locator("main").evaluate("main => Boolean(main.closest('[inert]'))")


def test_the_icicle_can_be_used_by_everybody(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}", bypass_csp=True)))
    page.locator("loom-map canvas").press("ArrowDown")
    page.locator("loom-map canvas").press("z")
    page.get_by_text("Branches as a list").click()
    assert violations_in_both_themes(page) == []


def test_the_icicle_fits_a_phone(visit: Open, tree: str) -> None:
    page = live(visit(f"/trees/{tree}", size=PHONE))
    page.get_by_role("button", name="Map", exact=True).click()
    expect(page.get_by_role("list", name="Authors on the map")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
