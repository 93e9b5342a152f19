"""Edits in a buffer: each is saved once, however it is left, and none holds up the others."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.book import book, caret, has_nodes, nodes_of, opened, path_of, text_of
from tests.browser.conftest import HOUSE, Cookies, Heddle, Open
from tests.browser.test_buffer_undo import rested, texts
from tests.providers.scripts import says

SLOW = """
((least, most) => {
    const send = window.fetch;
    let asked = 0;
    window.fetch = async (url, options) => {
        const wait = least + ((asked += 1) * 377) % (most - least + 1);
        if (/commands|buffer/.test(url)) await new Promise((done) => setTimeout(done, wait));
        return send(url, options);
    };
})(WAITS)
"""


def sent(page: Page) -> list[str]:
    """The commands that change texts, as they are sent from now on."""
    commands: list[str] = []

    def note(request: Request) -> None:
        if request.method != "POST" or not request.url.endswith("/commands"):
            return
        body: Any = json.loads(request.post_data or "{}")
        if body.get("command") in ("edit", "respond") and not body.get("dry_run"):
            commands.append(f"{body['command']} {body['args'].get('content')}")

    page.on("request", note)
    return commands


def begun(visit: Open, url: str, *, way: str, slow: tuple[int, int] = (0, 0)) -> Page:
    """A page of a buffer whose reader has said what edits mean."""
    page = visit("/")
    page.evaluate(f"localStorage.setItem('heddle.edit-as.buffer', '{way}')")
    if slow[1]:
        page.add_init_script(SLOW.replace("WAITS", json.dumps(slow)[1:-1]))
    page.goto(url)
    return opened(page)


def saved(page: Page, how: str) -> None:
    """Saves what was typed in the first text in one of the ways there are."""
    if how == "key":
        book(page).press("Control+s")
    elif how == "button":
        page.locator(".book-said").get_by_role("button", name="Save", exact=True).click()
    elif how == "caret":
        book(page).press("Control+End")
    elif how == "ask":
        book(page).press("Control+Enter")
    else:
        page.get_by_role("button", name=how, exact=True).last.click()


def settled(page: Page) -> None:
    """Waits until nothing is on its way, and the text has been looked at some more times."""
    for _ in range(3):
        rested(page)
        page.wait_for_function(
            "() => new Promise(done => requestIdleCallback(() => setTimeout(done, 100)))"
        )


@pytest.mark.parametrize("slow", [(0, 0), (300, 3000)])
@pytest.mark.parametrize("way", ["version", "fork"])
@pytest.mark.parametrize("how", ["key", "button", "caret", "ask", "Add", "Continue"])
def test_an_edit_is_sent_once_however_it_is_saved(
    heddle: Heddle, visit: Open, house: str, *, how: str, way: str, slow: tuple[int, int]
) -> None:
    heddle.provider.script(*[says(f" Candidate {number}.") for number in range(3)])
    page = begun(visit, f"{heddle.url}/trees/{house}", way=way, slow=slow)
    commands = sent(page)
    caret(page, 9)
    page.keyboard.type("X")
    expect(page.locator(".book-said")).to_contain_text("1 passage changed")
    saved(page, how)
    edited = f"{HOUSE[0][:9]}X{HOUSE[0][9:]}"
    shown = [edited, *HOUSE[1:], ""] if way == "version" else [edited[:9], edited[9:], ""]
    if how in ("ask", "Continue"):
        expect(page.locator(".card[data-id]", has_text="Candidate")).to_have_count(3)
    else:
        has_nodes(page, shown)
    settled(page)
    assert commands == [f"edit {edited}"]
    expect(page.locator(".book-said")).to_be_empty()
    if way == "fork":
        assert nodes_of(page) == shown


@pytest.mark.parametrize("way", ["version", "fork"])
def test_words_replaced_in_three_passages_are_one_act(
    heddle: Heddle, visit: Open, way: str
) -> None:
    whole = ("The gray house.", " Gray clouds.", " Rain.", " A gray cat.", " The end.")
    tree = heddle.tree("Gray", *whole, mode="buffer")
    page = begun(visit, f"{heddle.url}/trees/{tree}", way=way)
    commands = sent(page)
    book(page).press("Control+End")
    page.keyboard.type(" A gray dawn")
    book(page).press("Control+f")
    page.keyboard.type("gray")
    page.locator("input[name=replace]").fill("grey")
    page.get_by_role("button", name="Replace all").click()
    page.keyboard.press("Escape")
    book(page).press("Control+s")
    now = [text.replace("gray", "grey").replace("Gray", "grey") for text in whole]
    tail = " A grey dawn"
    if way == "version":
        texts(page, *now, tail)
        settled(page)
        assert commands == [f"edit {now[place]}" for place in (0, 1, 3)]
    else:
        texts(page, "".join(now[:4]), "")
        settled(page)
        assert commands == [f"respond {''.join(now[:4])}"]
    book(page).press("Control+z")
    texts(page, *whole, " A gray dawn")
    expect(page.locator("loom-toast")).to_contain_text("Undone: replaced gray by grey")
    book(page).press("Control+y")
    if way == "version":
        texts(page, *now, tail)
    else:
        texts(page, "".join(now[:4]), "")


def test_what_is_typed_while_a_branch_is_made_goes_on_in_the_branch(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = begun(visit, f"{heddle.url}/trees/{house}", way="fork", slow=(800, 800))
    commands = sent(page)
    caret(page, 9)
    page.keyboard.type("X")
    book(page).press("Control+s")
    page.wait_for_function("() => document.querySelector('loom-buffer').saving.isBusy")
    page.keyboard.type(" Y")
    texts(page, HOUSE[0][:9], f"X Y{HOUSE[0][9:]}", "")
    page.keyboard.type("Z")
    assert nodes_of(page)[1] == f"X YZ{HOUSE[0][9:]}"
    assert commands == [f"edit {HOUSE[0][:9]}X{HOUSE[0][9:]}"]


def test_who_goes_to_another_text_stays_there_while_the_edit_becomes_a_branch(
    heddle: Heddle, visit: Open, house: str
) -> None:
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    heddle.line(house, f'edit {first} "Elsewhere." as:fork')
    other = heddle.get(f"trees/{house}")["workspace"]["position"]  # type: ignore[index]
    start = heddle.get(f"trees/{house}/path?node={first}")["nodes"][-1]["id"]  # type: ignore[index]
    page = begun(visit, f"{heddle.url}/trees/{house}?node={start}", way="fork")
    commands = sent(page)
    caret(page, 9)
    page.keyboard.type("X")
    expect(page.locator(".book-said")).to_contain_text("1 passage changed")
    page.evaluate(f"document.querySelector('loom-tree').page.go('{other}')")
    texts(page, "Elsewhere.", "")
    settled(page)
    assert nodes_of(page) == ["Elsewhere.", ""]
    assert len(commands) == 1
    page.evaluate(f"document.querySelector('loom-tree').page.go('{start}')")
    texts(page, HOUSE[0], "")
    settled(page)
    assert len(commands) == 1


@pytest.mark.parametrize("way", ["version", "fork"])
def test_a_paragraph_is_cut_out_and_comes_back_by_undo(
    heddle: Heddle, visit: Open, way: str
) -> None:
    whole = ("One stays.\n\n", "Two is to be cut.\n\n", "Three stays.")
    tree = heddle.tree("Cut", *whole, mode="buffer")
    page = begun(visit, f"{heddle.url}/trees/{tree}", way=way)
    page.locator("loom-buffer").evaluate(
        "one => { one.editor.view.dispatch({selection: {anchor: 12, head: 31}});"
        " one.editor.focus(); }"
    )
    book(page).press("Delete")
    if way == "version":
        texts(page, whole[0], "", whole[2], "")
        rested(page)
        expect(page.locator(".book-said")).to_be_empty()
        book(page).press("Control+End")
        page.keyboard.type(" And on.")
        page.get_by_role("button", name="Add", exact=True).click()
        texts(page, whole[0], "", whole[2], " And on.", "")
        rested(page)
        assert path_of(heddle, tree) == [whole[0], "", whole[2], " And on."]
        page.reload()
        opened(page)
        texts(page, whole[0], "", whole[2], " And on.", "")
        book(page).press("Control+z")
        texts(page, whole[0], "", whole[2], " And on.")
        book(page).press("Control+z")
        texts(page, *whole, " And on.")
    else:
        texts(page, whole[0], "", "")
        rested(page)
        book(page).press("Control+z")
        texts(page, *whole, "")


def test_a_conflict_in_one_passage_holds_up_nothing_else_and_is_led_to(
    heddle: Heddle, visit: Open, house: str, ada: Cookies
) -> None:
    heddle.provider.script(*[says(f" Candidate {number}.") for number in range(3)])
    page = begun(visit, f"{heddle.url}/trees/{house}", way="version")
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    commands = sent(page)
    caret(page, 4)
    page.keyboard.type("big ")
    with heddle.client(ada) as client:
        line = {"line": f'edit {first} "Hers." as:version'}
        assert client.post(f"/api/trees/{house}/commands", json=line).is_success
    said = page.locator(".book-said")
    expect(said).to_contain_text("saved another version while you were writing.")
    # The key that saves does not ask what cannot be answered, and sends nothing.
    book(page).press("Control+s")
    expect(said).to_contain_text("saved another version while you were writing.")
    assert said.get_by_role("button").all_inner_texts() == ["Save as a branch", "Discard"]
    book(page).press("Control+End")
    page.keyboard.type(" I go on.")
    page.get_by_role("button", name="Add", exact=True).click()
    answer = page.locator("loom-composer [data-answer]")
    expect(answer).to_contain_text("1 edit above is not saved.")
    assert commands == ["respond  I go on."]
    answer.get_by_role("button", name="Go to it").click()
    at = page.locator("loom-buffer").evaluate("one => one.editor.head")
    assert at == len("The big ")
    book(page).press("Control+End")
    page.get_by_role("button", name="Continue", exact=True).last.click()
    expect(page.locator(".card[data-id]")).to_have_count(3)
    assert text_of(page).startswith("The big house")
    said.get_by_role("button", name="Save as a branch").click()
    texts(page, "The ", "big house stood empty.", "")
    settled(page)
    assert len(commands) == 2


@pytest.mark.parametrize("way", ["version", "fork"])
def test_what_is_typed_on_while_nothing_can_be_sent_outlives_a_reload(
    heddle: Heddle, visit: Open, house: str, way: str
) -> None:
    page = begun(visit, f"{heddle.url}/trees/{house}", way=way)
    page.route("**/commands", lambda route: route.abort())
    caret(page, 9)
    page.keyboard.type("X")
    book(page).press("Control+s")
    page.wait_for_function("() => document.querySelector('loom-buffer').saving.isBusy")
    page.keyboard.type(" and more")
    typed = f"{HOUSE[0][:9]}X and more{HOUSE[0][9:]}"
    page.wait_for_function(
        "text => document.querySelector('loom-tree').page.drafts.all().some(([, kept]) =>"
        " kept === text)",
        arg=typed,
    )
    page.reload()
    expect(page.locator("loom-buffer[data-on]")).to_be_attached()
    assert nodes_of(page)[0] == typed
    page.unroute("**/commands")
    expect(page.locator("loom-status")).to_contain_text("live")
    page.wait_for_function("() => !document.querySelector('loom-tree').page.outbox.left().length")
    settled(page)
    if way == "version":
        # It waits above the version that was sent first.
        assert nodes_of(page)[0] == typed
    else:
        # The branch that was sent first is read, and what was typed on is another one.
        nodes: Any = heddle.get(f"trees/{house}/nodes?limit=100")
        assert len("X and more stood empty.") in [row["length"] for row in nodes["results"]]


def test_a_passage_that_was_cut_out_and_not_saved_is_still_cut_out_after_a_reload(
    heddle: Heddle, visit: Open
) -> None:
    whole = ("One stays.\n\n", "Two is to be cut.\n\n", "Three stays.")
    tree = heddle.tree("Cut and kept", *whole, mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    page.locator("loom-buffer").evaluate(
        "one => { one.editor.view.dispatch({selection: {anchor: 12, head: 31}});"
        " one.editor.focus(); }"
    )
    book(page).press("Delete")
    expect(page.locator(".book-said")).to_contain_text("1 passage changed")
    page.reload()
    opened(page)
    has_nodes(page, [whole[0], "", whole[2], ""])
    expect(page.locator(".book-said")).to_contain_text("1 passage changed")
    page.locator(".book-said").get_by_role("button", name="Discard").click()
    has_nodes(page, [*whole, ""])
    page.reload()
    opened(page)
    assert nodes_of(page) == [*whole, ""]
    assert path_of(heddle, tree) == list(whole)
