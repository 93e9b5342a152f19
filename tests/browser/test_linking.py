"""A link in the page, from the words it is on to its removal, and the way back."""

import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_two_people import live

SELECT = """(text) => {
    const range = document.createRange();
    const inside = document.createTreeWalker(text, NodeFilter.SHOW_TEXT).nextNode();
    range.setStart(inside, 0);
    range.setEnd(inside, 14);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_link_follows_the_text_and_is_removed_and_restored(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    title = f"Linked {uuid4().hex[:6]}"
    tree = heddle.tree(title, "The lamp is lit.", "Oil was bought on credit.")
    nodes: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    lamp, oil = (node["id"] for node in nodes if node["depth"])
    page = live(visit(f"/trees/{tree}", size=size))
    node = page.locator("article.node").last
    node.locator(":scope > .text").evaluate(SELECT)
    page.get_by_role("toolbar", name="Selected words").get_by_role("button", name="Link…").click()
    form = node.locator("form.inline-form")
    expect(form).to_contain_text("On the words “Oil was bought”")
    expect(form.get_by_role("combobox").first).to_have_attribute(
        "placeholder", "Words of a text, a document or a tree"
    )
    form.locator("select[name=type]").select_option("derives_from")
    form.get_by_role("combobox").first.fill(lamp)
    form.get_by_label("Note").fill("paid late")
    form.get_by_label("Confidence").fill("0.7")
    form.get_by_role("button", name="Link", exact=True).click()
    expect(node.locator(".portals summary")).to_have_text(f"▶ [derives from] ──→ [{lamp}]")
    # A later wording has it too, and says that the words it stood on are gone.
    newer: Any = heddle.line(tree, f'edit {oil} "Oil was stolen." as:version')["refs"]
    page.goto(f"{heddle.url}/trees/{tree}?node={newer[0]}")
    live(page)
    node = page.locator(f'article.node[data-id="{newer[0]}"]')
    portal = node.locator(".portals .portal").first
    portal.locator("summary").first.click()
    end = portal.locator(".portal-end").first
    expect(end).to_contain_text("paid late")
    expect(end).to_contain_text("confidence 0.7")
    expect(end).to_contain_text(f"made on [{oil}], changed since")
    # The panel lists it with what was written down, and takes it away.
    node.locator(":scope > header").click()
    if size is PHONE:
        page.get_by_role("button", name="Details").click()
    page.get_by_role("tab", name="Node").click()
    panel = page.locator('loom-panel[data-on="link"]')
    expect(panel.locator("li")).to_have_count(1)
    expect(panel.locator("li")).to_contain_text(re.compile(r"paid late.*0\.7"))
    expect(panel.locator("li")).to_contain_text(f"on [{oil}], since changed")
    panel.get_by_role("button", name="Unlink").click()
    expect(panel.locator("li")).to_have_count(0)
    expect(node.locator(".portals .portal")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").last.click()
    expect(panel.locator("li")).to_have_count(1)
    expect(node.locator(".portals .portal")).to_have_count(1)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_link_leads_to_what_words_find_in_this_tree_in_documents_and_elsewhere(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    """The picker: words, matches by kind, chosen by keys; Escape shuts the list and not the
    form."""
    mark = f"quay{uuid4().hex[:6]}"
    other = heddle.tree(f"Harbour {mark}", f"The {mark} was flooded.")
    far: Any = heddle.get(f"trees/{other}/path")["nodes"]
    tree = heddle.tree(f"Linked {mark}", f"The {mark} by night.", "Oil was bought on credit.")
    heddle.line(tree, f'write doc:"Notes on {mark}" new "Nobody came to the {mark}."')
    nodes: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    here = next(node["id"] for node in nodes if node["depth"])
    page = live(visit(f"/trees/{tree}", size=size))
    node = page.locator("article.node").last
    page.locator("main").press("l")
    form = node.locator("form.inline-form")
    field = form.get_by_role("combobox").first
    options = form.get_by_role("listbox").get_by_role("option")
    # Before anything is typed: what is near, and what was used last.
    expect(options.first).to_contain_text(f"The {mark} by night.")
    expect(form.locator(".group").first).to_have_text("In this tree")
    field.fill(mark)
    expect(form.locator(".group")).to_have_text(
        ["In this tree", "Documents", "In other trees", "Trees"]
    )
    expect(options).to_have_count(4)
    expect(options.first).to_have_attribute("aria-selected", "true")
    field.press("Escape")
    expect(form.get_by_role("listbox")).to_have_count(0)
    expect(field).to_be_visible()
    # The document, by keys.
    field.press("ArrowDown")
    expect(options).to_have_count(4)
    field.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    field.press("Enter")
    expect(field).to_have_value(f"Notes on {mark}")
    expect(form.get_by_role("listbox")).to_have_count(0)
    form.locator("select[name=type]").select_option("supports")
    field.press("Enter")
    portals = node.locator(".portals summary")
    expect(portals).to_have_text([f'▶ [supports] ──→ doc:"Notes on {mark}"'])
    # A text of another tree, by a click.
    page.locator("main").press("l")
    field.fill(mark)
    expect(form.locator(".group")).to_have_count(4)
    options.nth(2).click()
    expect(field).to_have_value(f"The {mark} was flooded.")
    form.get_by_role("button", name="Link", exact=True).click()
    expect(portals).to_have_count(2)
    links: Any = heddle.get(f"links?tree={tree}&node={nodes[-1]['id']}")["results"]
    assert links[1]["target"] == f"tree:{other} node:{far[-1]['id']}"
    # What is meant has to be clear.
    page.locator("main").press("l")
    field.fill(mark)
    form.get_by_role("button", name="Link", exact=True).press("Enter")
    expect(form.get_by_role("alert")).to_contain_text("Choose one from the list")
    field.fill(here)
    expect(form.get_by_role("listbox")).to_have_count(0)
    form.get_by_role("button", name="Link", exact=True).click()
    expect(portals.last).to_have_text("▶ [related] ──→ 2 nodes")
