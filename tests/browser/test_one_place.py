"""One place a person: where the tree opens, what drafts follow, and no fork past an answer."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, has_nodes, nodes_of, opened, path_of, text_of
from tests.browser.conftest import Heddle, Open
from tests.browser.test_turns import pick
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, says


@pytest.fixture(scope="module", autouse=True)
def _corvid(heddle: Heddle) -> Iterator[None]:
    """A loom-aware agent behind the scripted provider, for these journeys only."""
    agent = heddle.post(
        "participants",
        {
            "name": "Corvid",
            "model_ref": "scripted:corvid",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write", "loom_generate"],
            "context_limit": 50_000,
        },
    )
    yield
    with heddle.client() as client:
        assert client.delete(f"/api/participants/{agent['id']}").is_success


def caret_at(page: Page) -> int:
    head: int = page.locator("loom-buffer").evaluate(
        "buffer => buffer.editor.view.state.selection.main.head"
    )
    return head


def position(page: Page) -> str:
    node_id: str = page.evaluate("document.querySelector('loom-tree').page.position")
    return node_id


def test_an_answer_that_came_while_nobody_looked_is_where_the_tree_opens(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Came later", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(holds("It ", HOLD, "begins."))
    pick(page, "Corvid")
    page.get_by_label("Text of the next node").press("Control+Enter")
    expect(page.locator(".turn .live [data-text]")).to_contain_text("It")
    page.context.close()
    heddle.provider.release()
    other = visit(f"/trees/{tree}/about")
    other.wait_for_function(
        """async tree => {
            const told = await (await fetch(`/api/trees/${tree}/path`)).json();
            return told.nodes.at(-1).text.includes("begins");
        }""",
        arg=tree,
    )
    other.goto(f"{heddle.url}/trees/{tree}")
    live(other)
    expect(other.locator("article.node").last).to_contain_text("It begins.")


def test_a_text_beside_an_answer_is_asked_about_once(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("No silent fork", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(says("It begins."))
    pick(page, "Corvid")
    field = page.get_by_label("Text of the next node")
    field.press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("It begins.")
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    answered = page.locator("loom-turns [data-turns] > .turn")
    expect(answered).to_have_count(1)
    field.fill("And I go on.")
    page.get_by_role("button", name="Add", exact=True).click()
    asked = page.locator(".contest")
    expect(asked).to_contain_text("Corvid has answered below this text.")
    asked.get_by_role("button", name="Go on from the answer").click()
    expect(page.locator("article.node").last).to_contain_text("It begins.")
    expect(field).to_have_value("And I go on.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node")).to_have_count(3)
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(2)
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    for n in range(2):
        expect(answered).to_have_count(1)
        field.fill(f"Beside {n}.")
        page.get_by_role("button", name="Add", exact=True).click()
        if not n:
            asked.get_by_role("button", name="Write beside it").click()
        expect(page.locator("article.node").last).to_contain_text(f"Beside {n}.")
        page.locator("main").press("ArrowLeft")
        expect(page.locator("article.node")).to_have_count(1)
    expect(asked).to_have_count(0)


def test_what_is_typed_behind_a_text_in_the_outbox_follows_it(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."), says(" It blew."))
    tree = heddle.tree("Offline", "One.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len("One."))
    page.context.set_offline(True)
    book(page).press_sequentially(" Two.")
    book(page).press("Control+Enter")
    book(page).press_sequentially(" And three.")
    page.context.set_offline(False)
    has_nodes(page, ["One.", " Two.", " And three."])
    # The question that waited is asked.
    expect(page.locator(".card[data-id]")).to_have_count(3)
    assert path_of(heddle, tree, position(page)) == ["One.", " Two."]


def test_after_a_reload_the_draft_and_the_question_follow_what_was_in_the_outbox(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."), says(" It blew."))
    tree = heddle.tree("Offline, reloaded", "One.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, len("One."))
    sends = re.compile("/commands$")
    page.route(sends, lambda route: route.abort())
    book(page).press_sequentially(" Two.")
    book(page).press("Control+Enter")
    book(page).press_sequentially(" And three.")
    page.wait_for_function("() => !document.querySelector('loom-buffer').typing")
    page.unroute(sends)
    page.reload()
    opened(page)
    has_nodes(page, ["One.", " Two.", " And three."])
    expect(page.locator(".card[data-id]")).to_have_count(3)


def test_drafts_everywhere_are_listed_and_lead_to_their_places(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Drafts", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    field = page.get_by_label("Text of the next node")
    field.fill("behind two")
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    field.fill("behind one")
    page.get_by_role("tab", name="Desk").click()
    rows = page.locator("loom-drafts li")
    expect(rows).to_have_count(2)
    rows.filter(has_text="behind two").get_by_role("link").click()
    expect(field).to_have_value("behind two")
    rows.filter(has_text="behind one").get_by_role("button", name="Discard").click()
    expect(rows).to_have_count(1)
    page.reload()
    page.get_by_role("tab", name="Desk").click()
    expect(rows).to_have_text([re.compile("behind two")])


SIXTEEN = tuple(f" Passage {n} of the story." for n in range(1, 9))


def test_both_halves_of_a_split_are_followed_by_what_followed_and_the_caret_stays(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."), says(" It blew."))
    tree = heddle.tree("Halves", *SIXTEEN, mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    whole = text_of(page)
    at = whole.index("3 of the story") + 1
    caret(page, at)
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(4)
    has_nodes(page, [*SIXTEEN[:2], " Passage 3", ""])
    assert caret_at(page) == at
    expect(page.locator(".card.coming")).to_have_count(0)
    expect(book(page)).to_be_focused()
    # Tab accepts what was asked for, not the text that was there.
    expect(page.locator(".card.picked")).not_to_contain_text("of the story")
    page.locator("main").focus()
    page.keyboard.press("1")
    page.wait_for_function(
        "whole => document.querySelector('loom-buffer').editor.view.state.doc.toString() === whole",
        arg=whole,
    )
    # The half by itself leads on as well: in the outline, and by End.
    page.go_back()
    expect(page.locator(".card[data-id]")).to_have_count(4)
    page.locator("main").press("End")
    page.wait_for_function(
        "whole => document.querySelector('loom-buffer').editor.view.state.doc.toString() === whole",
        arg=whole,
    )


def test_tab_accepts_what_was_asked_for_in_the_middle_of_a_text(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says(" It rained."), says(" It snowed."), says(" It blew."))
    tree = heddle.tree("Middle", *SIXTEEN, mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    caret(page, text_of(page).index("3 of the story") + 1)
    book(page).press("Control+Enter")
    expect(page.locator(".card[data-id]")).to_have_count(4)
    expect(page.locator(".card.coming")).to_have_count(0)
    asked = page.locator(".card.picked .card-text").inner_text().strip()
    book(page).press("Tab")
    has_nodes(page, [*SIXTEEN[:2], " Passage 3", f" {asked}", ""])
    expect(book(page)).to_be_focused()
    book(page).press("Control+z")
    has_nodes(page, [*SIXTEEN[:2], " Passage 3", ""])


def test_end_follows_the_story_that_was_written_after_a_reload(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("End", "One.", mode="buffer")
    first: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    root = first[1]["id"]
    heddle.line(tree, f"respond {root}\n Another story.\n←")
    mine: Any = heddle.line(tree, f"respond {root}\n My story.\n←")
    heddle.line(tree, f"respond {mine['refs'][0]}\n Its end.\n←")
    page = opened(visit(f"/trees/{tree}?node={root}"))
    page.locator("main").press("End")
    has_nodes(page, ["One.", " My story.", " Its end.", ""])
    other: Any = next(
        result
        for result in heddle.get(f"trees/{tree}/nodes")["results"]  # type: ignore[attr-defined]
        if result["parent"] == root and result["id"] != mine["refs"][0]
    )
    page.evaluate("id => document.querySelector('loom-tree').page.go(id)", other["id"])
    has_nodes(page, ["One.", " Another story.", ""])
    page.goto(f"{heddle.url}/trees/{tree}?node={root}")
    opened(page)
    page.locator("main").press("End")
    has_nodes(page, ["One.", " Another story.", ""])
    assert nodes_of(page)[0] == "One."
