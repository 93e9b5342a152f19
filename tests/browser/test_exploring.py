"""A person lets a tree grow by itself, and sees what was kept and why."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import Heddle, Open
from tests.providers.scripts import says


def test_a_tree_grows_in_rounds_within_a_budget(heddle: Heddle, visit: Open) -> None:
    title = f"Grown {uuid4().hex[:6]}"
    tree = heddle.tree(title, "The house stood empty.")
    page: Page = visit(f"/trees/{tree}")
    page.get_by_label("More about this tree").click()
    page.get_by_role("link", name="Explore", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("^Explore from"))).to_be_visible()
    page.get_by_label("Goal").fill("a surprise")
    page.get_by_label("Rounds", exact=True).fill("2")
    page.get_by_label("Chosen by").select_option("variety")
    page.get_by_label("Texts below each").fill("2")
    page.get_by_label("Kept of a round").fill("1")
    cost = page.get_by_role("region", name="What it may do and use")
    expect(cost).to_contain_text("at most 4 texts in 2 rounds")
    expect(cost).to_contain_text("budget: 4 calls")
    heddle.provider.script(says("A door."), says("A lamp."), says("It opened."), says("It burned."))
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("status").first).to_contain_text("done")
    expect(page.get_by_role("heading", name="Round 2")).to_be_visible()
    expect(page.get_by_text("kept", exact=True)).to_have_count(2)
    expect(page.get_by_text("1 not kept")).to_have_count(2)
    page.get_by_text("1 not kept").first.click()
    page.get_by_role("link", name="The note that sums it up").click()
    expect(page.get_by_text("Explored from here: 4 texts").first).to_be_visible()
