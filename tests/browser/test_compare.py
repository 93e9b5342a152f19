"""Texts side by side: from the weave, the sibling rail, the menu, by key; one is taken."""

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open
from tests.browser.test_tree_page import ids
from tests.browser.test_two_people import live
from tests.patience import PATIENCE_S


@pytest.fixture
def gates(heddle: Heddle) -> tuple[str, list[str]]:
    """A tree with three continuations of one text; its id and theirs."""
    tree = heddle.tree("Compared", "Begin.")
    for text in ("the gate was new", "the old gate was new", "nothing alike"):
        heddle.line(tree, f'respond root "{text}"')
    nodes = heddle.get(f"trees/{tree}/skeleton")["ids"]
    assert isinstance(nodes, list)
    heddle.line(tree, f"switch to {nodes[2]}")
    return tree, nodes[2:]


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Compare")


def shown(page: Page) -> list[str]:
    """What is compared, in order."""
    shown_ids: list[str] = (
        dialog(page).locator("article").evaluate_all("all => all.map(one => one.dataset.id)")
    )
    return shown_ids


def test_continuations_are_compared_word_by_word(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Compared", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    at = ids(page)[0]
    for text in ("the gate was new", "the old gate was new", "nothing alike"):
        heddle.line(tree, f'respond {at} "{text}"')
    expect(page.locator(".card")).to_have_count(3)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(dialog(page).locator("article")).to_have_count(3)
    expect(dialog(page).locator("article").nth(1).locator("mark")).to_have_text("old")
    # By first words: an id says nothing.
    expect(dialog(page).locator("[data-choice]")).to_have_text(
        ["“the gate was new”", "“the old gate was new”", "“nothing alike”"]
    )
    dialog(page).locator("[data-choice]").nth(2).click()
    expect(dialog(page).locator("article")).to_have_count(2)
    dialog(page).get_by_role("button", name="Accept").last.click()
    expect(page.locator("article.node").last).to_contain_text("the old gate was new")


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_sibling_rail_compares_and_a_number_takes(
    gates: tuple[str, list[str]], visit: Open, size: dict[str, int]
) -> None:
    tree, nodes = gates
    page = live(visit(f"/trees/{tree}?node={nodes[0]}", size=size))
    page.locator("article.node").last.get_by_role("button", name="Compare with siblings").click()
    expect(dialog(page).locator("article")).to_have_count(4)
    assert shown(page)[0] == nodes[0]
    expect(dialog(page).get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("3")
    expect(dialog(page)).to_have_count(0)
    expect(page.locator(f"article.node[data-id='{nodes[0]}']")).to_have_count(0)
    expect(page.locator("article.node").last.get_by_label("Siblings", exact=True)).to_contain_text(
        "/ 4"
    )


def test_another_one_is_the_measure(gates: tuple[str, list[str]], visit: Open) -> None:
    tree, nodes = gates
    page = live(visit(f"/trees/{tree}?node={nodes[0]}"))
    page.locator("main").press("c")
    other = dialog(page).locator(f"article[data-id='{nodes[1]}']")
    other.get_by_role("button", name="Compare with this").click()
    expect(dialog(page).locator("article").first).to_have_attribute("data-id", nodes[1])
    expect(dialog(page).locator(f"article[data-id='{nodes[0]}'] mark")).to_have_count(0)


def test_any_two_nodes_of_the_tree_are_compared(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Far apart", "One day.", "Then another.", "One night.")
    page = live(visit(f"/trees/{tree}"))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    path = ids(page)
    page.locator("main").press("c")
    expect(dialog(page).get_by_role("alert")).to_contain_text("Choose another node")
    field = dialog(page).get_by_label("Another node")
    field.fill("zzzz")
    field.press("Enter")
    expect(dialog(page).get_by_role("alert")).to_contain_text("There is no node")
    field.fill(path[0])
    field.press("Enter")
    expect(dialog(page).locator("article")).to_have_count(2)
    expect(dialog(page).locator("mark")).to_have_text(["night.", "day."])


def test_a_version_is_taken_and_what_follows_stays(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Wordings", "One day.", "What follows.")
    heddle.line(tree, 'edit parent "One fine day." as:version')
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").first
    first.locator("summary").click()
    first.get_by_role("button", name="Compare…").click()
    expect(dialog(page).locator("mark")).to_have_text(["fine"])
    old = dialog(page).locator("article").last
    expect(old).to_contain_text("One day.")
    old.get_by_role("button", name="Accept").click()
    expect(first.locator(".text")).to_have_text("One day.")


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_each_person_has_the_version_they_chose_and_both_compare_them_by_word(
    heddle: Heddle, visit: Open, ada: Cookies, mode: str
) -> None:
    tree = heddle.tree("Two wordings", "One day.", " What follows.", mode=mode)
    first = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    newer = heddle.line(tree, f'edit {first} "One fine day." as:version')["refs"][0]  # type: ignore[index]
    mine, theirs = live(visit(f"/trees/{tree}")), live(visit(f"/trees/{tree}", who=ada))
    text = ".cm-content" if mode == "buffer" else "loom-path .stretch"

    def reads(page: Page, words: str) -> None:
        expect(page.locator(text)).to_contain_text(words)
        expect(page.locator(text)).to_contain_text("What follows.")

    def compare(page: Page) -> None:
        """Opens the versions of the first slot side by side."""
        if mode == "buffer":  # beside the text that is pressed
            page.locator(".cm-content").click(position={"x": 20, "y": 12})
            pane = page.locator(".details", has_text="Versions here")
            pane.get_by_role("button", name="Compare", exact=True).click()
        else:
            page.locator("article.node").first.locator("summary").click()
            page.get_by_role("button", name="Compare…").filter(visible=True).click()
        expect(dialog(page).locator("article").nth(1)).to_be_visible()

    def take(page: Page, version: str) -> None:
        chosen = dialog(page).locator(f"article[data-id='{version}']")
        chosen.get_by_role("button", name="Accept").click()

    for page in (mine, theirs):
        reads(page, "One fine day.")
    compare(mine)
    expect(dialog(mine).locator("mark")).to_have_text(["fine"])
    take(mine, first)
    reads(mine, "One day.")
    reads(theirs, "One fine day.")
    with heddle.client(ada) as client:
        line = {"line": f'edit {newer} "One very fine day." as:version'}
        assert client.post(f"/api/trees/{tree}/commands", json=line).is_success
        reads(theirs, "One very fine day.")
        reads(mine, "One day.")  # who chose a version keeps it
        compare(theirs)
        expect(dialog(theirs).locator("article", has_text="very fine")).to_be_visible()
        take(theirs, newer)
        reads(theirs, "One fine day.")
        for page, words in ((mine, "One day."), (theirs, "One fine day.")):
            page.reload()
            reads(live(page), words)
        seen = client.get(f"/api/trees/{tree}/path").json()["nodes"]
    own: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    assert (own[1]["id"], seen[1]["id"]) == (first, newer)
    assert own[2]["id"] == seen[2]["id"]


def test_one_is_reworded_beside_the_other_and_all_are_kept(
    gates: tuple[str, list[str]], visit: Open
) -> None:
    tree, nodes = gates
    page = live(visit(f"/trees/{tree}?node={nodes[0]}"))
    page.locator("main").press("c")
    expect(dialog(page).locator("article")).to_have_count(4)
    dialog(page).locator("article").first.get_by_role("button", name="Edit").click()
    form = dialog(page).locator("form.inline-form")
    form.get_by_role("textbox").fill("the new old gate")
    form.get_by_role("combobox").select_option("fork")
    form.get_by_role("button", name="Save").click()
    expect(dialog(page)).to_have_count(0)
    last = page.locator("article.node").last
    expect(last.locator(".text")).to_have_text("the new old gate")
    expect(last.get_by_label("Siblings", exact=True)).to_contain_text("5 / 5")


def test_a_reader_compares_but_does_not_edit(
    gates: tuple[str, list[str]], visit: Open, rhea: Cookies
) -> None:
    tree, nodes = gates
    page = live(visit(f"/trees/{tree}?node={nodes[0]}", who=rhea))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    page.locator("main").press("c")
    expect(dialog(page).get_by_role("button", name="Accept")).to_have_count(4)
    expect(dialog(page).get_by_role("button", name="Edit")).to_have_count(0)


def position_once(page: Page, heddle: Heddle, tree: str, is_so: Callable[[str], bool]) -> str:
    """The owner's position, once it is as expected: the page shows a text before it is stored."""
    end = time.monotonic() + PATIENCE_S
    while not is_so(position := str(heddle.get(f"trees/{tree}")["workspace"]["position"])):  # type: ignore[index]
        assert time.monotonic() < end, position
        page.wait_for_timeout(50)
    return position


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_sentences_of_several_become_a_text_that_keeps_their_authors(
    heddle: Heddle, visit: Open, mode: str
) -> None:
    tree = heddle.tree(f"Put together {uuid4().hex[:6]}", "Begin.", mode=mode)
    start = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    for text in (" One lamp burned. The house was still.", " It was dark. Nobody came."):
        heddle.line(tree, f"respond {start}\n{text}\n←")
        heddle.line(tree, f"switch to {start}")
    page = live(visit(f"/trees/{tree}?node={start}"))
    expect(page.locator(".card")).to_have_count(2)
    page.get_by_role("button", name="Compare", exact=True).click()
    sheets = dialog(page).locator("article")
    expect(sheets).to_have_count(2)
    sheets.nth(1).get_by_role("button", name="It was dark.").click()
    built = dialog(page).get_by_role("region", name="New text")
    expect(built.locator(".text")).to_contain_text("It was dark.")
    # By keys: to the second sentence of the first text, which is taken, and the first taken out.
    sheets.first.get_by_role("button", name="One lamp burned.").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(built.locator(".built-piece")).to_have_text(["It was dark.", "The house was still."])
    sheets.nth(1).get_by_role("button", name="It was dark.").click()
    expect(built.locator(".built-piece")).to_have_text(["The house was still."])
    sheets.nth(1).get_by_role("button", name="Nobody came.").click()
    built.get_by_role("button", name="Add this text").click()
    expect(dialog(page)).to_be_hidden()
    written = page.locator("article.node" if mode == "dialogue" else ".cm-content").last
    expect(written).to_contain_text("The house was still. Nobody came.")
    position = position_once(page, heddle, tree, lambda position: position != start)
    node = heddle.get(f"trees/{tree}/nodes/{position}")
    assert node["text"] == " The house was still. Nobody came."
    sources: Any = node["sources"]
    assert [source["role"] for source in sources] == ["parts", "parts"]
    page.locator("main").focus()
    page.keyboard.press("ControlOrMeta+z")
    expect(written).not_to_contain_text("The house was still. Nobody came.")
    position_once(page, heddle, tree, lambda position: position == start)
