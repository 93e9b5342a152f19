"""A quiet page: three tabs, ids where one points, a ghost or a list, a desktop at 1,024 pixels."""

from playwright.sync_api import expect

from tests.browser.book import book, caret, opened, text_of
from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import says


def test_at_1024_pixels_the_page_is_a_desktop(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Small desktop", "One.", "Two.")
    page = live(visit(f"/trees/{tree}", size={"width": 1024, "height": 768}))
    for pane in (".pane.left", ".thread", ".pane.right"):
        expect(page.locator(pane)).to_be_visible()
    expect(page.locator(".pane-tabs")).to_be_hidden()
    for tab in ("Node", "Context", "Desk"):
        expect(page.get_by_role("tab", name=tab)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".search-words")).to_be_visible()


def test_an_id_is_seen_where_one_points_and_the_number_of_the_log_never(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Quiet", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").first
    shown = "one => Number(getComputedStyle(one).opacity)"
    page.mouse.move(5, 5)
    assert first.locator("header > .id").evaluate(shown) == 0
    first.locator(".text").hover()
    assert first.locator("header > .id").evaluate(shown) == 1
    page.mouse.move(5, 5)
    first.focus()
    assert first.locator("header > .id").evaluate(shown) == 1
    expect(page.locator("[data-seq]")).to_be_hidden()
    page.locator("main").press("ArrowLeft")
    card = page.locator(".card")
    page.mouse.move(5, 5)
    assert card.locator("header > .id").evaluate(shown) == 0
    card.hover()
    assert card.locator("header > .id").evaluate(shown) == 1


def test_a_ghost_makes_the_list_a_strip_and_what_all_begin_with_is_faded(
    heddle: Heddle, visit: Open
) -> None:
    ends = (
        "rain had come and nobody had closed the shutters. " * 6,
        "snow lay on it.",
        "wind blew.",
    )
    heddle.provider.script(*[says(f" The door stood open; {end}") for end in ends])
    tree = heddle.tree("Strip", "One.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    weave = page.locator("[data-weave]")
    long = page.locator(".card", has_text="shutters")
    height = "one => one.getBoundingClientRect().height"
    expect(weave).to_have_class("weave strip")
    low = long.evaluate(height)
    shared: str = page.evaluate(
        "() => [...CSS.highlights.get('shared')].map(one =>"
        " one.startContainer.data.slice(one.startOffset, one.endOffset)).join('|')"
    )
    assert [part.strip() for part in shared.split("|")] == ["The door stood open;"] * 3
    book(page).press("Alt+ArrowDown")
    expect(weave).to_have_class("weave")
    assert long.evaluate(height) > low


def test_reading_and_printing_show_the_text_and_nothing_else(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."), says(" It blew."))
    tree = heddle.tree("Read", "One.", " Two.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    expect(page.locator(".ghost")).to_be_visible()
    for media, mode in (("screen", True), ("print", False)):
        page.emulate_media(media=media)  # type: ignore[arg-type]
        if mode:
            page.evaluate("document.querySelector('[data-mode-of=read]').click()")
        for part in (".ghost", ".wheel", ".book-bar", "loom-weave", "loom-composer", ".pane.right"):
            expect(page.locator(part).first).to_be_hidden()
        page.locator("main").focus()
        outline = page.locator("main").evaluate("one => getComputedStyle(one).outlineStyle")
        assert outline == "none", media
        if mode:
            page.keyboard.press("Escape")
            page.evaluate("document.body.removeAttribute('data-mode')")


def test_reading_and_printing_hide_what_notes_are_about(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Marked", "# The mouth\n\nThe tower stood.", mode="buffer")
    node: str = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    heddle.line(tree, f'annotate {node} "Whose?" of:"The tower"')
    page = opened(visit(f"/trees/{tree}"))
    mark, sign = page.locator(".book .commented"), page.locator(".book .md-sign")
    drawn = "one => getComputedStyle(one).backgroundColor"
    clear = "rgba(0, 0, 0, 0)"
    expect(mark).to_have_text("The tower")
    expect(sign).to_be_visible()
    assert mark.evaluate(drawn) != clear
    mark.click()
    thread = page.locator(".cm-content .note")
    expect(thread).to_be_visible()
    assert thread.evaluate("one => getComputedStyle(one).whiteSpaceCollapse") == "collapse"
    page.emulate_media(media="print")
    expect(thread).to_be_hidden()
    expect(sign).to_be_hidden()
    assert mark.evaluate(drawn) == clear
    page.emulate_media(media="screen")
    page.evaluate("document.querySelector('[data-mode-of=read]').click()")
    expect(sign).to_be_hidden()
    assert mark.evaluate(drawn) == clear


def test_a_note_is_typed_at_its_passage_by_keys_alone(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Notes", "One. " * 300, " The end.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len(text_of(page)))
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    form = page.get_by_role("form", name="Annotate")
    expect(form).to_be_in_viewport(ratio=1)
    box, text = form.bounding_box(), page.locator(".book").bounding_box()
    assert box and text and text["x"] <= box["x"] <= text["x"] + text["width"]
    page.keyboard.type("Too soon?")
    page.keyboard.press("Control+Enter")
    expect(form).to_have_count(0)
    results = heddle.get(f"trees/{tree}/nodes")["results"]
    assert [result["kind"] for result in results].count("annotation") == 1  # type: ignore[attr-defined]
    assert text_of(page) == "One. " * 300 + " The end."


def test_a_version_is_read_before_it_is_chosen_and_choosing_it_is_announced(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Versions", "One day.", "What follows.")
    first: str = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    heddle.line(tree, f'edit {first} "One fine day." as:version')
    page = live(visit(f"/trees/{tree}"))
    node = page.locator("article.node").first
    expect(node).to_contain_text("One fine day.")
    page.get_by_role("tab", name="Node").click()
    page.locator("main").press("ArrowLeft")
    rows = page.locator(".details .version")
    expect(rows).to_have_count(2)
    older = rows.filter(has_text="One day.")
    older.locator("summary").click()
    expect(older.locator(".version-text")).to_have_text("One day.")
    # Looking at it changes nothing of what is read.
    expect(node).to_contain_text("One fine day.")
    older.get_by_role("button", name="Read this version").click()
    expect(node).to_contain_text("One day.")
    toast = page.locator("loom-toast")
    expect(toast).to_contain_text("You and the models you ask read this version")
    toast.get_by_role("button", name="Undo").click()
    expect(node).to_contain_text("One fine day.")


def test_more_like_these_says_what_it_asks_for(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(*[says(f" Text {n}.") for n in range(6)])
    tree = heddle.tree("More", "One.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    more = page.get_by_role("button", name="More like these")
    expect(more).to_have_text("More like these: 3 × 80 tokens")
    # A press from the text, whose hint changes, does not move the button away.
    caret(page, len(text_of(page)))
    more.click()
    expect(page.locator(".card[data-id]")).to_have_count(6)
