"""What a writer expects of the text besides typing: finding, Markdown, counting, being alone."""

import re

from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, nodes_of, opened, path_of, text_of, working
from tests.browser.conftest import HOUSE, PHONE, Heddle, Open
from tests.browser.test_two_people import live
from tests.house.processes import wait_for

PASTE = """(one, kinds) => {
    const data = new DataTransfer();
    for (const [kind, text] of Object.entries(kinds)) data.setData(kind, text);
    one.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true,
        cancelable: true}));
}"""


def paste(page: Page, **kinds: str) -> None:
    """Pastes a text in several formats where the caret is."""
    given = {name.replace("_", "/"): text for name, text in kinds.items()}
    book(page).evaluate(PASTE, given)


def test_words_are_found_in_the_whole_path_and_replaced_in_their_nodes(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    caret(page, 0)
    book(page).press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    panel.get_by_label("Find in the text").fill("THE")
    expect(panel.get_by_role("status")).to_have_text("2 found")
    expect(page.locator(".book .found")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(panel.get_by_role("status")).to_have_text("1 of 2")
    expect(page.locator(".book .found.current")).to_have_text("The")
    panel.get_by_label("Match case").check()
    expect(panel.get_by_role("status")).to_have_text("Not found")
    panel.get_by_label("Match case").uncheck()
    panel.get_by_label("Replace with").fill("A")
    panel.get_by_role("button", name="Replace all").click()
    expect(panel.get_by_role("status")).to_have_text("2 replaced")
    assert nodes_of(page)[0] == "A house stood empty."
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(book(page)).to_be_focused()
    # Both are Shift with Z: with a capital, and with a small letter, as under Caps Lock.
    for again in ("Control+Shift+Z", "Control+Shift+z"):
        book(page).press("Control+z")
        assert nodes_of(page) == [*HOUSE, ""]
        book(page).press(again)
        assert nodes_of(page)[0] == "A house stood empty."
    book(page).press("Control+s")
    page.get_by_role("button", name="As a version; what follows stays").click()
    expect(page.locator(".working")).to_have_count(0)
    wanted = ["A house stood empty.", HOUSE[1], " and A gate was new."]
    wait_for(lambda: path_of(heddle, house) == wanted)


def test_markdown_is_styled_and_the_text_stays_as_it_is(heddle: Heddle, visit: Open) -> None:
    text = "# One\n\nA **bold** word, `code`, 2 * 3.\n\n"
    huge = "*x* " + "unbroken" * 1000
    page = opened(visit(f"/trees/{heddle.tree('Styled', text + huge, mode='buffer')}"))
    # The page opens at the last line, and what is far above it is not drawn.
    expect(page.locator(".book .md-h1")).to_have_count(0)
    book(page).press("Control+Home")
    expect(page.locator(".book .md-h1").first).to_contain_text("One")
    expect(page.locator(".book .md-strong")).to_have_text("bold")
    expect(page.locator(".book .md-code")).to_have_text("code")
    expect(page.locator(".book .md-em")).to_have_count(0)
    assert text_of(page) == text + huge


def test_what_was_copied_is_plain_or_becomes_markdown(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    caret(page, len(text_of(page)))
    paste(page, text_plain=" Bold now", text_html="<p> <b>Bold</b> <i>now</i></p>")
    working(page, " Bold now")
    page.get_by_role("button", name="Paste as Markdown").click()
    working(page, "**Bold** *now*")
    expect(page.get_by_text("Pasted as plain text.")).to_have_count(0)
    book(page).press("Control+z")
    working(page, " Bold now")
    paste(page, text_plain="\r\nnext")
    assert nodes_of(page)[-1] == " Bold now\nnext"


def test_what_cannot_be_kept_of_a_pasted_text_is_left_out_and_the_rest_is_kept(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Rubbish", "The house.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len("The house."))
    paste(page, text_plain=" It\x00 stood\x01 empty 💥.")
    working(page, " It stood\x01 empty 💥.")
    page.get_by_role("button", name="Add", exact=True).click()
    working(page, "")
    wait_for(lambda: path_of(heddle, tree)[-1] == " It stood\x01 empty 💥.")
    talk = live(visit(f"/trees/{heddle.tree('Rubbish', 'One.')}"))
    pen = talk.locator("#composer-text")
    pen.fill("Two\x00 halves.")
    expect(pen).to_have_value("Two halves.")
    talk.get_by_role("button", name="Add", exact=True).click()
    expect(talk.locator("article.node .text").last).to_have_text("Two halves.")


def test_words_of_the_path_the_node_and_the_selection_are_counted(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    caret(page, 3)
    words = page.locator(".book-words")
    expect(words).to_have_text("13 words · 4 in this node")
    book(page).press("Control+End")  # where nothing is begun yet: the last node is meant
    expect(words).to_have_text(re.compile(r"^13 words · [1-9] in this node$"))
    book(page).press_sequentially(" It creaked")
    expect(words).to_have_text("15 words · 2 in this node")
    page.locator("loom-buffer").evaluate(
        "one => one.editor.view.dispatch({selection: {anchor: 0, head: 9}})"
    )
    expect(words).to_have_text("15 words · 4 in this node · 2 selected")


def test_focus_and_reading_modes_leave_only_the_text(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.locator("main").focus()
    page.keyboard.press("f")
    expect(page.locator(".pane.left")).to_be_hidden()
    expect(book(page)).to_be_in_viewport(ratio=1)
    expect(page.locator("loom-composer")).to_be_in_viewport(ratio=1)
    caret(page, len(text_of(page)))
    book(page).press_sequentially(" More")
    working(page, " More")
    page.get_by_role("button", name="Leave focus mode").click()
    expect(page.locator(".pane.left")).to_be_visible()
    page.locator("main").focus()
    page.keyboard.press("v")
    expect(page.locator("loom-composer")).to_be_hidden()
    expect(book(page)).to_be_in_viewport(ratio=1)
    expect(page.locator(".book .cm-content")).to_have_attribute("contenteditable", "false")
    page.reload()
    opened_in_mode = page.get_by_role("button", name="Leave reading mode")
    expect(opened_in_mode).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("loom-composer")).to_be_visible()


def test_what_was_refused_is_not_said_of_the_next_request(visit: Open, house: str) -> None:
    page = opened(visit(f"/trees/{house}"))
    count = page.get_by_role("spinbutton", name="answers", exact=True)
    count.fill("99")
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    refused = page.locator("loom-composer [data-answer]")
    expect(refused).to_contain_text("at most")
    count.fill("1")
    book(page).press("Control+Enter")
    expect(page.locator(".card")).to_have_count(1)
    expect(refused).to_be_hidden()


def test_how_the_text_is_set_is_ones_own(visit: Open, house: str) -> None:
    page = visit("/settings/look")
    page.get_by_label("Line height").select_option("loose")
    page.get_by_label("Alignment").select_option("justified")
    page.get_by_role("button", name="Save").first.click()
    page = opened(visit(f"/trees/{house}"))
    expect(page.locator(".book .cm-content")).to_have_css("text-align", "justify")
    page = visit("/settings/look")
    page.get_by_label("Line height").select_option("medium")
    page.get_by_label("Alignment").select_option("start")
    page.get_by_role("button", name="Save").first.click()


def test_letters_made_by_an_input_method_arrive_whole_while_others_write(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}", size=PHONE))
    caret(page, len(text_of(page)))
    keys = page.context.new_cdp_session(page)
    for so_far in ("n", "ni", "に"):
        keys.send(
            "Input.imeSetComposition",
            {"text": so_far, "selectionStart": len(so_far), "selectionEnd": len(so_far)},
        )
    # Somebody else's note makes the page look at the path again in the middle of a letter.
    first = str(heddle.get(f"trees/{house}/path")["nodes"][1]["id"])  # type: ignore[index]
    heddle.line(house, f'annotate {first} "Seen"')
    keys.send("Input.insertText", {"text": "日"})
    working(page, "日")
    expect(page.locator(".book .marked").first).to_be_attached()
    assert text_of(page).endswith("new.日")
    live(page)
