"""A buffer is one text: typed into, edited in its nodes, continued at the caret."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, says

HOUSE = ("The house stood empty.", " She hadn't visited\n\nsince,", " and the gate was new.")


def book(page: Page) -> Locator:
    """Where one writes."""
    return page.get_by_role("textbox", name="The text, and what you write next")


def opened(page: Page) -> Page:
    """The page, live, with its editor in place."""
    expect(page.locator("loom-buffer[data-on]")).to_be_attached()
    return live(page)


def text_of(page: Page) -> str:
    """The whole text, as it is written, without the ghost."""
    found: str = page.locator("loom-buffer").evaluate("one => one.editor.view.state.doc.toString()")
    return found


def nodes_of(page: Page) -> list[str]:
    """The texts of the nodes, and last the working buffer."""
    found: list[str] = page.locator("loom-buffer").evaluate(
        "one => [...one.editor.ids, ''].map((_, place) => one.editor.stretch(place).text)"
    )
    return found


def working(page: Page, text: str) -> None:
    """Waits until this is what is underlined: typed, and no node yet."""
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
    found: Any = heddle.get(f"trees/{tree}/path{query}")
    return [one["text"] for one in found["nodes"][1:]]


@pytest.fixture
def tree(heddle: Heddle) -> str:
    """A buffer of three nodes."""
    return heddle.tree("The house", *HOUSE, mode="buffer")


def test_the_text_stands_before_its_editor_and_does_not_jump(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = visit("/")
    page.route("**/dist/editor.js", lambda route: None)
    page.goto(f"{heddle.url}/trees/{tree}")
    expect(page.locator(".run")).to_have_count(3)
    edges = """all => [all[0], all.at(-1)].map(one => one.getBoundingClientRect())
        .flatMap((box, end) => end ? [box.right, box.bottom] : [box.left, box.top])"""
    before = page.locator(".run .plain").evaluate_all(edges)
    page.unroute("**/dist/editor.js")
    page.reload()
    opened(page)
    after = page.locator(".book .by").evaluate_all(edges)
    assert before == pytest.approx(after, abs=1)
    assert text_of(page) == "".join(HOUSE)


def test_typed_words_wait_in_the_working_buffer_and_become_a_node(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    book(page).press("Control+End")
    book(page).press_sequentially(" She put")
    working(page, " She put")
    assert path_of(heddle, tree) == list(HOUSE)
    page.reload()
    opened(page)
    assert nodes_of(page) == [*HOUSE, " She put"]
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".working")).to_have_count(0)
    assert path_of(heddle, tree) == [*HOUSE, " She put"]
    book(page).press_sequentially(" it")
    assert nodes_of(page) == [*HOUSE, " She put", " it"]


def test_an_edit_asks_once_what_it_means_and_is_saved_when_it_is_left(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    caret(page, 9)
    book(page).press_sequentially(", old,")
    expect(page.locator(".book-said")).to_contain_text("not saved yet")
    assert path_of(heddle, tree) == list(HOUSE)
    book(page).press("Control+s")
    page.get_by_role("button", name="A version: what follows stays").click()
    expect(page.locator(".working")).to_have_count(0)
    assert path_of(heddle, tree)[0] == "The house, old, stood empty."
    assert path_of(heddle, tree)[1:] == list(HOUSE[1:])
    caret(page, 3)
    book(page).press_sequentially(" big")
    caret(page, len(text_of(page)))
    expect(page.locator(".working")).to_have_count(0)
    assert path_of(heddle, tree)[0] == "The big house, old, stood empty."
    assert nodes_of(page)[0] == "The big house, old, stood empty."


def test_a_selection_over_several_nodes_is_an_edit_of_each(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    page.locator("loom-buffer").evaluate(
        "one => one.editor.view.dispatch({selection: {anchor: 16, head: 30}})"
    )
    book(page).press("X")
    assert nodes_of(page)[:2] == ["The house stood X", "n't visited\n\nsince,"]
    book(page).press("Control+s")
    page.get_by_role("button", name="A version: what follows stays").click()
    expect(page.locator(".working")).to_have_count(0)
    assert path_of(heddle, tree) == ["The house stood X", "n't visited\n\nsince,", HOUSE[2]]


def test_undo_in_the_text_is_the_editors_and_leaves_no_edit(visit: Open, tree: str) -> None:
    page = opened(visit(f"/trees/{tree}"))
    caret(page, 9)
    book(page).press_sequentially(" oops")
    working(page, " oops")
    book(page).press("Control+z")
    expect(page.locator(".working")).to_have_count(0)
    expect(page.locator(".book-said")).to_be_empty()
    assert text_of(page) == "".join(HOUSE)


def test_continue_at_the_end_makes_the_buffer_a_node_and_streams_ghosts(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    book(page).press("Control+End")
    book(page).press_sequentially(" She")
    heddle.provider.script(says(" found it open."), says(" did not lift it."), says(" left."))
    book(page).press("Control+Enter")
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".card.coming")).to_have_count(0)
    first = page.locator(".card.picked .card-text").inner_text()
    expect(page.locator(".ghost")).to_have_text(re.compile(re.escape(first.strip())))
    book(page).press("ArrowDown")
    second = page.locator(".card").nth(1)
    expect(second).to_have_class(re.compile("picked"))
    taken = page.locator(".ghost").inner_text()
    book(page).press("Tab")
    expect(page.locator(".ghost")).to_have_count(0)
    expect(page.locator(".book .by").last).to_have_text(taken)
    assert nodes_of(page) == [*HOUSE, " She", taken, ""]


def test_a_word_of_the_ghost_is_taken_and_stays_the_models(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    page.get_by_label("n", exact=True).fill("1")
    heddle.provider.script(says(" found that she knew."))
    book(page).press("Control+End")
    book(page).press("Control+Enter")
    expect(page.locator(".ghost")).to_have_text(" found that she knew.")
    expect(page.locator(".card.coming")).to_have_count(0)
    book(page).press("Control+ArrowRight")
    book(page).press("Control+ArrowRight")
    working(page, " found that")
    expect(page.locator(".ghost")).to_have_text(" she knew.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".working")).to_have_count(0)
    assert nodes_of(page) == [*HOUSE, " found that", ""]
    expect(page.locator(".book .by").last).to_have_attribute("data-kind", "model")
    expect(page.locator(".ghost")).to_have_text(" she knew.")


def test_continue_in_the_middle_splits_there(heddle: Heddle, visit: Open, tree: str) -> None:
    page = opened(visit(f"/trees/{tree}"))
    page.get_by_label("n", exact=True).fill("1")
    heddle.provider.script(says(" full."))
    caret(page, len("The house stood"))
    book(page).press("Control+Space")
    expect(page.locator(".card")).to_have_count(2)
    assert nodes_of(page) == ["The house stood", ""]
    expect(page.locator(".card-text").first).to_contain_text("empty.")
    expect(page.locator(".card-text").nth(1)).to_contain_text("full.")


def test_another_persons_version_comes_without_moving_the_caret(
    heddle: Heddle, visit: Open, tree: str, ada: Cookies
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    first = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    book(page).press("Control+End")
    book(page).press_sequentially(" Mine")
    with heddle.client(ada) as client:
        line = {"line": f'edit {first} "The old house stood empty." as:version'}
        assert client.post(f"/api/trees/{tree}/commands", json=line).is_success
    expect(page.locator(".book")).to_contain_text("The old house")
    book(page).press_sequentially(" here")
    assert nodes_of(page)[-1] == " Mine here"


def test_an_edit_that_somebody_was_faster_with_is_kept_and_says_so(
    heddle: Heddle, visit: Open, tree: str, ada: Cookies
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    first = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    caret(page, 9)
    book(page).press_sequentially(" there")
    with heddle.client(ada) as client:
        line = {"line": f'edit {first} "Hers." as:version'}
        assert client.post(f"/api/trees/{tree}/commands", json=line).is_success
    book(page).press("Control+s")
    page.get_by_role("button", name="A version: what follows stays").click()
    expect(page.locator(".book-said")).to_contain_text("newer version")
    assert nodes_of(page)[0] == "The house there stood empty."
    page.get_by_role("button", name="Put back").click()
    expect(page.locator(".book")).to_contain_text("Hers.")


def test_others_see_a_shadow_of_what_is_written_and_may_copy_it(
    heddle: Heddle, visit: Open, tree: str, ada: Cookies
) -> None:
    place = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    mine = opened(visit(f"/trees/{tree}?node={place}"))
    hers = opened(visit(f"/trees/{tree}?node={place}", who=ada))
    book(hers).press("Control+End")
    book(hers).press_sequentially(" Her words")
    shadow = mine.get_by_role("complementary", name=re.compile("ada is writing here", re.I))
    expect(shadow).to_contain_text(" Her words")
    expect(shadow.get_by_role("textbox")).to_have_count(0)
    shadow.get_by_role("button", name=re.compile("Take a copy")).click()
    assert nodes_of(mine)[-1] == " Her words"
    hers.get_by_role("button", name="Add", exact=True).click()
    expect(shadow).to_have_count(0)


def test_typing_while_fifty_updates_arrive_keeps_caret_and_text(
    heddle: Heddle, visit: Open, tree: str, ada: Cookies
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    at = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    first = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    book(page).press("Control+End")
    with heddle.client(ada) as client:
        for number in range(50):
            line = f'respond {at} "other {number}"'
            if number % 5 == 0:
                line = f'edit {first} "The house, {number}." as:version'
            answer = client.post(f"/api/trees/{tree}/commands", json={"line": line, "at": at})
            assert answer.is_success, answer.text
            if number % 5 == 0:
                first = answer.json()["refs"][0]
            book(page).press("x")
    expect(page.locator(".book")).to_contain_text("The house, 45.")
    expect(page.locator(".weave h2")).to_contain_text("40 continuations")
    assert nodes_of(page) == ["The house, 45.", *HOUSE[1:], "x" * 50]
    state: Any = page.evaluate(
        """() => { const {view} = document.querySelector("loom-buffer").editor;
        return [view.hasFocus, view.state.selection.main.head === view.state.doc.length]; }"""
    )
    assert state == [True, True]


def test_shift_and_a_click_lead_to_the_node(heddle: Heddle, visit: Open, tree: str) -> None:
    page = opened(visit(f"/trees/{tree}"))
    page.locator(".book .cm-line").first.click(position={"x": 20, "y": 10}, modifiers=["Shift"])
    expect(page.locator(".card")).to_have_count(1)
    assert nodes_of(page) == [HOUSE[0], ""]


def test_hairlines_can_be_switched_off_for_good(visit: Open, tree: str) -> None:
    page = opened(visit(f"/trees/{tree}"))
    line = "getComputedStyle(document.querySelector('.book .bound'), '::before').display"
    assert page.evaluate(line) != "none"
    page.get_by_role("button", name="Hairlines").click()
    assert page.evaluate(line) == "none"
    page.reload()
    opened(page)
    assert page.evaluate(line) == "none"


def test_text_is_kept_to_the_byte(heddle: Heddle, visit: Open) -> None:
    odd = ("  e\u0301\r\n🦉\r ", "→ prune root\n", "←\n\u2028 <b>&amp;")
    tree = heddle.tree("Bytes", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    for number, text in enumerate(odd, 1):
        page.locator("loom-buffer").evaluate("(one, text) => one.write(text)", text)
        page.get_by_role("button", name="Add", exact=True).click()
        page.wait_for_function(
            "n => document.querySelector('loom-buffer').editor.ids.filter(Boolean).length === n",
            arg=number,
        )
    assert path_of(heddle, tree) == list(odd)
    page.reload()
    opened(page)
    assert nodes_of(page) == [*odd, ""]


def test_on_a_phone_the_text_is_written_too(visit: Open, tree: str) -> None:
    page = opened(visit(f"/trees/{tree}", size=PHONE))
    book(page).press("Control+End")
    book(page).press_sequentially(" on the way")
    working(page, " on the way")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_a_reader_has_the_text_and_no_editor(
    heddle: Heddle, visit: Open, tree: str, rhea: Cookies
) -> None:
    page = live(visit(f"/trees/{tree}", who=rhea))
    expect(page.locator(".run")).to_have_count(3)
    expect(page.locator(".cm-editor")).to_have_count(0)


def test_words_that_were_begun_offline_become_a_node_later(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    page.context.set_offline(True)
    book(page).press("Control+End")
    book(page).press_sequentially(" In a tunnel")
    page.get_by_role("button", name="Add", exact=True).click()
    book(page).press_sequentially(" and on")
    page.context.set_offline(False)
    working(page, " and on")
    expect(page.locator("loom-status")).to_contain_text("live")
    page.wait_for_function("() => document.querySelector('loom-buffer').editor.ids.at(-1) !== ''")
    assert path_of(heddle, tree) == [*HOUSE, " In a tunnel"]
    assert nodes_of(page) == [*HOUSE, " In a tunnel", " and on"]


def test_a_candidate_still_coming_is_a_ghost_that_grows(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(visit(f"/trees/{tree}"))
    page.get_by_label("n", exact=True).fill("1")
    heddle.provider.script(holds(" word by", HOLD, " word."))
    book(page).press("Control+End")
    book(page).press("Control+Enter")
    expect(page.locator(".ghost")).to_have_text(" word by")
    heddle.provider.release()
    expect(page.locator(".ghost")).to_have_text(" word by word.")
