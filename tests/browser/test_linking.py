"""A link in the page, from the words it stands on to its removal, and the way back."""

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
    page.keyboard.press("l")
    form = node.locator("form.inline-form")
    expect(form.get_by_role("combobox").first).to_have_attribute(
        "placeholder", "An id or words from the text"
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
