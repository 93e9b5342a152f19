"""The first day: a real tree of another program is dropped in, continued, kept and seen."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.book import book
from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.house.processes import ROOT
from tests.providers.scripts import tokens

SAMPLE = ROOT.parent / "shared" / "samples" / "pyloom" / "loom_demo.json"


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample loom_demo.json is not here")
def test_a_tree_of_pyloom_is_imported_continued_and_watched_by_another(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    heddle.tree("Before", "Once")
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(SAMPLE)
    expect(page.locator("loom-import .report")).to_contain_text("764", timeout=60_000)
    # The list shows it without a reload, and the focus stays where it is.
    expect(page.locator(".tree-row").filter(has_text="764 nodes")).to_be_visible(timeout=25_000)
    expect(page.get_by_role("link", name="Open the tree")).to_be_focused()
    page.get_by_role("link", name="Open the tree").click()
    live(page)
    expect(page.locator(".status [data-size]")).to_contain_text("764 nodes")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or command").fill("paper face")
    page.get_by_role("listbox").get_by_role("option", name=re.compile("paper face")).first.click()
    expect(book(page)).to_contain_text("paper face")
    hers = live(visit(page.url.removeprefix(heddle.url), who=ada))
    before = page.locator(".card").count()
    heddle.provider.script(
        *(tokens(12, rate=40, word=word) for word in ("left", "middle", "right"))
    )
    page.get_by_role("button", name="Continue").last.click()
    for one in (page, hers):
        expect(one.locator(".card")).to_have_count(before + 3)
        expect(one.locator(".card.coming")).to_have_count(0)
    page.locator(".card a").nth(before + 1).click()
    expect(book(page)).to_contain_text("12")
    expect(hers.locator(".card", has_text="1 below")).to_have_count(0)
    expect(page.locator(".status [data-size]")).to_contain_text("767 nodes")
