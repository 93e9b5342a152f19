"""Keys of the writer's desk: they work where the caret is, and only those that do are shown."""

import pytest
from playwright.sync_api import expect

from tests.browser.book import book, caret, opened, text_of
from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import never_ends, says


@pytest.mark.parametrize("where", ["editor", "composer", "note", "outline", "button"])
def test_escape_stops_what_runs_wherever_the_caret_is(
    heddle: Heddle, visit: Open, where: str
) -> None:
    heddle.provider.script(*[never_ends(rate=40, word=f"{word} ") for word in ("a", "b", "c")])
    mode = "buffer" if where == "editor" else "dialogue"
    tree = heddle.tree(f"Escape {where}", "One.", mode=mode)
    page = visit(f"/trees/{tree}")
    if where == "editor":
        caret(opened(page), 4)
    live(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".card.coming [data-text]").first).not_to_be_empty()
    if where == "composer":
        page.get_by_label("Text of the next node").click()
    elif where == "note":
        page.locator("main").press("a")
        page.get_by_role("form", name="Annotate").get_by_role("textbox").fill("Half a note")
    elif where == "outline":
        page.get_by_role("tab", name="Outline").click()
        page.get_by_role("treeitem").first.click()
        page.locator("main").press("ArrowRight")
    elif where == "button":
        page.get_by_role("button", name="Continue", exact=True).last.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".card.coming")).to_have_count(0)
    expect(page.locator(".card[data-id]")).to_have_count(3)
    if where == "note":
        form = page.get_by_role("form", name="Annotate")
        expect(form.get_by_role("textbox")).to_have_value("Half a note")
        page.keyboard.press("Escape")
        expect(form).to_have_count(0)


def test_escape_stops_what_was_asked_for_elsewhere(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(*[never_ends(rate=40, word=f"{word} ") for word in ("a", "b", "c")])
    tree = heddle.tree("Escape elsewhere", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.keyboard.press("Control+Enter")
    expect(page.locator(".card.coming [data-text]").first).not_to_be_empty()
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    page.keyboard.press("Escape")
    page.locator("main").press("ArrowRight")
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator(".card[data-id]")).to_have_count(3)
    expect(page.locator(".card.coming")).to_have_count(0)


def test_only_keys_that_work_at_the_caret_are_shown(
    heddle: Heddle, visit: Open, house: str
) -> None:
    heddle.provider.script(says(" A."), says(" B."), says(" C."))
    page = opened(visit(f"/trees/{house}"))
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    expect(page.locator(".wheel")).to_contain_text("Tab")
    expect(page.locator(".wheel kbd").first).to_be_visible()
    expect(page.locator(".weave-hint")).to_have_text("")
    caret(page, 3)
    expect(page.locator(".wheel kbd").first).to_be_hidden()
    page.locator("main").focus()
    expect(page.locator(".weave-hint")).to_contain_text("1–9 to accept")
    expect(page.locator(".wheel kbd").first).to_be_hidden()


def test_a_new_dialogue_can_be_written_at_once(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("New")
    page = live(visit(f"/trees/{tree}"))
    field = page.get_by_label("Text of the next node")
    expect(field).to_be_focused()
    page.keyboard.type("hello, peer")
    expect(field).to_have_value("hello, peer")


def test_keys_of_nodes_do_nothing_in_an_empty_tree(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Empty")
    page = live(visit(f"/trees/{tree}"))
    for key in "eaxlsbrchg.":
        page.locator("main").press(key)
    assert page.evaluate("document.activeElement.id") == "main"
    expect(page.locator("form.inline-form, dialog[open], .card, .toast.bad")).to_have_count(0)
    events = heddle.get(f"trees/{tree}")["seq"]
    page.get_by_label("Text of the next node").fill("One.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node")).to_have_count(1)
    assert heddle.get(f"trees/{tree}")["seq"] == events + 1  # type: ignore[operator]


def test_letters_beside_a_text_field_are_no_keys_of_nodes(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Beside", "One.")
    page = live(visit(f"/trees/{tree}"))
    page.locator(".composer").get_by_role("button", name="Continue").focus()
    for key in "eab":
        page.keyboard.press(key)
    expect(page.locator("form.inline-form")).to_have_count(0)
    expect(page.locator("article.node footer")).not_to_contain_text("★")
