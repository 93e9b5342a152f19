"""Where things are on the writer's desk: at the passage, at the caret, at the position."""

import re
from pathlib import Path

from playwright.sync_api import Page, Response, expect

from tests.browser.book import book, caret, has_nodes, nodes_of, opened, path_of, text_of
from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, says

PARAGRAPH = "The river went on below the mill, and nobody counted the boats. " * 8
LINES = f"One stood open.\n\n{PARAGRAPH}\n\nAnd that was all."


def line_at(page: Page, at: int) -> tuple[float, float]:
    """Top and bottom of the line of a place in the text."""
    edges: list[float] = page.locator("loom-buffer").evaluate(
        """({editor: {view}}, at) => {
            const {top, bottom} = view.coordsAtPos(at);
            return [top, bottom];
        }""",
        at,
    )
    return edges[0], edges[1]


def test_save_discard_and_the_question_are_at_the_passage(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Passage", LINES, " The end.", mode="buffer")
    for size in ({"width": 1440, "height": 900}, PHONE):
        page = opened(visit(f"/trees/{tree}", size=size))
        caret(page, 3)
        book(page).press_sequentially(" gate")
        passage = page.locator(".book .passage")
        expect(passage.get_by_role("button", name="Discard")).to_be_visible()
        box = passage.bounding_box()
        assert box
        assert line_at(page, 5)[1] <= box["y"] + 1
        assert box["y"] + box["height"] <= line_at(page, LINES.index("The river") + 8)[0] + 1
        place = line_at(page, 5)[0]
        book(page).press("Control+s")
        expect(passage).to_contain_text("How should this edit be saved?")
        assert abs(line_at(page, 5)[0] - place) <= 1
        passage.get_by_role("button", name="Later").click()
        passage.get_by_role("button", name="Discard").click()
        expect(passage).to_have_count(0)
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


def test_why_an_edit_was_refused_is_shown_at_the_passage(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Refused", LINES, " The end.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    page.evaluate("localStorage.setItem('heddle.edit-as.buffer', 'version')")
    node: str = page.locator("loom-buffer").evaluate("one => one.editor.ids[0]")
    caret(page, 3)
    book(page).press_sequentially(" gate")
    with heddle.client(ada) as hers:
        line = f'edit {node} as:version "Hers."'
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
    has_nodes(page, ["The start,", ""])
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
    page.get_by_role("tab", name="Node").click()
    pane = page.locator("#panel-node loom-panel[data-of-node=drawn]")
    expect(pane).to_contain_text(str(two))
    # A fold that is open there does not hold it back.
    pane.locator("details summary").filter(visible=True).first.click()
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    expect(pane.locator(f'[data-id="{one}"]').first).to_be_visible()
    expect(pane).not_to_contain_text(re.compile(rf"^\s*{two}"))
    heddle.provider.script(holds("Now ", HOLD, "then."))
    page.locator("main").press("g")
    expect(page.locator(".card.coming").first).to_be_visible()
    heddle.provider.release()


def test_what_was_done_is_shown_in_plain_words_and_the_exact_line_is_one_click_away(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Plain words", "One day.", "What follows.")
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").first
    old = first.get_attribute("data-id")
    first.get_by_role("button", name="Edit").click()
    form = page.get_by_role("form", name=re.compile("Text of"))
    form.get_by_role("combobox").select_option("version")
    form.get_by_role("textbox").fill("One fine day.")
    form.get_by_role("button", name="Save").click()
    toast = page.locator("loom-toast")
    expect(toast.locator("summary")).to_have_text("Saved as a new version")
    expect(toast.locator("code")).to_be_hidden()
    toast.locator("summary").click()
    expect(toast.locator("code")).to_have_text(re.compile(f"created version .* from .{old}"))
    page.goto(f"{heddle.url}/trees/{tree}/history")
    done = page.locator("details.line", has_text="One fine day.").first
    expect(done.locator("code")).to_be_hidden()
    expect(done.locator("summary")).not_to_contain_text("→")
    done.locator("summary").click()
    expect(done.locator("code")).to_contain_text(f"edit {old}")


def test_siblings_have_one_order_in_cards_wheel_outline_and_map(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."))
    tree = heddle.tree("Order", "The start, and the rest.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("2")
    caret(page, len("The start,"))
    book(page).press("Control+Enter")
    cards = page.locator(".card[data-id]")
    expect(cards).to_have_count(3)
    expect(page.locator(".card.coming")).to_have_count(0)
    order: list[str] = cards.evaluate_all("all => all.map(one => one.dataset.id)")
    words = [text.strip() for text in page.locator(".card .card-text").all_inner_texts()]
    assert words[0] == "and the rest."  # made last, and first in order
    for number in (2, 3):
        page.get_by_role("button", name="Next candidate").click()
        expect(page.locator(".wheel-count")).to_have_text(f"{number} / 3")
        expect(page.locator(".card.picked")).to_have_attribute("data-id", order[number - 1])
    page.wait_for_function("() => document.querySelector('loom-map[data-ready]')")
    across = page.evaluate(
        """ids => { const {scene, page: {store}} = document.querySelector("loom-map");
            const x = id => scene.layout.x[scene.placeOf(store.slotOf(id))];
            return ids.toSorted((one, other) => x(one) - x(other)); }""",
        order,
    )
    assert across == order
    page.get_by_role("tab", name="Outline").click()
    rows = page.get_by_role("treeitem", level=2)
    expect(rows).to_have_count(3)
    for at, words_of in enumerate(words):
        expect(rows.nth(at)).to_have_attribute("aria-posinset", str(at + 1))
        expect(rows.nth(at).locator(".excerpt")).to_have_text(words_of)


def test_a_tree_opens_where_its_reader_was_and_an_imported_one_at_its_first_text(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    file = tmp_path / "hollow.json"
    file.write_text(
        '{"text": "", "children": [{"text": "The lighthouse", "children": ['
        '{"text": " burned.", "children": []}, {"text": " fell.", "children": []}]},'
        ' {"text": "The mill", "children": []}]}'
    )
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    page.get_by_role("link", name="Open the tree").click()
    page.wait_for_url(re.compile("/trees/"))
    opened(page)
    expect(book(page)).to_contain_text("The lighthouse")
    card = page.locator(".card", has_text="fell.")
    here = card.get_attribute("data-id") or "no card"
    address = re.sub(r"\?.*", "", page.url)

    def is_kept(answer: Response) -> bool:
        return answer.url.endswith("/place") and here in (answer.request.post_data or "")

    with page.expect_response(is_kept):
        card.locator("a").first.click()
    expect(book(page)).to_have_text("The lighthouse fell.")
    page.goto(f"{heddle.url}/")
    page.get_by_role("link", name="hollow").first.click()
    opened(page)
    assert page.url.startswith(address)
    expect(book(page)).to_have_text("The lighthouse fell.")
    assert page.evaluate("document.querySelector('loom-tree').page.position") == here
