"""Two people in one tree at once: they write, models stream, and both see the same."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.providers.scripts import HOLD, fails, holds, says, stalls


def live(page: Page) -> Page:
    """The page, once its socket is open."""
    expect(page.locator(".dot")).to_have_attribute("data-state", "live")
    return page


def both(visit: Open, heddle: Heddle, tree: str, ada: Cookies) -> tuple[Page, Page]:
    """The owner's page and Ada's, at the same text: the owner's position."""
    place = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    path = f"/trees/{tree}?node={place}"
    return live(visit(path)), live(visit(path, who=ada))


def test_a_text_reaches_the_other_person_without_a_reload(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Two at once", "Who is there?")
    mine, hers = both(visit, heddle, tree, ada)
    mine.get_by_label("Text of the next node").fill("Only me.")
    mine.get_by_role("button", name="Add", exact=True).click()
    expect(mine.locator("article.node").last).to_contain_text("Only me.")
    expect(hers.locator(".card")).to_contain_text("Only me.")
    hers.locator(".card a").click()
    hers.get_by_label("Text of the next node").fill("And me.")
    hers.get_by_role("button", name="Add", exact=True).click()
    expect(mine.locator(".card")).to_contain_text("And me.")


def test_candidates_stream_to_both_side_by_side_and_one_is_taken(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Streams", "The door opened.")
    mine, hers = both(visit, heddle, tree, ada)
    heddle.provider.script(*(holds(f"Candidate {n} be", HOLD, "gins.") for n in "abc"))
    mine.get_by_role("button", name="Continue").last.click()
    for page in (mine, hers):
        expect(page.locator(".card.coming")).to_have_count(3)
        expect(page.locator(".card.coming [data-text]").nth(2)).to_contain_text("Candidate")
    for _ in range(3):
        heddle.provider.release()
    for page in (mine, hers):
        expect(page.locator(".card.coming")).to_have_count(0)
        expect(page.locator(".card")).to_have_count(3)
        expect(page.locator(".card-text").nth(1)).to_contain_text("begins.")
    mine.locator("body").press("2")
    expect(mine.locator("article.node")).to_have_count(2)
    # Nobody's move moves another's page.
    expect(hers.locator("article.node")).to_have_count(1)
    expect(hers.locator(".card")).to_have_count(3)


def test_a_stopped_candidate_keeps_its_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Stopped", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    heddle.provider.script(stalls("Half a sen"))
    page.get_by_role("button", name="Continue").last.click()
    expect(page.locator(".card.coming [data-text]")).to_have_text("Half a sen")
    page.locator("main").press("Escape")
    expect(page.locator(".card .broken")).to_contain_text("stopped")
    expect(page.locator(".card-text")).to_have_text("Half a sen")


def test_a_reload_in_the_middle_shows_what_had_come_and_goes_on(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Reloaded", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    heddle.provider.script(holds("Before, ", HOLD, "and after."))
    page.get_by_role("button", name="Continue").last.click()
    expect(page.locator(".card.coming [data-text]")).to_have_text("Before, ")
    page.reload()
    expect(page.locator(".card.coming [data-text]")).to_have_text("Before, ")
    live(page)
    heddle.provider.release()
    expect(page.locator(".card.coming")).to_have_count(0)
    expect(page.locator(".card-text")).to_have_text("Before, and after.")


def test_a_model_that_fails_says_why_and_can_be_tried_again(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Failing", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    heddle.provider.script(fails(400, "no such model"))
    page.get_by_role("button", name="Continue").last.click()
    failed = page.locator(".card.failed")
    expect(failed.locator(".error")).to_contain_text("no such model")
    expect(failed.locator(".card-note")).to_have_text(
        "An owner has to check the participant's settings."
    )
    expect(failed.get_by_role("button", name="Try again")).to_have_count(0)
    failed.get_by_role("button", name="Dismiss").click()
    heddle.provider.script(fails(429, "slow down", retry_after="75"))
    page.get_by_role("button", name="Continue").last.click()
    expect(failed.locator(".card-note")).to_have_text("Wait 75 s, then try again.")
    heddle.provider.script(says("It works."))
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card-text")).to_have_text("It works.")


def test_presence_shows_who_is_where(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    tree = heddle.tree("Here", "One.", "Two.")
    mine, hers = both(visit, heddle, tree, ada)
    expect(mine.locator(".presence li")).to_have_count(2)
    face = mine.get_by_role("button", name=re.compile("^ada, at “Two.”", re.I))
    expect(face).to_be_visible()
    face.focus()
    hers.locator("main").press("ArrowLeft")
    there = mine.get_by_role("button", name=re.compile("^ada, at “One.”", re.I))
    expect(there).to_be_focused()
    expect(face).to_have_count(0)


def test_the_other_persons_undo_is_seen_too(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    tree = heddle.tree("Undone", "One.", "Two.", "Three.")
    mine = live(visit(f"/trees/{tree}"))
    two = mine.locator("article.node").nth(1).get_attribute("data-id")
    hers = live(visit(f"/trees/{tree}?node={two}", who=ada))
    expect(hers.locator(".card")).to_have_count(1)
    mine.locator("main").press("x")
    expect(hers.locator(".card")).to_have_count(0)
    mine.get_by_role("button", name="Undo").click()
    expect(hers.locator(".card")).to_have_count(1)


def test_two_tabs_of_one_person_never_move_each_other(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Tabs", "One.", "Two.")
    first, second = live(visit(f"/trees/{tree}")), live(visit(f"/trees/{tree}"))
    first.locator("main").press("ArrowLeft")
    expect(first.locator("article.node")).to_have_count(1)
    second.get_by_label("Text of the next node").fill("Three, below two.")
    second.get_by_role("button", name="Add", exact=True).click()
    expect(second.locator("article.node")).to_have_count(3)
    expect(first.locator("article.node")).to_have_count(1)


def test_typing_while_fifty_updates_arrive_keeps_caret_and_text(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Typing", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    at = page.locator("article.node").get_attribute("data-id")
    field = page.get_by_label("Text of the next node")
    field.fill("start end")
    field.evaluate("field => field.setSelectionRange(6, 6)")
    with heddle.client(ada) as client:
        for number in range(50):
            line = {"line": f'respond {at} "other {number}"', "at": at}
            assert client.post(f"/api/trees/{tree}/commands", json=line).is_success
            field.press("x")
    expect(page.locator(".weave h2")).to_contain_text("50 continuations")
    state: Any = field.evaluate("f => [f.value, f.selectionStart, document.activeElement === f]")
    assert state == ["start " + "x" * 50 + "end", 56, True]


def test_what_others_do_is_shown_beside_the_text_too_and_nobody_asks_for_it(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Beside", "One.")
    _, hers = both(visit, heddle, tree, ada)
    at = hers.locator("article.node").get_attribute("data-id")
    hers.get_by_role("tab", name="Context").click()
    expect(hers.locator("loom-context [data-shown]")).not_to_be_empty()
    hers.get_by_role("tab", name="Node").click()
    foot = hers.locator("#panel-node .details > footer")
    expect(foot).to_have_count(1)
    # What an agent would read is asked for once she stays at a text.
    expect(hers.locator("[data-ask-other]")).to_contain_text("tokens")
    hers.wait_for_load_state("networkidle")
    asked: list[str] = []
    # That she saw it, she says herself.
    hers.on(
        "request", lambda request: asked.append(request.url) if "/seen" not in request.url else None
    )
    for line in (f'annotate {at} "Hm."', f"tag {at} #there", f"bookmark {at}"):
        heddle.post(f"trees/{tree}/commands", {"line": line})
    for words in ("1 annotation", "#there", "★"):
        expect(foot).to_contain_text(words)
    heddle.post(f"trees/{tree}/commands", {"line": f'respond {at} "Two."'})
    expect(hers.locator(".card")).to_contain_text("Two.")
    heddle.post(f"trees/{tree}/commands", {"line": 'respond root "Another one."'})
    expect(foot).to_contain_text("1 / 2")
    assert asked == []


def test_a_text_that_has_the_focus_shows_what_others_and_oneself_do_with_it(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("In focus", "The lamp was lit.")
    _, hers = both(visit, heddle, tree, ada)
    node = hers.locator("article.node")
    at = node.get_attribute("data-id")
    node.locator(".text").click()
    expect(node).to_be_focused()
    heddle.line(tree, f'annotate {at} "By whom?"')
    expect(node.locator(".note")).to_contain_text("By whom?")
    expect(node).to_be_focused()
    node.get_by_label(re.compile("^More for")).click()
    node.get_by_role("button", name="Exclude from models").click()
    expect(node.locator("header .flag")).to_have_text("excluded from models")
    node.get_by_label(re.compile("^More for")).click()
    expect(node.get_by_role("button", name="Include for models")).to_be_visible()
