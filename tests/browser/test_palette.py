"""Ctrl K: what is offered before anything is typed, and what is found besides nodes."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live


def bar(page: Page, text: str = "") -> None:
    """Opens the command bar and types."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or command").fill(text)


def test_it_opens_with_recent_trees_nodes_and_actions(heddle: Heddle, visit: Open) -> None:
    other = heddle.tree("The lighthouse keeper", "One.")
    tree = heddle.tree("Opened first", "One.", "Two is a longer text.")
    page = live(visit(f"/trees/{other}"))
    page.goto(f"{heddle.url}/trees/{tree}")
    live(page)
    expect(page.locator("article.node")).to_have_count(2)
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    bar(page)
    options = page.get_by_role("listbox").get_by_role("option")
    expect(options.first).to_contain_text("Two is a longer text.")
    expect(options.filter(has_text="The lighthouse keeper")).to_be_visible()
    expect(options.filter(has_text="show these keys")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("article.node")).to_have_count(2)


def test_it_finds_trees_participants_themes_and_commands_by_what_they_do(
    heddle: Heddle, visit: Open
) -> None:
    other = heddle.tree("A zeppelin at dawn", "One.")
    heddle.line(other, f'tag tree:{other} #"aeronautics"')
    page = live(visit(f"/trees/{heddle.tree('Palette', 'One.')}"))
    options = page.get_by_role("listbox").get_by_role("option")
    bar(page, "zeppelin")
    expect(options.first.locator("mark")).to_have_text("zeppelin")
    page.get_by_role("combobox", name="Search or command").fill("aeronaut")
    expect(options.first).to_contain_text("A zeppelin at dawn")
    page.get_by_role("combobox", name="Search or command").fill("hides a node")
    expect(options.filter(has_text="→ prune REF")).to_be_visible()
    page.get_by_role("combobox", name="Search or command").fill("typeface")
    expect(options.filter(has_text="Appearance and writing")).to_be_visible()
    for words, page_of in (
        ("temperature", "Default temperature"),
        ("tags", "Tags"),
        ("docu", "Documents"),
    ):
        page.get_by_role("combobox", name="Search or command").fill(words)
        expect(options.filter(has_text=page_of).first).to_be_visible()
    page.get_by_role("combobox", name="Search or command").fill("Theme: dark")
    expect(options.first).to_contain_text("Theme: dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    bar(page, "Theme: sys")
    expect(options.first).to_contain_text("Theme: system")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "system")
    bar(page, "zeppelin")
    expect(options.first).to_contain_text("A zeppelin at dawn")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(other))


def at_once(page: Page, text: str) -> None:
    """Types and presses Enter before the bar has looked for anything."""
    page.locator("loom-command input").evaluate(
        """(field, text) => {
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
            field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        }""",
        text,
    )


def test_enter_takes_what_belongs_to_the_words_and_not_to_those_before(
    heddle: Heddle, visit: Open
) -> None:
    title = f"A quick heron {uuid4().hex[:6]}"
    other = heddle.tree(title, "One.")
    tree = heddle.tree("Typed at once", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    bar(page)
    choices = page.locator("loom-command [role=option]")
    expect(choices.first).to_have_attribute("aria-selected", "true")
    at_once(page, "→ bookmark here")
    expect(page.locator(".command-answer")).to_contain_text("bookmarked")
    expect(choices).to_have_count(0)
    assert page.url.endswith(tree)
    page.keyboard.press("Escape")
    bar(page)
    expect(choices.first).to_have_attribute("aria-selected", "true")
    at_once(page, title)
    page.wait_for_url(f"**/trees/{other}*")


def test_arrows_go_back_through_the_lines_that_were_run(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Lines again', 'One.')}"))
    field, answer = page.locator("loom-command input"), page.locator(".command-answer")
    bar(page, "→ tag here #first")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("#first")
    field.fill("→ tag here #second")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("#second")
    field.fill("")
    for key, line in (
        ("ArrowUp", "→ tag here #second"),
        ("ArrowUp", "→ tag here #first"),
        ("ArrowUp", "→ tag here #first"),
        ("ArrowDown", "→ tag here #second"),
        ("ArrowUp", "→ tag here #first"),
    ):
        page.keyboard.press(key)
        expect(field).to_have_value(line)
    field.press("End")
    field.press_sequentially("ling")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("#firstling")
