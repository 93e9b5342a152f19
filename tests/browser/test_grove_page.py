"""The grove's page with scripts: new trees, files of other programs, search."""

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.book import book, opened
from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.transfer.test_chats import chatgpt


def test_a_file_of_another_program_is_dropped_and_becomes_a_tree(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    file = tmp_path / "lighthouse.json"
    file.write_text('{"text": "", "children": [{"text": "The lighthouse", "children": []}]}')
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    page.get_by_role("link", name="Open the tree").click()
    page.wait_for_url(re.compile("/trees/"))
    expect(page.locator("main")).to_contain_text("The lighthouse")


def test_in_a_long_list_files_come_in_at_its_top_and_what_came_is_led_to_there(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    name = uuid4().hex[:6]
    for number in range(18):
        heddle.tree(f"Long {name} {number}", "The lamp was lit.")
    file = tmp_path / f"lighthouse {name}.json"
    file.write_text('{"text": "", "children": [{"text": "The lighthouse", "children": []}]}')
    page = visit("/")
    button = page.locator("loom-import label", has_text="Import")
    expect(button).to_be_in_viewport()
    page.locator("loom-import input[type=file]").set_input_files(file)
    leads = page.get_by_role("link", name="Open the tree")
    expect(leads).to_be_in_viewport()
    expect(leads).to_be_focused()
    expect(page.locator(".tree-row").first).to_be_in_viewport()
    # The report is a message above the page: the list does not move for it.
    assert page.locator(".drop").evaluate("drop => getComputedStyle(drop).borderTopStyle") == "none"
    # By a drop anywhere: here on the last row of the list.
    page.get_by_role("button", name="Close").click()
    expect(leads).to_have_count(0)
    page.locator(".tree-row").last.evaluate(
        """row => { const files = new DataTransfer();
        files.items.add(new File(['{"text": "", "children": [{"text": "Two", "children": []}]}'],
            "dropped.json"));
        row.scrollIntoView();
        row.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true})); }"""
    )
    expect(leads).to_be_in_viewport()
    leads.click()
    expect(page.locator("main")).to_contain_text("Two")


def test_trees_of_an_archive_are_searched_and_chosen(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    file = tmp_path / "conversations.json"
    titles = ["Rain in May", "Fog", "Rain in June"]
    file.write_text(json.dumps([chatgpt(title) for title in titles]))
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    form = page.locator("loom-import form.choices")
    expect(form.get_by_role("checkbox")).to_have_count(4)
    page.get_by_role("searchbox", name="Search titles").fill("rain")
    expect(form.get_by_role("checkbox")).to_have_count(3)
    form.get_by_role("button", name="Import").click()
    expect(form).to_contain_text("Choose at least one.")
    form.get_by_role("checkbox", name="Rain in June").check()
    form.get_by_role("checkbox", name="All 2 results").check()
    expect(form.get_by_role("button", name="Import 2 trees")).to_be_visible()
    form.get_by_role("checkbox", name="Rain in May").uncheck()
    page.get_by_role("searchbox", name="Search titles").fill("fog")
    expect(form.get_by_role("checkbox", name="The only result")).not_to_be_checked()
    expect(form.get_by_role("button", name="Import 1 tree")).to_be_visible()
    form.get_by_role("checkbox", name="The only result").check()
    expect(form.get_by_role("button", name="Import 2 trees")).to_be_visible()
    form.get_by_role("button", name="Import").click()
    report = page.locator("loom-import .report")
    expect(report).to_contain_text("8 nodes in 2 trees.")
    expect(report.locator("dl")).not_to_be_visible()
    page.get_by_role("link", name="Show the trees").click()
    expect(page.get_by_role("link", name="Rain in June")).to_be_visible()
    expect(page.get_by_role("link", name="Fog")).to_be_visible()
    expect(page.get_by_role("link", name="Rain in May")).to_have_count(0)


def test_how_a_text_is_split_is_asked(heddle: Heddle, visit: Open, tmp_path: Path) -> None:
    file = tmp_path / "night.md"
    file.write_text("# Night\n\nIt rained.\n\n# Day\n\nIt was dry.\n")
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    # The frame of the focus is that of the radio alone.
    section = page.get_by_role("radio", name="A node for each section")
    section.focus()
    expect(page.locator("label", has=section)).to_have_css("outline-style", "none")
    page.get_by_role("radio", name="A node for each paragraph").check()
    page.locator("loom-import form.choices").get_by_role("button", name="Import").click()
    expect(page.locator("loom-import .report")).to_contain_text("5 nodes in 1 tree.")


def test_a_file_in_the_wrong_format_says_so(heddle: Heddle, visit: Open, tmp_path: Path) -> None:
    file = tmp_path / "cat.json"
    file.write_bytes(b"\x89PNG not json")
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    expect(page.locator("loom-import .refusal")).to_contain_text("cat.json")


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_a_new_tree_asks_for_its_first_text(heddle: Heddle, visit: Open, mode: str) -> None:
    page = visit("/")
    page.locator("summary", has_text="New tree").click()
    page.get_by_role("textbox", name="Title").fill(f"Fresh {mode}")
    page.locator(f"input[value={mode}]").check()
    page.get_by_role("button", name="Create tree").click()
    if mode == "buffer":
        opened(page)
        expect(book(page)).to_contain_text("Start writing here")
        expect(book(page)).to_be_focused()
        page.keyboard.type("Begin.")
    else:
        live(page)
        expect(page.locator("main")).to_contain_text("This tree is empty")
        page.get_by_label("Text of the next node").fill("Begin.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("main")).to_contain_text("Begin.")
    expect(page.locator(".status [data-size]")).to_have_text("")  # one line is not counted


def test_all_trees_are_searched_as_one_types(heddle: Heddle, visit: Open) -> None:
    heddle.tree("Needles", "A haystack holds one zyzzyva.")
    page = visit("/")
    page.get_by_role("searchbox", name="Search all trees").press_sequentially("zyzz")
    expect(page.locator("#results")).to_contain_text("1 result")
    expect(page.get_by_role("searchbox", name="Search all trees")).to_be_focused()
    page.get_by_role("searchbox", name="Search all trees").fill("")
    expect(page.locator("#results")).to_contain_text("New tree")


def test_the_list_shows_who_has_a_tree_open_and_narrows_by_tag(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Visited", "One day.")
    heddle.line(tree, f"tag tree:{tree} #visited")
    live(visit(f"/trees/{tree}", who=ada))
    page = visit("/?tag=visited")
    row = page.locator(f"a[data-tree='{tree}']")
    expect(row.locator(".face")).to_have_attribute("title", "ada is here now")
    expect(page.locator(".tree-row")).to_have_count(1)
    page.get_by_role("link", name="#visited Show all trees").click()
    expect(page.locator(".tree-row").nth(1)).to_be_visible()


def test_the_form_of_a_new_tree_opens_and_closes_by_its_button(heddle: Heddle, visit: Open) -> None:
    heddle.tree("One tree", "One.")
    page = visit("/")
    form = page.locator(".new-tree")
    form.locator("summary").press("Enter")
    expect(form.get_by_label("Title")).to_be_focused()
    form.locator("summary").press("Enter")
    expect(form.get_by_label("Title")).to_be_hidden()
