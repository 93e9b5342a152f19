"""Suggestions at the text: seen word by word, accepted, changed or rejected where they stand."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live


def test_a_suggestion_is_read_word_by_word_and_accepted_in_place(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Suggested", "The old house stood.")
    node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    page = live(visit(f"/trees/{tree}"))
    with heddle.client(ada) as client:
        for text in ("The new house stood.", "The old house fell."):
            line = {"line": f'suggest {node} "{text}"'}
            assert client.post(f"/api/trees/{tree}/commands", json=line).is_success
    first, second = page.locator(".note").first, page.locator(".note").last
    expect(second).to_contain_text("suggests another wording")
    expect(first.locator("del")).to_have_text("old")
    expect(first.locator("ins")).to_have_text("new")
    first.get_by_role("button", name="Accept", exact=True).click()
    expect(page.locator("article.node .text").first).to_have_text("The new house stood.")
    expect(page.locator(".note").first).to_contain_text("accepted")
    page.locator(".note").last.get_by_role("button", name="Edit and accept").click()
    field = page.get_by_role("textbox", name=re.compile("^Text to accept"))
    expect(field).to_have_value("The old house fell.")
    field.fill("The new house fell.")
    page.locator("form.inline-form").get_by_role("button", name="Accept", exact=True).click()
    expect(page.locator("article.node .text").first).to_have_text("The new house fell.")


def test_what_was_written_after_an_older_wording_is_marked_until_read(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Older", "One.", "Two.")
    path = heddle.get(f"trees/{tree}/path")["nodes"]
    heddle.line(tree, f'edit {path[1]["id"]} "One, other." as:version')  # type: ignore[index]
    page = live(visit(f"/trees/{tree}?node={path[2]['id']}"))  # type: ignore[index]
    older = page.locator("article.node").last.locator(".older")
    expect(older).to_be_visible()
    older.get_by_role("button", name="Mark as read").click()
    expect(older).to_be_hidden()
    page.reload()
    live(page)
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator("article.node").last.locator(".older")).to_be_hidden()


def test_in_the_text_of_a_buffer_what_follows_an_older_wording_is_marked_until_read(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree(
        "Older, a buffer", "It rained. ", "The gutters sang. ", "Then it cleared.", mode="buffer"
    )
    path = heddle.get(f"trees/{tree}/path")["nodes"]
    first, second = path[1]["id"], path[2]["id"]  # type: ignore[index]
    page = live(visit(f"/trees/{tree}"))
    text = page.locator("loom-buffer[data-on] .cm-content")
    expect(text).to_contain_text("Then it cleared.")
    expect(text.locator(".older")).to_have_count(0)
    with heddle.client(ada) as client:  # somebody else changes what is above
        line = {"line": f'edit {first} "It snowed. " as:version'}
        assert client.post(f"/api/trees/{tree}/commands", json=line).is_success
    expect(text).to_contain_text("It snowed.")
    expect(text.locator(".older")).to_have_count(1)
    expect(text.locator(".reworded")).to_have_text(re.compile("The gutters sang"))
    page.reload()
    live(page)
    older = page.locator("loom-buffer[data-on] .older")
    expect(older).to_have_accessible_name("written after an older version: Mark as read")
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(" And so on.")  # the mark is no part of the text
    expect(older).to_have_attribute("title", re.compile("has changed since"))
    older.click()
    expect(older).to_have_count(0)
    expect(page.locator(".cm-content .reworded")).to_have_count(0)
    page.keyboard.type(" On.")  # the caret stayed where it was
    expect(page.locator(".cm-content")).to_have_text(
        "It snowed. The gutters sang. Then it cleared. And so on. On."
    )
    heddle.line(tree, "undo")
    expect(older).to_have_count(1)  # the reading was undone
    older.press("Enter")
    expect(older).to_have_count(0)
    expect(page.locator(".cm-content")).to_be_focused()
    heddle.line(tree, "undo")
    expect(older).to_have_count(1)
    heddle.line(tree, f'edit {second} "The gutters sang on. " as:version')
    expect(older).to_have_count(1)  # written below the new wording; what follows it was not
    expect(page.locator(".cm-content .reworded")).to_have_text(re.compile("Then it cleared"))
