"""Trails in the page: a way is kept, read along, walked again, gone on from, joined, shared and
cited. The menu of link types."""

import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from loom.links.link_types import GROUPS
from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live


@pytest.fixture
def walked(heddle: Heddle) -> tuple[str, list[str], str]:
    """A tree in which the owner has followed two links; its texts, and a name for the trail."""
    title = f"Walked {uuid4().hex[:6]}"
    tree = heddle.tree(title, "The lamp is lit.", "Oil was bought.", "A debt is owed.")
    nodes: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    ids = [node["id"] for node in nodes if node["depth"]]
    heddle.line(tree, f"link {ids[0]} to {ids[1]} as:uses")
    heddle.line(tree, f"link {ids[1]} to {ids[2]} as:requires")
    heddle.line(tree, f"switch {ids[0]}")
    heddle.line(tree, f'expand uses of {ids[0]} because:"who pays"')
    heddle.line(tree, f"expand requires of {ids[1]}")
    return tree, ids, title


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_way_is_kept_and_read_along(
    heddle: Heddle, visit: Open, walked: tuple[str, list[str], str], size: dict[str, int]
) -> None:
    _, ids, title = walked
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/trails", size=size)
    way = page.locator("li").filter(has_text=title)
    expect(way).to_contain_text("3 steps")
    way.get_by_label("Name of the trail").fill(title)
    way.get_by_role("button", name="Keep as a trail").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    panes = page.locator(".trail-pane")
    expect(panes).to_have_count(3)
    expect(panes.nth(1)).to_contain_text("because who pays")
    expect(panes.nth(1).locator("header").first).to_contain_text(f"[{ids[0]}]")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The panes slide: with the keys too, and what was read stays at the side.
    strip = page.locator(".trail-panes")
    strip.focus()
    if size == PHONE:
        for _ in range(8):
            strip.press("ArrowRight")
        expect(panes.nth(1)).to_be_in_viewport(ratio=0.6)
    panes.nth(2).scroll_into_view_if_needed()
    expect(panes.nth(2).locator(".text")).to_have_text("A debt is owed.")
    panes.nth(2).get_by_text("Add a note").click()
    panes.nth(2).get_by_role("textbox").fill("the hinge")
    panes.nth(2).get_by_role("button", name="Save").click()
    expect(panes.nth(2).locator(".trail-note")).to_have_text("the hinge")
    # The exploration is kept as a document, too.
    page.get_by_text("Save as a document…").click()
    form = page.locator("form[action$='/document']")
    form.get_by_label("Title of the document").fill(f"{title}, {size['width']}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(page).to_have_url(re.compile("/documents/"))
    expect(page.locator("main")).to_contain_text("the hinge")


def test_a_second_person_walks_a_shared_trail_goes_on_and_joins(
    heddle: Heddle, visit: Open, ada: Cookies, walked: tuple[str, list[str], str]
) -> None:
    tree, ids, title = walked
    heddle.line(tree, f'trail save "{title}"')
    trails: Any = heddle.get("trails")["results"]
    trail = next(entry["id"] for entry in trails if entry["name"] == title)
    hers = visit(f"/trails/{trail}", who=ada)
    expect(hers.get_by_role("heading", level=1)).not_to_have_text(title)  # it is private
    page = visit(f"/trails/{trail}")
    page.get_by_role("button", name="Share with members").click()
    expect(page.get_by_role("button", name="Make private")).to_be_visible()
    hers.goto(f"{heddle.url}/trails/{trail}")
    expect(hers.get_by_role("button", name="Make private")).to_have_count(0)
    hers.get_by_role("button", name="Replay in my workspace").click()
    expect(hers).to_have_url(re.compile(f"/trees/{tree}\\?node={ids[2]}"))
    live(hers)
    # She goes on from its second step, and joins the two.
    hers.goto(f"{heddle.url}/trails/{trail}")
    hers.get_by_text("Go on from a step").click()
    hers.get_by_label("Up to step").fill("2")
    hers.get_by_label("Name of your trail").fill(f"{title}, hers")
    hers.get_by_role("button", name="Begin a trail of mine").click()
    expect(hers.locator(".trail-pane")).to_have_count(2)
    expect(hers.locator("main")).to_contain_text(f"from “{title}”")
    hers.get_by_role("link", name="Trails", exact=True).click()
    hers.get_by_text("Join two trails").click()
    hers.locator("select[name=first]").select_option(f"{title}, hers")
    hers.locator("select[name=second]").select_option(title)
    hers.get_by_label("Name of the new trail").fill(f"{title}, both")
    hers.get_by_role("button", name="Join", exact=True).click()
    expect(hers.locator(".trail-pane")).to_have_count(5)


def test_a_trail_is_cited_for_a_claim(
    heddle: Heddle, visit: Open, walked: tuple[str, list[str], str]
) -> None:
    tree, _, title = walked
    heddle.line(tree, f'trail save "{title}"')
    trails: Any = heddle.get("trails")["results"]
    trail = next(entry["id"] for entry in trails if entry["name"] == title)
    page = visit(f"/trails/{trail}")
    page.get_by_role("link", name="Cite for a claim").click()
    expect(page.locator(".cite-here blockquote")).to_have_text(title)
    page.get_by_label("Statement").fill(f"The debt pays for the lamp, {title}.")
    page.get_by_role("button", name="Open the claim").click()
    evidence = page.locator(".evidence .cite")
    expect(evidence).to_contain_text(f'trail:"{title}"')
    expect(evidence).to_contain_text("a trail")
    evidence.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_a_link_is_made_from_a_menu_of_types_by_group(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Typed", "The lamp is lit.", "Oil was bought on credit.")
    nodes: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    lamp, oil = (node["id"] for node in nodes if node["depth"])
    page = live(visit(f"/trees/{tree}"))
    node = page.locator("article.node").last
    words = node.locator(":scope > .text")
    words.evaluate(
        """(text) => {
            const range = document.createRange();
            const inside = document.createTreeWalker(text, NodeFilter.SHOW_TEXT).nextNode();
            range.setStart(inside, 0);
            range.setEnd(inside, 14);
            getSelection().removeAllRanges();
            getSelection().addRange(range);
        }"""
    )
    page.keyboard.press("l")
    form = node.locator("form.inline-form")
    expect(form).to_contain_text("On the words “Oil was bought”")
    menu = form.locator("select[name=type]")
    expect(menu.locator("optgroup")).to_have_count(6)
    groups = menu.locator("optgroup").evaluate_all("all => all.map(one => one.label)")
    assert groups == [*GROUPS]
    menu.select_option("derives_from")
    form.get_by_role("combobox").first.fill(lamp)
    form.get_by_label("Note").fill("paid late")
    form.get_by_label("Confidence").fill("0.7")
    form.get_by_role("button", name="Link", exact=True).click()
    expect(node.locator(".portals summary")).to_contain_text(f"[derives from] ──→ [{lamp}]")
    links: Any = heddle.get(f"links?tree={tree}&node={oil}")["results"]
    assert [(link["type"], link["note"], link["confidence"], link["words"]) for link in links] == [
        ("derives_from", "paid late", 0.7, "Oil was bought")
    ]
