"""Answers that come in another order than they were asked for: what is newer stays, and nothing
that was typed meanwhile is lost. Elements that only read are tried without a browser, beside them
(`static/src/js/elements/*.test.js`).
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.book import caret, has_nodes, opened, path_of, text_of, working
from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_right_pane import tab
from tests.browser.test_two_people import live
from tests.patience import PATIENCE_S


@dataclass
class Held:
    """The first request to an address: the server answers it at once, and the page is given that
    when the test says so. Those after it pass."""

    page: Page
    address: str
    method: str = ""
    kept: list[tuple[Route, APIResponse]] = field(default_factory=list)
    is_held: bool = False

    def __post_init__(self) -> None:
        self.page.route(re.compile(self.address), self.take)

    def take(self, route: Route) -> None:
        if not self.is_held and self.method in ("", route.request.method):
            self.is_held = True
            self.kept.append((route, route.fetch()))
        else:
            route.continue_()

    def wait(self) -> None:
        """Returns when it is held."""
        end = time.monotonic() + PATIENCE_S
        while not self.kept:
            assert time.monotonic() < end, f"{self.address} was not asked for"
            self.page.wait_for_timeout(20)

    def release(self) -> None:
        route, answer = self.kept[0]
        route.fulfill(response=answer)


def ask(page: Page, call: str) -> None:
    """Starts what an element reads, without waiting for it."""
    page.evaluate(f"() => {{ window.late = {call}; }}")


def ended(page: Page) -> None:
    """Returns when what was asked has come to its end."""
    page.evaluate("() => window.late")


@dataclass
class Case:
    """An element that reads something, what changes that, and what is seen of the change."""

    element: str
    call: str
    address: str
    change: Callable[[Heddle, str], object]
    seen: str
    words: str
    pane: str = ""


def pins(heddle: Heddle, tree: str) -> None:
    with heddle.client() as client:
        body = {"node": place(heddle, tree), "settings": {"seed": 7}}
        assert client.put(f"/api/trees/{tree}/settings", json=body).is_success


def place(heddle: Heddle, tree: str) -> str:
    """Where the owner is in a tree."""
    return str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]


CASES = [
    Case(
        "loom-samplers",
        "e.showPins()",
        r"/settings\?node=",
        pins,
        "loom-samplers [data-pins]",
        "seed 7",
    ),
    Case(
        "loom-panel[data-of-node=drawn]",
        "(e.drawn = '', e.draw())",
        r"/trees/[^/]+/nodes/[^/]+$",
        lambda heddle, tree: heddle.line(tree, f"tag {place(heddle, tree)} #fence"),
        "loom-panel[data-of-node=drawn]",
        "fence",
        "Node",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.element)
def test_an_older_answer_does_not_take_the_place_of_a_newer_one(
    heddle: Heddle, visit: Open, case: Case
) -> None:
    tree = heddle.tree("Late", "The house stood empty.", "The gate was new.")
    page = live(visit(f"/trees/{tree}?node={place(heddle, tree)}"))
    if case.pane:
        tab(page, case.pane)
    page.wait_for_load_state("networkidle")
    held = Held(page, case.address)
    read = f"(e => {case.call})(document.querySelector('{case.element}'))"
    ask(page, read)
    held.wait()
    case.change(heddle, tree)
    page.evaluate(f"() => {{ void {read}; }}")
    expect(page.locator(case.seen)).to_contain_text(case.words)
    held.release()
    ended(page)
    expect(page.locator(case.seen)).to_contain_text(case.words)
    assert case.words in page.locator(case.seen).inner_text()


def test_the_pane_of_a_node_shows_what_changed_while_it_was_read(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Read", "The house stood empty.")
    page = live(visit(f"/trees/{tree}?node={place(heddle, tree)}"))
    pane = page.locator("#panel-bookmarks loom-panel")
    held = Held(page, r"/bookmarks$")
    page.get_by_role("tab", name="Bookmarks").click()
    held.wait()
    # Word of the change comes while the answer of before is on its way.
    page.evaluate(
        """() => { const {page} = document.querySelector('loom-tree');
        page.events.on('mark.added', () => queueMicrotask(() => { window.told = true; })); }"""
    )
    heddle.line(tree, f"bookmark {place(heddle, tree)}")
    page.wait_for_function("() => window.told")
    held.release()
    expect(pane).to_contain_text("The house stood empty.")


def test_replace_pressed_quickly_replaces_one_match_after_another(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Birds", "A heron, a heron and a heron.")
    page = live(visit(f"/trees/{tree}"))
    page.keyboard.press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    find = panel.get_by_role("searchbox")
    find.fill("heron")
    expect(panel.locator(".find-said")).to_have_text("3 found")
    find.press("Enter")
    expect(panel.locator(".find-said")).to_have_text("1 of 3")
    panel.get_by_role("textbox", name="Replace with").fill("crane")
    replace = panel.get_by_role("button", name="Replace", exact=True)
    replace.evaluate("button => { button.click(); button.click(); }")
    expect(panel.locator(".find-said")).to_have_text("1 of 1")
    # Where the reader is, is told a while after they came there.
    here = page.evaluate("document.querySelector('loom-tree').page.position")
    path = heddle.get(f"trees/{tree}/path?node={here}")
    text = path["nodes"][1]["text"]  # type: ignore[index]
    assert text == "A crane, a crane and a heron."


def _texts(heddle: Heddle, tree: str) -> list[str]:
    """The texts of the path, without the root."""
    nodes = heddle.get(f"trees/{tree}/path")["nodes"]
    return [node["text"] for node in nodes[1:]]  # type: ignore[index]


def test_replace_all_puts_in_what_stood_there_when_it_was_pressed(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Birds", "A heron.", "The heron.")
    page = live(visit(f"/trees/{tree}"))
    page.keyboard.press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    panel.get_by_role("searchbox").fill("heron")
    expect(panel.locator(".find-said")).to_have_text("2 found")
    put = panel.get_by_role("textbox", name="Replace with")
    put.fill("crane")
    held = Held(page, r"/commands$", method="POST")
    panel.get_by_role("button", name="Replace all").click()
    held.wait()
    put.fill("stork")
    held.release()
    expect(panel.locator(".find-said")).to_have_text("2 replaced")
    end = time.monotonic() + PATIENCE_S
    while (texts := _texts(heddle, tree)) != ["A crane.", "The crane."]:
        assert time.monotonic() < end, texts
        page.wait_for_timeout(100)


def test_a_memory_saved_twice_in_a_row_is_nobody_elses(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Memory", "One.")
    page = live(visit(f"/trees/{tree}"))
    tab(page, "Memory")
    form = page.locator("#panel-context .steering")
    memory = form.get_by_label("Memory")
    memory.fill("A cold novel.")
    held = Held(page, rf"/api/trees/{tree}$", method="PATCH")
    form.evaluate("form => form.requestSubmit()")
    held.wait()
    memory.fill("A cold, long novel.")
    form.evaluate("form => form.requestSubmit()")
    held.release()
    expect(form.locator("[data-said]")).to_have_text("saved")
    expect(form.locator("[data-theirs]")).to_have_count(0)
    page.wait_for_load_state("networkidle")
    assert heddle.get(f"trees/{tree}")["memory"] == "A cold, long novel."


def test_what_somebody_saved_after_it_is_shown_when_the_answer_comes_late(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Memory", "One.")
    page = live(visit(f"/trees/{tree}"))
    tab(page, "Memory")
    form = page.locator("#panel-context .steering")
    memory = form.get_by_label("Memory")
    memory.fill("Mine.")
    held = Held(page, rf"/api/trees/{tree}$", method="PATCH")
    form.evaluate("form => form.requestSubmit()")
    held.wait()
    with heddle.client(ada) as client:
        body = {"memory": "Hers.", "seen": {"memory": "Mine."}}
        assert client.patch(f"/api/trees/{tree}", json=body).is_success
    page.wait_for_function(
        """() => document.querySelector('#panel-context loom-steering')
        .told.get('memory') === 'Hers.'"""
    )
    held.release()
    expect(memory).to_have_value("Hers.")


def test_what_was_typed_while_another_path_was_on_its_way_is_kept_where_it_was_typed(
    heddle: Heddle, visit: Open, house: str
) -> None:
    last = place(heddle, house)
    page = live(visit(f"/trees/{house}?node={last}"))
    expect(page.locator("loom-buffer[data-on]")).to_be_attached()
    page.wait_for_function("() => document.querySelector('loom-tree').page.store")
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    page.evaluate(
        """id => { const e = document.querySelector('loom-buffer');
        const path = e.leaves.path.bind(e.leaves);
        e.leaves.path = async (one) => { const found = await path(one);
          await new Promise((go) => { window.let = go; }); return found; };
        e.page.go(id); }""",
        first,
    )
    page.wait_for_function("() => window.let")
    # A key, and the answer before anything else.
    page.evaluate(
        """() => { const {view} = document.querySelector('loom-buffer').editor;
        const at = view.state.doc.length;
        view.dispatch({changes: {from: at, insert: " Typed late."}, userEvent: "input.type"});
        window.let(); window.let = null; }"""
    )
    expect(page.locator(".cm-content")).not_to_contain_text("Typed late.")
    page.evaluate(
        """id => { const e = document.querySelector('loom-buffer');
        delete e.leaves.path; e.page.go(id); }""",
        last,
    )
    expect(page.locator(".cm-content")).to_contain_text("Typed late.")


def test_what_is_sent_while_another_branch_is_on_its_way_goes_below_the_text_that_is_shown(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Two branches", "Begin.", mode="buffer")
    begin = place(heddle, tree)
    left, right = [
        heddle.line(tree, f"respond {begin}\n{words}\n←")["refs"][0]  # type: ignore[index]
        for words in ("Left.", "Right.")
    ]
    page = live(visit(f"/trees/{tree}?node={right}"))
    for node, words in ((right, " Draft there."), (left, " Draft here.")):
        page.goto(f"{heddle.url}/trees/{tree}?node={node}")
        opened(page)
        caret(page, len(text_of(page)))
        page.keyboard.type(words)
        working(page, words)
    page.reload()
    opened(page)
    page.wait_for_function("() => document.querySelector('loom-tree').page.store")
    slow = Held(page, r"/buffer\?")
    page.evaluate("id => document.querySelector('loom-tree').page.go(id)", right)
    slow.wait()
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_function("left => document.querySelector('loom-buffer').shown !== left", arg=left)
    node = page.evaluate("document.querySelector('loom-buffer').shown")
    slow.release()
    has_nodes(page, ["Begin.", "Right.", " Draft there."])
    assert path_of(heddle, tree, node) == ["Begin.", "Left.", " Draft here."]
