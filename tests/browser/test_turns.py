"""Turns in the page: asked for, watched by two, stopped, reloaded, taken back, beside the text."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_accessible import violations
from tests.browser.test_two_people import both, live
from tests.providers.scripts import HOLD, fails, holds, says, stalls

HOSTILE = "<img src=x onerror=document.title='gone'>"


@pytest.fixture(scope="module", autouse=True)
def _weaver(heddle: Heddle) -> Iterator[None]:
    """A loom-aware agent behind the scripted provider, for these journeys only."""
    agent = heddle.post(
        "participants",
        {
            "name": "Weaver",
            "model_ref": "scripted:weaver",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write", "loom_generate"],
            "context_limit": 50_000,
        },
    )
    yield
    with heddle.client() as client:
        assert client.delete(f"/api/participants/{agent['id']}").is_success


def start(page: Page, words: str = "", *, aside: bool = False) -> None:
    """Asks the agent to act, with these words."""
    page.get_by_label("Text of the next node").fill(words)
    pick(page, "Weaver", aside=aside)
    page.locator(".composer").get_by_role("button", name="Ask", exact=True).click()


def pick(page: Page, name: str, *, aside: bool = False) -> None:
    """Picks an agent in the one picker."""
    page.locator("[data-agents] summary").click()
    page.get_by_role("radio", name=name).check()
    if aside:
        page.get_by_role("checkbox", name="Beside the text").check()
    page.keyboard.press("Escape")


def test_two_people_watch_a_turn_to_its_end_and_it_is_taken_back(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("A turn", "Who is Marie angry at?")
    mine, hers = both(visit, heddle, tree, ada)
    at = mine.locator("article.node").get_attribute("data-id")
    heddle.provider.script(
        holds("I look first.\n", HOLD, f"→ view {at} full\n→ bokmark {at}\nnot used"),
        holds(f'→ annotate {at} "her father"\nIt is ', HOLD, "her father."),
    )
    start(mine)
    for page in (mine, hers):
        turn = page.locator(".turn.working")
        expect(turn.locator(".live [data-text]")).to_contain_text("I look first.")
        expect(turn.locator("[data-state]")).to_have_text("working")
    # From now on the turn is sent as it is drawn: nobody asks for it.
    asked: list[str] = []
    hers.on(
        "request", lambda request: asked.append(request.url) if "/turns?" in request.url else None
    )
    heddle.provider.release()
    for page in (mine, hers):
        turn = page.locator(".turn")
        expect(turn.locator(".turn-lines .line").first).to_contain_text(f"view {at} full")
        expect(turn.locator(".turn-lines li.bad")).to_contain_text("✗ INVALID_SYNTAX")
        expect(turn.locator(".turn-lines .hint")).to_contain_text("bookmark")
        expect(turn.locator(".live [data-text]")).to_contain_text("It is")
        expect(turn).not_to_contain_text("not used")
    heddle.provider.release()
    # Who asked follows to the answer; the other stays, and sees that it has ended.
    expect(mine.locator("article.node").last).to_contain_text("her father.")
    expect(mine.locator("article.node")).to_have_count(2)
    expect(hers.locator("article.node")).to_have_count(1)
    expect(hers.locator(".turn [data-state]")).to_have_text("done")
    expect(hers.locator(".turn-spent")).to_contain_text("steps 2/100")
    assert asked == []
    expect(hers.locator(".turn").get_by_role("button")).to_have_count(0)
    mine.locator(".turn").get_by_role("button", name="Undo turn").click()
    expect(hers.locator(".card")).to_have_count(0)
    expect(hers.locator(".note")).to_have_count(0)


def test_a_turn_is_stopped_after_a_reload_and_keeps_its_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Stopped turn", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(stalls("Half a thou"))
    start(page, "Go on, please.")
    expect(page.locator("article.node").last).to_contain_text("Go on, please.")
    expect(page.locator(".turn .live [data-text]")).to_have_text("Half a thou")
    expect(page.get_by_label("Text of the next node")).to_have_value("")
    expect(page.locator("[data-agents-shown]")).to_have_text("Weaver")
    page.reload()
    live(page)
    expect(page.locator(".turn .live [data-text]")).to_have_text("Half a thou")
    page.locator(".turn").get_by_role("button", name="Stop").click()
    expect(page.locator("article.node").last).to_contain_text("Half a thou")
    expect(page.locator(".turn [data-state]")).to_have_text("stopped")


def test_an_aside_answers_beside_the_text_with_a_note(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Aside", "She laughed.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(says("Out of fear."))
    start(page, "Why?", aside=True)
    aside = page.get_by_role("tabpanel", name="Desk").locator(".turn")
    expect(aside).to_contain_text("Why?")
    expect(aside).to_contain_text("Out of fear.")
    expect(aside.locator("[data-state]")).to_have_text("done")
    expect(page.locator("article.node")).to_have_count(1)
    expect(page.locator("article.node .note").last).to_contain_text("Out of fear.")


def test_what_is_hostile_shows_as_text_and_a_failure_says_what_to_do(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Hostile", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(says(f'→ {HOSTILE}\n→ view here "{HOSTILE}"\n'), fails(401, HOSTILE))
    start(page)
    turn = page.locator(".turn")
    expect(turn.locator(".turn-lines .line").first).to_contain_text(HOSTILE)
    expect(turn.locator("[data-state]")).to_have_text("failed")
    expect(turn.locator(".turn-error")).not_to_be_empty()
    assert "gone" not in page.title()
    assert page.locator(".turn img").count() == 0


@pytest.mark.parametrize(("theme", "phone"), [("light", False), ("dark", True)])
def test_a_working_turn_is_accessible(heddle: Heddle, visit: Open, theme: str, phone: bool) -> None:
    tree = heddle.tree(f"Accessible {theme}", "Begin.")
    size = {"size": PHONE} if phone else {}
    page = live(visit(f"/trees/{tree}", theme=theme, bypass_csp=True, **size))
    heddle.provider.script(says("I look.\n→ view here full\n→ prune root\n"), stalls("Then"))
    page.locator("[data-agents] summary").click()
    assert violations(page) == []
    page.get_by_role("radio", name="Weaver").check()
    page.keyboard.press("Escape")
    page.get_by_label("Text of the next node").press("Control+Enter")
    expect(page.locator(".turn .live [data-text]")).to_have_text("Then")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("main").press("Escape")
    expect(page.locator(".turn [data-state]")).to_have_text("stopped")


def test_an_answer_below_what_is_read_is_led_to_and_moves_nothing(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Long", *(f"Text {n}. " + "It goes on for a while. " * 30 for n in range(8)))
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(holds("A long ", HOLD, "answer."))
    start(page)
    expect(page.locator(".turn .live [data-text]")).to_contain_text("A long")
    thread = page.locator("main")
    at = thread.evaluate("one => { one.scrollTop = 200; return one.scrollTop; }")
    heddle.provider.release()
    below = page.get_by_role("button", name="Answer below")
    expect(below).to_be_visible()
    assert thread.evaluate("one => one.scrollTop") == at
    below.click()
    answer = page.locator("article.node").last
    expect(answer).to_contain_text("A long answer.")
    expect(answer).to_be_in_viewport()
    expect(answer).to_be_focused()
    expect(below).to_have_count(0)


def test_what_is_typed_as_the_answer_comes_stays_in_the_field_with_its_caret(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Typed meanwhile", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(holds("It ", HOLD, "begins."))
    start(page, "Go on.")
    expect(page.locator(".turn .live [data-text]")).to_contain_text("It")
    field = page.get_by_label("Text of the next node")
    field.click()
    page.keyboard.type("My next progress")
    for _ in "gress":
        page.keyboard.press("ArrowLeft")
    heddle.provider.release()
    expect(page.locator("article.node").last).to_contain_text("It begins.")
    page.keyboard.type(" and ")
    expect(field).to_have_value("My next pro and gress")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node").last).to_contain_text("My next pro and gress")
    expect(page.locator("article.node")).to_have_count(4)


def test_a_turn_that_is_undone_leads_back_to_ones_own_text_with_what_was_typed_since(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Taken back", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    own = page.locator("article.node").get_attribute("data-id")
    heddle.provider.script(says("It begins."))
    start(page)
    expect(page.locator("article.node").last).to_contain_text("It begins.")
    field = page.get_by_label("Text of the next node")
    field.fill("And my next words")
    page.locator(".turn").get_by_role("button", name="Undo turn").click()
    expect(page.locator("article.node")).to_have_count(1)
    page.wait_for_function(
        "own => document.querySelector('loom-tree').page.position === own", arg=own
    )
    expect(field).to_have_value("And my next words")
    turn = page.locator(".turn")
    expect(turn.locator("[data-state]")).to_have_text("undone")
    expect(turn.get_by_role("button", name="Undo turn")).to_have_count(0)
    expect(page.locator("loom-toast .toast").last).to_contain_text("Undone: the turn of")
    # The next text is one of the tree that is seen.
    turn.get_by_role("button", name="Redo turn").click()
    expect(page.locator("article.node").last).to_contain_text("It begins.")
    expect(page.locator(".turn [data-state]")).to_have_text("done")
    page.locator(".turn").get_by_role("button", name="Undo turn").click()
    expect(page.locator("article.node")).to_have_count(1)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node").last).to_contain_text("And my next words")
