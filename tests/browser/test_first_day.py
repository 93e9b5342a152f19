"""The first day: a real tree of another program is dropped in, continued, kept and seen."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.book import book
from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import tokens
from tests.transfer.conftest import SAMPLES

SAMPLE = SAMPLES / "pyloom" / "loom_demo.json"


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample loom_demo.json is not here")
def test_a_tree_of_pyloom_is_imported_continued_and_watched_by_another(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    heddle.tree("Before", "Once")
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(SAMPLE)
    expect(page.locator("loom-import .report")).to_contain_text("764")
    # The list shows it without a reload, and the focus stays where it is.
    expect(page.locator(".tree-row").filter(has_text="764 nodes")).to_be_visible()
    expect(page.get_by_role("link", name="Open the tree")).to_be_focused()
    page.get_by_role("link", name="Open the tree").click()
    live(page)
    size = page.locator(".status [data-size]")
    expect(size).to_have_text(re.compile(r"^\d+ branches$"))
    branches = int(size.inner_text().split()[0])
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
    for screen in (page, hers):
        expect(screen.locator(".card")).to_have_count(before + 3)
        expect(screen.locator(".card.coming")).to_have_count(0)
    page.locator(".card a").nth(before + 1).click()
    expect(book(page)).to_contain_text("12")
    expect(hers.locator(".card", has_text="1 below")).to_have_count(0)
    page.wait_for_function(
        "least => parseInt(document.querySelector('.status [data-size]').textContent) >= least",
        arg=branches + 2,
    )


def test_a_file_that_is_being_sent_can_be_stopped(visit: Open, tmp_path: Path) -> None:
    file = tmp_path / "slow.json"
    file.write_text(json.dumps({"text": "Slow", "children": []}))
    page = visit("/")
    page.route("**/api/import", lambda route: None)  # nobody takes it
    page.locator("loom-import input[type=file]").set_input_files(file)
    expect(page.get_by_role("progressbar", name="Sending slow.json")).to_be_visible()
    page.locator("loom-import").get_by_role("button", name="Stop").click()
    expect(page.locator("loom-import").get_by_role("alert")).to_contain_text("nothing was added")
    page.unroute("**/api/import")
    page.locator("loom-import input[type=file]").set_input_files(file)
    expect(page.get_by_role("link", name="Open the tree")).to_be_focused()


def test_an_import_that_is_stopped_leaves_nothing(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    children = [{"text": f"text {number} " * 20, "children": []} for number in range(40_000)]
    file = tmp_path / "endless.json"
    file.write_text(json.dumps({"text": "The endless one", "children": children}))
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    # It is sent, and more than the quarter that reading is: some texts are written.
    bar = "loom-import progress[aria-label^=Importing]"
    page.wait_for_function(f"() => document.querySelector('{bar}')?.value > 0.3")
    page.locator("loom-import").get_by_role("button", name="Stop").click()
    alert = page.locator("loom-import").get_by_role("alert")
    expect(alert).to_contain_text("The import was stopped.")
    expect(alert).to_contain_text("Nothing was added")
    expect(page.locator("loom-import").get_by_role("button", name="Stop")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("endless")).to_have_count(0)
    trees = heddle.get("trees?limit=1000")["results"]
    assert "endless" not in [tree["title"] for tree in trees]  # type: ignore[attr-defined]
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    assert heddle.get(f"groves/{grove}/search?q=endless+one&by=words")["count"] == 0
    # The page takes the next file.
    file.write_text(json.dumps({"text": "The short one", "children": children[:1]}))
    page.locator("loom-import input[type=file]").set_input_files(file)
    page.get_by_role("link", name="Open the tree").click()
    expect(page).to_have_url(re.compile("/trees/"))
