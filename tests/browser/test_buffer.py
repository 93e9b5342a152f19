"""A buffer is one text: typed into, edited in its nodes, continued at the caret."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.book import book, caret, nodes_of, opened, path_of, text_of, working
from tests.browser.conftest import HOUSE, PHONE, Heddle, Open
from tests.house.processes import wait_for
from tests.providers.scripts import HOLD, holds, says


def test_the_text_stands_before_its_editor_and_does_not_jump(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = visit("/")
    page.route("**/dist/editor.js", lambda route: None)
    page.goto(f"{heddle.url}/trees/{house}")
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
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    book(page).press("Control+End")
    book(page).press_sequentially(" She put")
    working(page, " She put")
    assert path_of(heddle, house) == list(HOUSE)
    page.reload()
    opened(page)
    assert nodes_of(page) == [*HOUSE, " She put"]
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".working")).to_have_count(0)
    wait_for(lambda: path_of(heddle, house) == [*HOUSE, " She put"])  # shown before it is stored
    book(page).press_sequentially(" it")
    assert nodes_of(page) == [*HOUSE, " She put", " it"]


def test_an_edit_asks_once_what_it_means_and_is_saved_when_it_is_left(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    caret(page, 9)
    book(page).press_sequentially(", old,")
    expect(page.locator(".book-said")).to_contain_text("unsaved")
    assert path_of(heddle, house) == list(HOUSE)
    book(page).press("Control+s")
    page.get_by_role("button", name="As a version; what follows stays").click()
    expect(page.locator(".working")).to_have_count(0)
    expect(book(page)).to_be_focused()
    assert path_of(heddle, house)[0] == "The house, old, stood empty."
    assert path_of(heddle, house)[1:] == list(HOUSE[1:])
    caret(page, 3)
    book(page).press_sequentially(" big")
    caret(page, len(text_of(page)))
    expect(page.locator(".working")).to_have_count(0)
    assert path_of(heddle, house)[0] == "The big house, old, stood empty."
    assert nodes_of(page)[0] == "The big house, old, stood empty."


def test_a_selection_over_several_nodes_is_an_edit_of_each(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.locator("loom-buffer").evaluate(
        "one => one.editor.view.dispatch({selection: {anchor: 16, head: 30}})"
    )
    book(page).press("X")
    assert nodes_of(page)[:2] == ["The house stood X", "n't visited\n\nsince,"]
    book(page).press("Control+s")
    page.get_by_role("button", name="As a version; what follows stays").click()
    expect(page.locator(".working")).to_have_count(0)
    wanted = ["The house stood X", "n't visited\n\nsince,", HOUSE[2]]
    wait_for(lambda: path_of(heddle, house) == wanted)  # each is saved by itself


def test_undo_in_the_text_is_the_editors_and_leaves_no_edit(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    caret(page, 9)
    book(page).press_sequentially(" oops")
    working(page, " oops")
    book(page).press("Control+z")
    expect(page.locator(".working")).to_have_count(0)
    expect(page.locator(".book-said")).to_be_empty()
    assert text_of(page) == "".join(HOUSE)


def test_continue_at_the_end_makes_the_buffer_a_node_and_streams_ghosts(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
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
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
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


def test_continue_in_the_middle_splits_there(heddle: Heddle, visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    heddle.provider.script(says(" full."))
    caret(page, len("The house stood"))
    book(page).press("Control+Space")
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator(".card-text").first).to_contain_text("empty.")
    expect(page.locator(".card-text").nth(1)).to_contain_text("full.")
    text = "document.querySelector('loom-buffer').editor.view.state.doc.toString()"
    page.wait_for_function(f"() => {text} === 'The house stood'")
    assert nodes_of(page) == ["The house stood", ""]


def test_shift_and_a_click_lead_to_the_node(heddle: Heddle, visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.locator(".book .cm-line").first.click(position={"x": 20, "y": 10}, modifiers=["Shift"])
    expect(page.locator(".card")).to_have_count(1)
    assert nodes_of(page) == [HOUSE[0], ""]


def test_hairlines_can_be_switched_off_for_good(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    line = "getComputedStyle(document.querySelector('.book .bound'), '::before').display"
    assert page.evaluate(line) != "none"
    page.get_by_role("button", name="Node boundaries").click()
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


def test_on_a_phone_the_text_is_written_too(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}", size=PHONE))
    book(page).press("Control+End")
    book(page).press_sequentially(" on the way")
    working(page, " on the way")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_a_candidate_still_coming_is_a_ghost_that_grows(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    heddle.provider.script(holds(" word by", HOLD, " word."))
    book(page).press("Control+End")
    book(page).press("Control+Enter")
    expect(page.locator(".ghost")).to_have_text(" word by")
    heddle.provider.release()
    expect(page.locator(".ghost")).to_have_text(" word by word.")


def test_what_a_candidate_does_and_its_stop_stand_side_by_side(
    heddle: Heddle, visit: Open, house: str
) -> None:
    heddle.provider.script(holds(" word by", HOLD, " word."))
    page = opened(visit(f"/trees/{house}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    page.locator(".composer").get_by_role("button", name="Continue").click()
    card = page.locator(".card.coming")
    expect(card.locator("[data-text]")).to_have_text(" word by")
    expect(card.locator(".state")).to_have_text("writing")
    state = card.locator(".state").bounding_box()
    stop = card.get_by_role("button", name="Stop").bounding_box()
    assert state and stop and state["x"] + state["width"] <= stop["x"]
    heddle.provider.release()
    expect(page.locator(".card[data-id]")).to_have_count(1)


def test_each_line_of_a_buffer_runs_the_way_of_its_own_letters(heddle: Heddle, visit: Open) -> None:
    text = "The house stood empty.\nשלום עולם.\nAnd then?\n"
    page = visit(f"/trees/{heddle.tree('Both ways', text, mode='buffer')}")
    page = opened(page)
    lines = page.locator(".book .cm-line")
    sides = [
        lines.nth(number).evaluate("one => getComputedStyle(one).direction") for number in (0, 1, 2)
    ]
    assert sides == ["ltr", "rtl", "ltr"]
    ends = """({editor: {view}}, at) => {
        const line = view.contentDOM.getBoundingClientRect();
        return Math.abs(view.coordsAtPos(at, 1).left - line.right) < 4;
    }"""
    buffer = page.locator("loom-buffer")
    assert buffer.evaluate(ends, text.index("ש"))
    assert not buffer.evaluate(ends, 0)
    caret(page, len(text_of(page)))
    book(page).press_sequentially("עוד")
    expect(lines.last).to_have_css("direction", "rtl")


def test_who_walks_through_the_page_by_tab_walks_past_a_ghost(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    heddle.provider.script(says(" found it open."), says(" did not lift it."), says(" left."))
    book(page).press("Control+End")
    book(page).press("Control+Enter")
    expect(page.locator(".card:not(.coming)")).to_have_count(3)
    page.reload()
    opened(page)
    expect(page.locator(".ghost")).to_have_count(1)
    before = nodes_of(page)
    in_text = "() => Boolean(document.activeElement.closest('.cm-content'))"
    page.locator("main").focus()
    page.evaluate("() => document.querySelector('.cm-content').blur()")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(in_text):
            break
    assert page.evaluate(in_text), "Tab leads into the text"
    page.keyboard.press("Tab")
    assert not page.evaluate(in_text), "and out of it"
    assert nodes_of(page) == before
    book(page).press("Control+End")
    book(page).press("Tab")
    expect(page.locator(".book .by").last).to_contain_text(re.compile("found|lift|left"))
