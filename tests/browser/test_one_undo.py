"""One line of undo: typing, accepting, replacing and changes of the tree, in the order of time."""

from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, opened, path_of
from tests.browser.conftest import Heddle, Open
from tests.browser.test_buffer_undo import rested, texts
from tests.providers.scripts import says

MARIE = ("Marie came home.", " Marie sat down.", " She called for Marie.", " Nobody came.")


def replace_all(page: Page, old: str, new: str) -> None:
    """Replaces a word in the whole text, by keys."""
    book(page).press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    panel.get_by_label("Find in the text").fill(old)
    panel.get_by_label("Replace with").fill(new)
    panel.get_by_role("button", name="Replace all").click()
    page.keyboard.press("Escape")


def saves_versions(page: Page) -> None:
    """Edits become versions without a question."""
    page.evaluate("localStorage.setItem('heddle.edit-as.buffer', 'version')")


def expect_toast(page: Page, words: str) -> None:
    """Waits for a message that begins so."""
    expect(page.locator("loom-toast .toast")).to_contain_text(words)


def test_undo_takes_back_a_replacement_before_the_accepting_that_came_before_it(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says(" Marie slept."))
    tree = heddle.tree("Replacement", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    saves_versions(page)
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    book(page).click()
    book(page).press_sequentially("Marie came home. Marie sat down.")
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(1)
    book(page).press("Tab")
    texts(page, "Marie came home. Marie sat down.", " Marie slept.", "")
    rested(page)
    replace_all(page, "Marie", "Morag")
    expect(page.locator(".working")).to_have_count(0)
    texts(page, "Morag came home. Morag sat down.", " Morag slept.", "")
    rested(page)
    position = page.evaluate("document.querySelector('loom-tree').page.position")
    assert path_of(heddle, tree, position)[0].startswith("Morag")
    book(page).press("Control+z")
    texts(page, "Marie came home. Marie sat down.", " Marie slept.", "")
    expect_toast(page, "Undone: replaced Marie by Morag in 2 passages")
    book(page).press("Control+y")
    texts(page, "Morag came home. Morag sat down.", " Morag slept.", "")
    book(page).press("Control+z")
    texts(page, "Marie came home. Marie sat down.", " Marie slept.", "")
    book(page).press("Control+z")
    texts(page, "Marie came home. Marie sat down.", "")
    # What is read is the wording that is current, for everybody.
    position = page.evaluate("document.querySelector('loom-tree').page.position")
    assert path_of(heddle, tree, position) == ["Marie came home. Marie sat down."]


def test_a_replacement_in_four_passages_is_one_step_outside_the_text_and_after_a_reload(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Four passages", *MARIE, mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    saves_versions(page)
    caret(page, 0)
    replace_all(page, "Marie", "Morag")
    morag = [text.replace("Marie", "Morag") for text in MARIE]
    expect(page.locator(".working")).to_have_count(0)
    rested(page)
    assert path_of(heddle, tree) == morag
    page.reload()
    opened(page)
    page.locator("main").focus()
    page.keyboard.press("Control+z")
    expect_toast(page, "Undone: replaced Marie by Morag in 3 passages")
    texts(page, *MARIE, "")
    assert path_of(heddle, tree) == [*MARIE]
    page.locator("loom-toast").get_by_role("button", name="Redo").click()
    texts(page, *morag, "")
    assert path_of(heddle, tree) == morag


def test_typing_and_changes_of_the_tree_are_undone_in_the_order_of_time(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Order of time", "One.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len("One."))
    book(page).press_sequentially(" First")
    rested(page)
    page.evaluate("document.querySelector('loom-tree').page.say('bookmark here')")
    expect_toast(page, "Bookmark added")
    caret(page, len("One. First"))
    book(page).press_sequentially(" second")
    book(page).press("Control+z")
    texts(page, "One.", " First")
    assert bookmarks(heddle, tree) == 1
    book(page).press("Control+z")
    expect_toast(page, "Undone: bookmark")
    assert bookmarks(heddle, tree) == 0
    texts(page, "One.", " First")
    book(page).press("Control+z")
    texts(page, "One.", "")
    for wanted in ((" First", 0), (" First", 1), (" First second", 1)):
        book(page).press("Control+y")
        texts(page, "One.", wanted[0])
        rested(page)
        assert bookmarks(heddle, tree) == wanted[1]


def bookmarks(heddle: Heddle, tree: str) -> int:
    """How many bookmarks the tree has."""
    reply: str = heddle.line(tree, "list bookmarks")["reply"]  # type: ignore[assignment]
    return reply.count("One.")


def test_an_added_text_that_is_undone_is_a_draft_again(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Added", "One.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len("One."))
    book(page).press_sequentially(" Two.")
    page.get_by_role("button", name="Add", exact=True).click()
    texts(page, "One.", " Two.", "")
    rested(page)
    book(page).press("Control+z")
    texts(page, "One.", " Two.")
    expect_toast(page, "Undone: new text")
    book(page).press("Control+y")
    texts(page, "One.", " Two.", "")
    page.reload()
    opened(page)
    texts(page, "One.", " Two.", "")
