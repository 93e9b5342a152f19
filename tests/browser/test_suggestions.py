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
    expect(page.locator(".note").first).to_contain_text("resolved")
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
