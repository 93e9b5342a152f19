"""Undo in a buffer: nothing that was typed is lost, whatever was saved or accepted between."""

import random

import pytest
from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, nodes_of, opened, path_of, text_of
from tests.browser.conftest import Heddle, Open
from tests.providers.scripts import HOLD, holds, says


def texts(page: Page, *wanted: str) -> None:
    """Waits until these are the texts of the nodes and of the working buffer."""
    page.wait_for_function(
        """wanted => {
            const {editor} = document.querySelector("loom-buffer");
            const all = [...editor.ids, ""].map((_, place) => editor.stretch(place).text);
            return JSON.stringify(all) === JSON.stringify(wanted);
        }""",
        arg=list(wanted),
    )


def rested(page: Page) -> None:
    """Waits until nothing is on its way: typed text is kept, and the path is drawn."""
    page.wait_for_function(
        """() => {
            const one = document.querySelector("loom-buffer");
            const {page} = one;
            return !one.typing && !one.saving.isBusy && !page.acts.busy
                && one.shown === page.position && page.store !== null
                && page.store.slotOf(page.position) !== null;
        }"""
    )


def test_undo_after_accepting_takes_back_the_accepting(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(says(" It was green."), says(" It was red."), says(" It was blue."))
    tree = heddle.tree("Undo", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    book(page).click()
    book(page).press_sequentially("The door was open.")
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    first = page.locator(".card.picked .card-text").inner_text()
    book(page).press("Tab")
    texts(page, "The door was open.", f" {first.strip()}", "")
    book(page).press_sequentially(" And so?")
    book(page).press("Control+z")
    texts(page, "The door was open.", f" {first.strip()}", "")
    book(page).press("Control+z")
    texts(page, "The door was open.", "")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    # Asking for them, and adding the text, are undone in their turn.
    book(page).press("Control+z")
    expect(page.locator(".card")).to_have_count(0)
    texts(page, "The door was open.", "")
    book(page).press("Control+z")
    texts(page, "The door was open.")
    book(page).press("Control+y")
    texts(page, "The door was open.", "")
    book(page).press("Control+y")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    book(page).press("Control+y")
    texts(page, "The door was open.", f" {first.strip()}", "")
    book(page).press("Control+y")
    texts(page, "The door was open.", f" {first.strip()}", " And so?")
    saved = heddle.get(f"trees/{tree}/path")["nodes"][1]  # type: ignore[index]
    assert saved["text"] == "The door was open."
    assert len(saved["versions"]) == 1


def test_words_of_a_candidate_come_back_with_the_undo_of_accepting_it(
    heddle: Heddle, visit: Open, house: str
) -> None:
    heddle.line(house, 'respond " She waited there."')
    heddle.line(house, "go parent")
    at = heddle.get(f"trees/{house}")["workspace"]["position"]  # type: ignore[index]
    page = opened(visit(f"/trees/{house}?node={at}"))
    caret(page, len(text_of(page)))
    book(page).press("Control+ArrowRight")
    assert nodes_of(page)[-1] == " She"
    book(page).press("Tab")
    texts(page, *nodes_of(page)[:3], " She waited there.", "")
    book(page).press("Control+z")
    texts(page, *nodes_of(page)[:3], " She")
    book(page).press("Control+y")
    texts(page, *nodes_of(page)[:3], " She waited there.", "")


def test_an_edit_over_two_nodes_is_undone_in_each(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    before = nodes_of(page)
    page.locator("loom-buffer").evaluate(
        "one => one.editor.view.dispatch({selection: {anchor: 16, head: 30}})"
    )
    book(page).press("X")
    assert nodes_of(page) != before
    book(page).press("Control+z")
    assert nodes_of(page) == before
    expect(page.locator(".working")).to_have_count(0)
    expect(page.locator(".book-said")).to_have_text("")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_scripts_of_writing_saving_accepting_and_undo_lose_nothing(
    heddle: Heddle, visit: Open, seed: int
) -> None:
    roll = random.Random(seed)
    words = [" rain", "\n\nThen", " 😀", " é", " שלום", ".", " and so"]
    heddle.provider.script(*[says(f" Candidate {number}.") for number in range(40)])
    tree = heddle.tree(f"Random {seed}", "Once.", " Twice.", mode="buffer")
    page = visit("/")
    page.evaluate("localStorage.setItem('heddle.edit-as.buffer', 'version')")
    page.goto(f"{heddle.url}/trees/{tree}")
    opened(page)
    for step in range(25):
        rested(page)
        kind = roll.choice(["type", "type", "type", "cut", "undo", "undo", "save", "ask", "take"])
        text = text_of(page)
        if kind == "type":
            at = len(text.encode("utf-16-le")) // 2
            caret(page, at if roll.random() < 0.6 else text.find(" ") + 1)
            page.keyboard.insert_text(roll.choice(words))
        elif kind == "cut" and len(text) > 8:
            caret(page, 5)
            book(page).press("Backspace")
        elif kind == "undo":
            book(page).press("Control+z")
            rested(page)
            book(page).press("Control+y")
            rested(page)
            assert text_of(page) == text, f"step {step}: redo after undo"
            book(page).press("Control+z")
        elif kind == "save":
            page.get_by_role("button", name="Add", exact=True).click()
            expect(page.locator(".working")).to_have_count(0)
            rested(page)
            assert "".join(shown_path(heddle, page, tree)) == text == text_of(page)
        elif kind == "ask" and not page.locator(".card").count():
            page.get_by_role("button", name="Continue", exact=True).last.click()
            expect(page.locator(".card[data-id]").first).to_be_visible()
            expect(page.locator(".card.coming")).to_have_count(0)
        elif kind == "take" and page.locator(".card a").count():
            page.locator(".card a").first.click()
        if kind not in ("undo", "take"):
            rested(page)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".working")).to_have_count(0)
    rested(page)
    assert "".join(shown_path(heddle, page, tree)) == text_of(page)
    position = page.evaluate("document.querySelector('loom-tree').page.position")
    assert heddle.get(f"trees/{tree}/verify?node={position}")["broken"] == []


def shown_path(heddle: Heddle, page: Page, tree: str) -> list[str]:
    """The texts of the path that is shown, as the server has them."""
    position: str = page.evaluate("document.querySelector('loom-tree').page.position")
    return path_of(heddle, tree, position)


def test_undo_right_after_accepting_what_is_coming_takes_that_back(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(
        *[holds(f" It was {word}", HOLD, ".") for word in ("red", "blue", "new")]
    )
    tree = heddle.tree("Coming", "The door was open.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len(text_of(page)))
    book(page).press_sequentially(" And then?")
    rested(page)
    book(page).press("Control+Enter")
    coming = page.locator(".card.coming")
    expect(coming).to_have_count(3)
    for at in range(3):
        expect(coming.nth(at)).to_contain_text("It was")
    texts(page, "The door was open.", " And then?", "")
    book(page).press("Tab")
    expect(page.locator(".card.taken")).to_have_count(1)
    book(page).press("Control+z")
    expect(page.locator(".card.taken")).to_have_count(0)
    texts(page, "The door was open.", " And then?", "")
    # What was typed since is undone first.
    book(page).press("Tab")
    expect(page.locator(".card.taken")).to_have_count(1)
    book(page).press_sequentially("x")
    book(page).press("Control+z")
    texts(page, "The door was open.", " And then?", "")
    expect(page.locator(".card.taken")).to_have_count(1)
    book(page).press("Control+z")
    expect(page.locator(".card.taken")).to_have_count(0)
    for _ in range(3):
        heddle.provider.release()
    expect(page.locator(".card[data-id]")).to_have_count(3)
    texts(page, "The door was open.", " And then?", "")


def test_a_key_with_nothing_left_to_undo_or_redo_is_answered_for_all_to_see(
    visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    before = text_of(page)
    caret(page, len(before))
    book(page).press("Control+z")
    toast = page.locator("loom-toast .toast")
    expect(toast).to_have_text("There is nothing to undo in this text.")
    book(page).press("Control+y")
    expect(toast).to_have_text("There is nothing to redo in this text.")
    expect(toast).to_be_visible()
    assert text_of(page) == before


def test_undo_and_redo_stay_at_the_place_where_a_text_was_continued_in_the_middle(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(*[says(f" Candidate {number}.") for number in range(3)])
    whole = [f"Passage {number}. {'More words of it. ' * 40}\n\n" for number in range(12)]
    tree = heddle.tree("Middle", *whole, mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    at = len("".join(whole[:3])) + 200
    caret(page, at)
    page.locator("loom-buffer").evaluate("one => one.editor.showPlace(one.editor.head, 'center')")
    book(page).press("Control+Space")
    candidates = page.locator(".card[data-id]", has_text="Candidate")
    expect(candidates).to_have_count(3)
    half = whole[3][:200]
    texts(page, *whole[:3], half, "")
    page.locator(".card.picked", has_text="Candidate").wait_for()
    book(page).press("Tab")
    rested(page)
    taken = nodes_of(page)
    for _ in range(3):
        book(page).press("Control+z")
        rested(page)
    texts(page, *whole, "")
    place = "one => [one.editor.head, one.editor.view.coordsAtPos(one.editor.head)?.top ?? -1]"
    head, top = page.locator("loom-buffer").evaluate(place)
    assert head == at
    assert 0 < top < page.evaluate("innerHeight")
    for _ in range(3):
        book(page).press("Control+Shift+z")
        rested(page)
    texts(page, *taken)
    expect(page.locator("loom-toast")).to_contain_text("Redone: accepting a candidate")
