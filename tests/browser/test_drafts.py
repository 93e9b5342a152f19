"""Nothing typed is lost: not by a reload, a second tab, a cut line, or a form that was closed."""

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live


def field(page: Page) -> Any:
    """Where the next text is typed."""
    return page.get_by_label("Text of the next node")


def kept(heddle: Heddle, tree: str) -> list[str]:
    """The owner's drafts in a tree, as the server has them."""
    home = heddle.get(f"trees/{tree}")["workspace"]["id"]  # type: ignore[index]
    return [result["text"] for result in heddle.get(f"workspaces/{home}/drafts")["results"]]  # type: ignore[attr-defined]


def saves(page: Page) -> Any:
    """Waits for the request that keeps a draft."""
    return page.expect_response(lambda response: "/drafts/" in response.url and response.ok)


def test_what_was_typed_is_on_every_device_and_ends_as_a_node(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Devices", "One.")
    desk = live(visit(f"/trees/{tree}"))
    with saves(desk):
        field(desk).fill("  half a thou\n")
    assert kept(heddle, tree) == ["  half a thou\n"]
    # Another browser altogether: nothing in its store.
    phone = live(visit(f"/trees/{tree}"))
    expect(field(phone)).to_have_value("  half a thou\n")
    phone.get_by_role("button", name="Add", exact=True).click()
    expect(phone.locator("article.node")).to_have_count(2)
    expect(field(phone)).to_have_value("")
    phone.reload()
    expect(field(live(phone))).to_have_value("")
    assert kept(heddle, tree) == []


def test_what_is_typed_before_the_page_is_ready_is_kept_behind_the_draft(
    heddle: Heddle, visit: Open
) -> None:
    """Over a slow line its text is there before its programs."""
    tree = heddle.tree("Slow line", "One.")
    page = live(visit(f"/trees/{tree}"))
    with saves(page):
        field(page).fill("A draft.")
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    page.route("**/*.js", hold)
    with page.expect_request("**/*.js"):
        page.reload(wait_until="commit")
    expect(field(page)).to_have_value("")
    field(page).fill("Typed early.")
    assert late
    page.route("**/*.js", lambda route: route.continue_())
    with saves(page):
        for route in late:
            route.continue_()
    expect(field(live(page))).to_have_value("A draft.\nTyped early.")
    assert kept(heddle, tree) == ["A draft.\nTyped early."]
    page.reload()
    expect(field(live(page))).to_have_value("A draft.\nTyped early.")


def test_typing_without_a_connection_is_kept_and_goes_out_later(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Tunnel", "One.")
    page = live(visit(f"/trees/{tree}"))
    page.context.set_offline(True)
    field(page).fill("typed in a tunnel")
    assert kept(heddle, tree) == []
    with saves(page):
        page.context.set_offline(False)
    assert kept(heddle, tree) == ["typed in a tunnel"]


def test_the_last_key_before_the_page_closes_is_kept(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Closed", "One.")
    page = live(visit(f"/trees/{tree}"))
    field(page).press_sequentially("the very last ke")
    field(page).press("y")
    page.reload()
    expect(field(page)).to_have_value("the very last key")


def test_a_second_tab_follows_and_two_that_type_are_asked(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Two tabs", "One.")
    one = live(visit(f"/trees/{tree}"))
    two = one.context.new_page()
    two.goto(one.url)
    live(two)
    with saves(one):
        field(one).fill("from one")
    expect(field(two)).to_have_value("from one")
    other = live(visit(f"/trees/{tree}"))
    expect(field(other)).to_have_value("from one")
    with saves(other):
        field(other).fill("from elsewhere")
    field(one).fill("from one, and more")
    question = one.locator(".contest")
    expect(question).to_contain_text("“from elsewhere”")
    expect(field(one)).to_have_value("from one, and more")
    assert kept(heddle, tree) == ["from elsewhere"]
    with saves(one):
        question.get_by_role("button", name="Keep this one").click()
    assert kept(heddle, tree) == ["from one, and more"]


def test_a_form_that_was_closed_opens_with_what_was_typed(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Forms that close", "One.")
    page = live(visit(f"/trees/{tree}"))
    for key, name, text in (("e", "Text of", "One, bett"), ("a", "Annotate", "Why on")):
        page.locator("main").press(key)
        form = page.get_by_role("form", name=re.compile(name))
        with saves(page):
            form.get_by_role("textbox").fill(text)
        form.get_by_role("textbox").press("Escape")
        page.reload()
        live(page).locator("main").press(key)
        expect(form.get_by_role("textbox")).to_have_value(text)
        page.keyboard.press("Escape")
    page.locator("main").press("e")
    form = page.get_by_role("form", name=re.compile("Text of"))
    with saves(page):
        form.get_by_role("button", name="Start over").click()
    expect(form.get_by_role("textbox")).to_have_value("One.")
    assert kept(heddle, tree) == ["Why on"]


def test_a_refused_text_comes_back_into_the_field(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Refused", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.route(
        "**/commands",
        lambda route: route.fulfill(
            status=409,
            json={
                "ok": False,
                "code": "REJECTED",
                "message": "Not now.",
                "hint": "",
                "retryable": False,
                "reply": "✗ REJECTED: Not now.",
            },
        ),
    )
    field(page).fill("wanted")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-answer]")).to_contain_text("Not now.")
    expect(field(page)).to_have_value("wanted")


def test_a_long_text_is_edited_in_the_editor_to_the_byte(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Long node", "one\r\n" + "two words " * 1000)
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("e")
    form = page.get_by_role("form", name=re.compile("Text of"))
    editor = form.get_by_role("textbox", name=re.compile("Text of"))
    editor.press("Control+Home")
    with saves(page):
        editor.press_sequentially("zero ")
    editor.press("Escape")
    expect(form).to_have_count(0)
    page.locator("main").press("e")
    expect(editor).to_contain_text("zero one")
    form.get_by_role("combobox").select_option("version")
    editor.press("Control+Enter")
    expect(form).to_have_count(0)
    response: Any = heddle.get(f"trees/{tree}/path")
    assert response["nodes"][1]["text"] == "zero one\r\n" + "two words " * 1000
    assert kept(heddle, tree) == []


REFUSED = {"ok": False, "code": "UNAVAILABLE", "message": "Busy.", "hint": "", "retryable": True}


def slow(page: Page, address: str) -> list[Route]:
    """Holds the next request to an address until the test answers it or lets it go."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(address, hold, times=1)
    return held


def test_texts_that_are_sent_quickly_follow_each_other(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Quick', 'One.')}"))
    held = slow(page, "**/commands")
    add = page.get_by_role("button", name="Add", exact=True)
    field(page).fill("Two.")
    with page.expect_request("**/commands"):
        add.click()
    page.keyboard.type("Three.")
    add.click()
    expect(page.locator("[data-answer]")).to_contain_text("This is sent once the text before it")
    expect(field(page)).to_have_value("Three.")
    held.pop().continue_()
    expect(page.locator("article.node .text")).to_have_text(["One.", "Two.", "Three."])
    expect(field(page)).to_have_value("")


def test_what_is_typed_behind_a_text_goes_with_it_or_comes_back_behind_it(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Typing on", "One.")
    page = live(visit(f"/trees/{tree}"))
    add = page.get_by_role("button", name="Add", exact=True)
    for is_stored, shown, left in (
        (False, ["One."], "Two.\nThree."),
        (True, ["One.", "Two."], "Three."),
    ):
        held = slow(page, "**/commands")
        field(page).fill("Two.")
        with page.expect_request("**/commands"):
            add.click()
        page.keyboard.type("Three.")
        if is_stored:
            held.pop().continue_()
        else:
            held.pop().fulfill(status=503, json=REFUSED)
        expect(field(page)).to_have_value(left)
        expect(page.locator("article.node .text")).to_have_text(shown)
    page.reload()
    expect(field(live(page))).to_have_value("Three.")


def test_a_form_stays_while_somebody_saves_a_new_version_of_its_text(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Forms that stay", "Alpha.", "Second.")
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").first
    node = first.get_attribute("data-id")
    first.locator("[data-act='suggest']").evaluate("button => button.click()")
    text = page.get_by_role("form", name=re.compile("Another wording")).get_by_role("textbox")
    expect(text).to_be_focused()
    text.press("End")
    page.keyboard.type(" A much better word")
    heddle.line(tree, f'edit {node} "Alpha, again." as version')
    expect(first.locator(".text")).to_have_text("Alpha, again.")
    page.keyboard.type("ing, for example: spring")
    expect(text).to_be_focused()
    expect(text).to_have_value("Alpha. A much better wording, for example: spring")
    expect(field(page)).to_have_value("")


def test_an_edit_form_open_in_two_tabs_loses_the_words_of_neither(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Forms in two tabs", "Base.")
    one = live(visit(f"/trees/{tree}"))
    two = one.context.new_page()
    two.goto(one.url)
    live(two)
    texts = [page.get_by_role("form").get_by_role("textbox", name="Text of") for page in (one, two)]
    for page, text in zip((one, two), texts, strict=True):
        page.locator("main").press("e")
        expect(text).to_have_value("Base.")
    with saves(one):
        texts[0].fill("Long words of the first tab.")
    expect(texts[1]).to_have_value("Long words of the first tab.")
    two.wait_for_function("document.querySelector('loom-tree').page.drafts.isQuiet()")
    with saves(two):
        texts[1].fill("Long words of the first tab. And more.")
    expect(texts[0]).to_have_value("Long words of the first tab. And more.")
    assert kept(heddle, tree) == ["Long words of the first tab. And more."]
