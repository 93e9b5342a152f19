"""Where the page scrolls to: only where its reader asked to be brought, and once."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.browser.book import book, caret, opened, text_of
from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, says

LONG = "The river went on below the mill, and nobody counted the boats. " * 60

FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def settled(page: Page) -> Page:
    """The page, live, with its typefaces."""
    assert page.evaluate("document.fonts.ready.then(() => true)")
    return live(page)


def top(element: Locator) -> float:
    """Where an element is drawn, in pixels from the top of the window."""
    at = "one => one.isConnected ? one.getBoundingClientRect().top : null"
    while (pixels := element.evaluate(at)) is None:
        pass  # drawn again between being found and being measured
    return float(pixels)


def line_of_caret(page: Page) -> float:
    """Where the line of the caret is drawn."""
    pixels: float = page.locator("loom-buffer").evaluate(
        "({editor: {view}}) => view.coordsAtPos(view.state.selection.main.head).top"
    )
    return pixels


def release(heddle: Heddle) -> None:
    """Lets three answers that hold go on."""
    for _ in range(3):
        heddle.provider.release()


def ask(page: Page) -> None:
    """Asks for continuations with the button."""
    page.locator(".composer").get_by_role("button", name="Continue").click()


@contextmanager
def answered(page: Page) -> Iterator[None]:
    """Waits, after the block, until the page has the answer to what was asked in it."""
    page.evaluate(
        """() => {
            const { page } = document.querySelector("loom-tree");
            const wait = (resolve) => page.addEventListener("said", ({ detail }) => {
                if (detail.answer.generations?.length) resolve(true);
            });
            window.answered = new Promise(wait);
        }"""
    )
    yield
    assert page.evaluate("() => window.answered")


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_a_page_opens_at_its_node_and_stays_there_while_others_write(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    tree = heddle.tree("Others write", LONG, "Two.")
    at = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    page = settled(visit(f"/trees/{tree}?node={at}", size=size))
    last = page.locator("article.node").last
    expect(last.locator(".text")).to_be_in_viewport()
    place = top(last)
    for number in range(5):
        heddle.line(tree, f'respond {at} "{f"Answer {number}, and more of it. " * 12}"')
    expect(page.locator(".card")).to_have_count(5)
    assert top(last) == pytest.approx(place, abs=1)


def test_what_streams_in_never_moves_what_is_read(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Streams", LONG, "Two.")
    heddle.provider.script(*[holds("A ", HOLD, "long one. " * 90) for _ in range(3)])
    page = settled(visit(f"/trees/{tree}"))
    last = page.locator("article.node").last
    with answered(page):
        ask(page)
    expect(page.locator(".card.coming [data-text]").filter(has_text="A")).to_have_count(3)
    expect(page.locator(".card").last).to_be_in_viewport(ratio=1)
    place = top(last)
    release(heddle)
    expect(page.locator(".card[data-id]")).to_have_count(1)  # of one text: folded
    expect(page.locator(".card.coming")).to_have_count(0)
    assert top(last) == pytest.approx(place, abs=1)


def test_who_reads_on_elsewhere_is_not_brought_back(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Elsewhere", LONG, "Two.")
    heddle.provider.script(*[holds("A ", HOLD, "long one. " * 90) for _ in range(3)])
    page = settled(visit(f"/trees/{tree}"))
    ask(page)
    expect(page.locator(".card.coming [data-text]").filter(has_text="A")).to_have_count(3)
    main = page.locator("main")
    main.evaluate("main => main.scrollTop = 40")
    release(heddle)
    expect(page.locator(".card.coming")).to_have_count(0)
    assert main.evaluate("main => main.scrollTop") == 40


@pytest.mark.parametrize("is_left", [False, True])
def test_an_answer_slower_than_the_socket_shows_the_cards_to_who_stayed(
    heddle: Heddle, visit: Open, is_left: bool
) -> None:
    tree = heddle.tree("Slow answer", LONG, "Two.")
    heddle.provider.script(*[holds("A ", HOLD, "long one. " * 90) for _ in range(3)])
    page = settled(visit(f"/trees/{tree}"))
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/commands", lambda route: held.append((route, route.fetch())))
    main = page.locator("main")
    start = main.evaluate("main => main.scrollTop")
    ask(page)
    expect(page.locator(".card.coming [data-text]").filter(has_text="A")).to_have_count(3)
    assert main.evaluate("main => main.scrollTop") == start
    if is_left:
        main.evaluate("main => main.scrollTop = 40")
    route, answer = held[0]
    with page.expect_response("**/commands"):
        route.fulfill(response=answer)
    if not is_left:
        expect(page.locator(".card").last).to_be_in_viewport(ratio=1)
    release(heddle)
    expect(page.locator(".card.coming")).to_have_count(0)
    assert (main.evaluate("main => main.scrollTop") == 40) is is_left


def test_candidates_that_go_leave_the_text_where_it_is(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Shorter", LONG, "Two.")
    heddle.provider.script(*[holds(f"{word} words.", HOLD) for word in ("Some", "More", "Few")])
    page = settled(visit(f"/trees/{tree}"))
    with answered(page):
        ask(page)
    expect(page.locator(".card.coming [data-text]").filter(has_text="words.")).to_have_count(3)
    main = page.locator("main")
    main.evaluate("main => main.scrollTop = main.scrollHeight")
    place = top(page.locator("article.node").last)
    # Clicked by script: Playwright may scroll to what moves under its pointer.
    page.get_by_role("button", name="Stop all").evaluate("button => button.click()")
    expect(page.locator(".card.coming")).to_have_count(0)
    assert top(page.locator("article.node").last) == pytest.approx(place, abs=1)
    page.locator(".card a").first.click()
    expect(page.locator("article.node")).to_have_count(3)
    assert top(page.locator("article.node").nth(1)) == pytest.approx(place, abs=1)


def test_a_move_to_what_is_seen_moves_nothing(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Moves", LONG, "Two.", "Three.", "Four.")
    page = settled(visit(f"/trees/{tree}"))
    two = page.locator("article.node").nth(1)
    expect(two).to_be_in_viewport()
    place = top(two)
    page.get_by_role("tab", name="Outline").click()
    row = page.get_by_role("treeitem").filter(has_text="Two.")
    seen = top(row)
    row.click()
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator(".card")).to_have_count(1)
    assert top(two) == pytest.approx(place, abs=1)
    assert top(row) == pytest.approx(seen, abs=1)


def test_what_becomes_shorter_after_it_was_drawn_moves_nothing(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Shrinks", LONG, "Two.", "Three.", "Four.")
    page = settled(visit(f"/trees/{tree}"))
    main = page.locator("main")
    main.evaluate("main => { main.scrollTop = main.scrollHeight; }")
    page.evaluate(FRAMES)
    three = page.locator("article.node").nth(2)
    expect(three).to_be_in_viewport()
    place = top(three)
    hide = "node => { node.style.display = 'none'; return node.parentElement.offsetHeight; }"
    page.locator("article.node").last.evaluate(hide)  # and something measures it at once
    page.evaluate(FRAMES)
    assert top(three) == pytest.approx(place, abs=1)


def test_typefaces_that_come_late_leave_no_room_at_the_end(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Late letters", *[LONG] * 3, "The end.")
    page = visit("/")
    page.add_init_script(
        """const late = new Promise((done) => (window.come = done));
        Object.defineProperty(FontFaceSet.prototype, "ready", { get: () => late });"""
    )
    page.goto(f"{heddle.url}/trees/{tree}")
    live(page)
    end = page.locator("article.node").last
    expect(end).to_be_in_viewport()
    page.locator("article.node").first.evaluate("node => { node.style.display = 'none'; }")
    page.evaluate(FRAMES)
    page.evaluate("window.come()")
    page.evaluate(FRAMES)
    expect(end).to_be_in_viewport()
    assert page.locator("loom-path").evaluate("path => path.style.minBlockSize") == ""


def test_a_long_buffer_opens_at_its_end_and_its_editor_moves_nothing(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Opens", *[LONG.replace(". ", ".\n\n")] * 3, "The end.", mode="buffer")
    page = visit("/")
    page.route("**/dist/editor.js", lambda route: None)
    page.goto(f"{heddle.url}/trees/{tree}")
    settled(page)
    end = page.locator(".run .plain").last
    expect(end).to_be_in_viewport()
    place = top(end)
    page.unroute("**/dist/editor.js")
    page.reload()
    settled(opened(page))
    assert top(page.locator(".book .by").last) == pytest.approx(place, abs=1)


def test_the_line_of_the_caret_stays_while_candidates_come_and_one_is_taken(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Caret", LONG.replace(". ", ".\n\n"), mode="buffer")
    heddle.provider.script(*[holds("Then ", HOLD, "it rained. " * 25) for _ in range(3)])
    page = settled(opened(visit(f"/trees/{tree}")))
    caret(page, len(text_of(page)))
    book(page).press_sequentially("And ")
    with answered(page):
        book(page).press("Control+Enter")
    expect(page.locator(".card.coming [data-text]").filter(has_text="Then")).to_have_count(3)
    place = line_of_caret(page)
    release(heddle)
    expect(page.locator(".card[data-id]")).to_have_count(1)
    assert line_of_caret(page) == pytest.approx(place, abs=1)
    before = text_of(page)
    book(page).press("Tab")
    page.wait_for_function(
        "was => document.querySelector('loom-buffer').editor.view.state.doc.length > was",
        arg=len(before),
    )
    start: float = page.locator("loom-buffer").evaluate(
        "({editor: {view}}, at) => view.coordsAtPos(at).top", len(before)
    )
    assert start == pytest.approx(place, abs=1)


def test_a_candidate_that_is_taken_is_not_shown_twice(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Once", "It rained. ", mode="buffer")
    heddle.provider.script(says("And it went on raining."))
    page = settled(opened(visit(f"/trees/{tree}")))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(1)
    expect(page.locator(".ghost")).to_have_text("And it went on raining.")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/weave?*", hold)
    book(page).press("Tab")
    expect(book(page)).to_have_text("It rained. And it went on raining.")
    expect(page.locator(".ghost")).to_have_count(0)
    expect(page.locator(".card")).to_have_count(1)  # those of before are not drawn away yet
    for route in held:
        route.continue_()
    expect(page.locator(".card")).to_have_count(0)


NARROWER = ({"width": 1130, "height": 900}, {"width": 700, "height": 900}, PHONE, DESK)


@pytest.mark.parametrize("at_caret", [False, True], ids=["the-top-line", "the-line-of-the-caret"])
def test_the_line_that_is_read_stays_when_the_window_becomes_narrower(
    heddle: Heddle, visit: Open, at_caret: bool
) -> None:
    paragraph = "The river went on below the mill, and nobody counted the boats. " * 9
    tree = heddle.tree("Narrower", *[f"{paragraph}\n\n"] * 20, mode="buffer")
    page = settled(opened(visit(f"/trees/{tree}")))
    page.locator("main").evaluate("main => main.scrollTop = 2000")
    page.evaluate(FRAMES)
    # A character of the first line that is seen, or of one in the middle of the window.
    at: int = page.locator("loom-buffer").evaluate(
        """({editor: {view}}, down) => {
            const { top } = document.querySelector("main").getBoundingClientRect();
            const { left } = view.contentDOM.getBoundingClientRect();
            return view.posAtCoords({ x: left + 1, y: top + down }, false);
        }""",
        400 if at_caret else 1,
    )
    if at_caret:
        caret(page, at)
    else:
        page.locator("main").evaluate("main => main.scrollTop += 1")
    line = "({editor: {view}}, at) => view.coordsAtPos(at, 1)?.top ?? null"
    buffer = page.locator("loom-buffer")
    page.wait_for_function("() => document.querySelector('loom-path').view.noting === 0")
    place = buffer.evaluate(line, at)
    for size in NARROWER:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.evaluate(FRAMES)
        assert buffer.evaluate(line, at) == pytest.approx(place, abs=1.5), size


@pytest.mark.parametrize("noted_between", [False, True], ids=["at-once", "noted-between"])
def test_the_line_of_a_turn_that_is_read_stays_when_a_pane_becomes_wider(
    heddle: Heddle, visit: Open, noted_between: bool
) -> None:
    tree = heddle.tree("Wider pane", *[LONG] * 4)
    page = settled(visit(f"/trees/{tree}"))
    noted = "() => document.querySelector('loom-path').view.noting === 0"
    page.locator("main").evaluate("main => main.scrollTop = 900")
    page.evaluate(FRAMES)  # the event of the scroll comes with a frame
    page.wait_for_function(noted)
    page.evaluate(
        """() => {
            const main = document.querySelector("main").getBoundingClientRect();
            const { left } = document.querySelector("article .text").getBoundingClientRect();
            const { offsetNode, offset } = document.caretPositionFromPoint(left + 1, main.top + 1);
            window.read = document.createRange();
            window.read.setStart(offsetNode, offset);
            window.read.setEnd(offsetNode, offset + 1);
        }"""
    )
    place = page.evaluate("() => window.read.getClientRects()[0].top")
    divider = page.get_by_role("separator", name="Width of the details")
    for key in (*["ArrowLeft"] * 4, *["ArrowRight"] * 3, "ArrowLeft"):
        divider.press(key)
        page.evaluate(FRAMES)
        now = page.evaluate("() => window.read.getClientRects()[0].top")
        assert now == pytest.approx(place, abs=1.5)
        if noted_between:  # as by a note that a scroll before the key asked for
            page.evaluate("() => document.dispatchEvent(new Event('selectionchange'))")
            page.wait_for_function(noted)
