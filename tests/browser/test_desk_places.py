"""Where things are on the writer's desk: at the passage, at the caret, at the position."""

import re

from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, nodes_of, opened, path_of, text_of
from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, says

PARAGRAPH = "The river went on below the mill, and nobody counted the boats. " * 8
LINES = f"One stood open.\n\n{PARAGRAPH}\n\nAnd that was all."


def line_at(page: Page, at: int) -> tuple[float, float]:
    """Top and bottom of the line of a place in the text."""
    found: list[float] = page.locator("loom-buffer").evaluate(
        """({editor: {view}}, at) => {
            const {top, bottom} = view.coordsAtPos(at);
            return [top, bottom];
        }""",
        at,
    )
    return found[0], found[1]


def test_save_discard_and_the_question_stand_at_the_passage(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Passage", LINES, " The end.", mode="buffer")
    for size in ({"width": 1440, "height": 900}, PHONE):
        page = opened(visit(f"/trees/{tree}", size=size))
        caret(page, 3)
        book(page).press_sequentially(" gate")
        said = page.locator(".book .passage")
        expect(said.get_by_role("button", name="Discard")).to_be_visible()
        box = said.bounding_box()
        assert box
        assert line_at(page, 5)[1] <= box["y"] + 1
        assert box["y"] + box["height"] <= line_at(page, LINES.index("The river") + 8)[0] + 1
        place = line_at(page, 5)[0]
        book(page).press("Control+s")
        expect(said).to_contain_text("How should this edit of")
        assert abs(line_at(page, 5)[0] - place) <= 1
        said.get_by_role("button", name="Later").click()
        said.get_by_role("button", name="Discard").click()
        expect(said).to_have_count(0)
        assert text_of(page) == f"{LINES} The end."
    assert path_of(heddle, tree) == [LINES, " The end."]


def test_an_edit_that_was_typed_before_a_reload_is_told_where_it_was_typed(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Reload", LINES, " The end.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, 3)
    book(page).press_sequentially(" gate")
    expect(page.locator(".passage")).to_be_visible()
    page.reload()
    opened(page)
    box = page.locator(".passage").bounding_box()
    assert box
    assert box["y"] + box["height"] <= line_at(page, LINES.index("The river") + 8)[0] + 1


def test_why_an_edit_was_refused_stands_at_the_passage(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Refused", LINES, " The end.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    page.evaluate("localStorage.setItem('heddle.edit-as.buffer', 'version')")
    one: str = page.locator("loom-buffer").evaluate("one => one.editor.ids[0]")
    caret(page, 3)
    book(page).press_sequentially(" gate")
    with heddle.client(ada) as hers:
        line = f'edit {one} as:version "Hers."'
        assert hers.post(f"/api/trees/{tree}/commands", json={"line": line}).is_success
    book(page).press("Control+s")
    expect(page.locator(".passage .bad")).to_be_visible()
    expect(page.locator(".passage").get_by_role("button", name="Save as a branch")).to_be_visible()
    assert "One gate stood" in text_of(page)


def test_continue_in_the_middle_keeps_the_rest_as_the_first_candidate(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."), says(" It blew."))
    rest = " and then the rest of it, which is long. " + PARAGRAPH * 4
    tree = heddle.tree("Middle", f"The start,{rest}", " What follows.", " The end.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    whole = text_of(page)
    caret(page, len("The start,"))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(4)
    expect(page.locator(".card.coming")).to_have_count(0)
    assert nodes_of(page) == ["The start,", ""]
    first = page.locator(".card").first
    expect(first).to_have_attribute("data-key", "1")
    expect(first).to_contain_text("and then the rest of it")
    expect(first).to_contain_text("2 below")
    first.locator(".card-text a").click()
    page.wait_for_function(
        "whole => document.querySelector('loom-buffer').editor.view.state.doc.toString() === whole",
        arg=whole,
    )
    position = page.evaluate("document.querySelector('loom-tree').page.position")
    assert "".join(path_of(heddle, tree, position)) == whole
    # A reader who comes later finds it there too.
    book(page).press("Control+z")
    expect(page.locator(".card[data-id]")).to_have_count(4)
    page.reload()
    opened(page)
    page.locator(".card .card-text a").first.click()
    expect(page.locator(".card[data-id]")).to_have_count(0)
    page.wait_for_function(
        "whole => document.querySelector('loom-buffer').editor.view.state.doc.toString() === whole",
        arg=whole,
    )


def test_a_click_on_a_candidate_keeps_the_caret_and_add_returns_it(
    heddle: Heddle, visit: Open, house: str
) -> None:
    heddle.provider.script(says(" A one."), says(" B two."), says(" C three."))
    page = opened(visit(f"/trees/{house}"))
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    page.locator(".card .card-text a").nth(1).click()
    expect(page.locator(".card")).to_have_count(0)
    page.keyboard.type(" And more.")
    assert nodes_of(page)[-1] == " And more."
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".working")).to_have_count(0)
    page.keyboard.type(" Still.")
    assert nodes_of(page)[-2:] == [" And more.", " Still."]


def test_add_in_a_dialogue_returns_to_the_text_field(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Add", "One.")
    page = live(visit(f"/trees/{tree}"))
    field = page.get_by_label("Text of the next node")
    field.fill("Two.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node")).to_have_count(2)
    page.keyboard.type("Three.")
    expect(field).to_have_value("Three.")


def test_the_pane_of_the_node_follows_the_position(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Pane", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    one, two = (
        page.locator("article.node").nth(place).get_attribute("data-id") for place in (0, 1)
    )
    pane = page.locator("#panel-context loom-panel[data-of-node]")
    expect(pane).to_contain_text(str(two))
    # A menu that is open there does not hold it back.
    pane.locator("details summary").first.click()
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    expect(pane.locator(f'[data-id="{one}"]').first).to_be_visible()
    expect(pane).not_to_contain_text(re.compile(rf"^\s*{two}"))
    heddle.provider.script(holds("Now ", HOLD, "then."))
    page.locator("main").press("g")
    expect(page.locator(".card.coming").first).to_be_visible()
    heddle.provider.release()
