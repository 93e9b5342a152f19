"""A buffer in the browser: its text, its nodes, and where the caret is."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Heddle
from tests.browser.test_two_people import live


def book(page: Page) -> Locator:
    """The editor."""
    return page.get_by_role("textbox", name="The text, and what you write next")


def opened(page: Page) -> Page:
    """The page, once it is live and its editor is ready."""
    expect(page.locator("loom-buffer[data-on]")).to_be_attached()
    return live(page)


def text_of(page: Page) -> str:
    """The whole text, without the preview of a candidate."""
    text: str = page.locator("loom-buffer").evaluate("one => one.editor.view.state.doc.toString()")
    return text


def nodes_of(page: Page) -> list[str]:
    """The texts of the nodes, and last the working buffer."""
    texts: list[str] = page.locator("loom-buffer").evaluate(
        "one => [...one.editor.ids, ''].map((_, place) => one.editor.stretch(place).text)"
    )
    return texts


def has_nodes(page: Page, texts: list[str]) -> None:
    """Waits until `nodes_of` are these: the editor follows a move a moment after the cards."""
    page.wait_for_function(
        """texts => {
            const {editor} = document.querySelector("loom-buffer");
            const found = [...editor.ids, ""].map((_, place) => editor.stretch(place).text);
            return JSON.stringify(found) === JSON.stringify(texts);
        }""",
        arg=texts,
    )


def working(page: Page, text: str) -> None:
    """Waits until the underlined text (typed, not yet a node) is this one."""
    page.wait_for_function(
        """text => [...document.querySelectorAll(".working")].map(one => one.textContent)
            .join("") === text""",
        arg=text,
    )


def caret(page: Page, at: int) -> None:
    """Puts the caret at a place of the text."""
    page.locator("loom-buffer").evaluate(
        "(one, at) => { one.editor.view.dispatch({selection: {anchor: at}}); one.editor.focus(); }",
        at,
    )


def path_of(heddle: Heddle, tree: str, node: str = "") -> list[str]:
    """The texts of a path, as the server has them."""
    query = f"?node={node}" if node else ""
    response: Any = heddle.get(f"trees/{tree}/path{query}")
    return [part["text"] for part in response["nodes"][1:]]
