"""A buffer while others write in it, or the line is cut: nothing jumps and nothing is lost."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.book import book, caret, nodes_of, opened, path_of, working
from tests.browser.conftest import HOUSE, Cookies, Heddle, Open
from tests.browser.test_two_people import live


def test_another_persons_version_comes_without_moving_the_caret(
    heddle: Heddle, visit: Open, house: str, ada: Cookies
) -> None:
    page = opened(visit(f"/trees/{house}"))
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    book(page).press("Control+End")
    book(page).press_sequentially(" Mine")
    with heddle.client(ada) as client:
        line = {"line": f'edit {first} "The old house stood empty." as:version'}
        assert client.post(f"/api/trees/{house}/commands", json=line).is_success
    expect(page.locator(".book")).to_contain_text("The old house")
    book(page).press_sequentially(" here")
    assert nodes_of(page)[-1] == " Mine here"


def test_an_edit_that_somebody_was_faster_with_is_kept_and_says_so(
    heddle: Heddle, visit: Open, house: str, ada: Cookies
) -> None:
    page = opened(visit(f"/trees/{house}"))
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    caret(page, 9)
    book(page).press_sequentially(" there")
    with heddle.client(ada) as client:
        line = {"line": f'edit {first} "Hers." as:version'}
        assert client.post(f"/api/trees/{house}/commands", json=line).is_success
    expect(page.locator(".book-said")).to_contain_text("saved another version")
    book(page).press("Control+s")
    expect(page.locator(".book-said")).to_contain_text("saved another version")
    expect(page.get_by_role("button", name="As a version; what follows stays")).to_have_count(0)
    assert nodes_of(page)[0] == "The house there stood empty."
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(".book")).to_contain_text("Hers.")


def test_others_see_a_shadow_of_what_is_written_and_may_copy_it(
    heddle: Heddle, visit: Open, house: str, ada: Cookies
) -> None:
    place = heddle.get(f"trees/{house}")["workspace"]["position"]  # type: ignore[index]
    mine = opened(visit(f"/trees/{house}?node={place}"))
    hers = opened(visit(f"/trees/{house}?node={place}", who=ada))
    book(hers).press("Control+End")
    book(hers).press_sequentially(" Her words")
    shadow = mine.get_by_role("complementary", name=re.compile("ada is writing here", re.I))
    expect(shadow).to_contain_text(" Her words")
    expect(shadow.get_by_role("textbox")).to_have_count(0)
    shadow.get_by_role("button", name=re.compile("Copy")).click()
    assert nodes_of(mine)[-1] == " Her words"
    hers.get_by_role("button", name="Add", exact=True).click()
    expect(shadow).to_have_count(0)


def test_typing_while_fifty_updates_arrive_keeps_caret_and_text(
    heddle: Heddle, visit: Open, house: str, ada: Cookies
) -> None:
    page = opened(visit(f"/trees/{house}"))
    at = heddle.get(f"trees/{house}")["workspace"]["position"]  # type: ignore[index]
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    book(page).press("Control+End")
    with heddle.client(ada) as client:
        for number in range(50):
            line = f'respond {at} "other {number}"'
            if number % 5 == 0:
                line = f'edit {first} "The house, {number}." as:version'
            answer = client.post(f"/api/trees/{house}/commands", json={"line": line, "at": at})
            assert answer.is_success, answer.text
            if number % 5 == 0:
                first = answer.json()["refs"][0]
            book(page).press("x")
    expect(page.locator(".book")).to_contain_text("The house, 45.")
    expect(page.locator(".weave h2")).to_contain_text("40 continuations")
    assert nodes_of(page) == ["The house, 45.", *HOUSE[1:], "x" * 50]
    state: Any = page.evaluate(
        """() => { const {view} = document.querySelector("loom-buffer").editor;
        return [view.hasFocus, view.state.selection.main.head === view.state.doc.length]; }"""
    )
    assert state == [True, True]


def test_a_reader_has_the_text_and_no_editor(
    heddle: Heddle, visit: Open, house: str, rhea: Cookies
) -> None:
    page = live(visit(f"/trees/{house}", who=rhea))
    expect(page.locator(".run")).to_have_count(3)
    expect(page.locator(".cm-editor")).to_have_count(0)


def test_words_that_were_begun_offline_become_a_node_later(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    page.context.set_offline(True)
    book(page).press("Control+End")
    book(page).press_sequentially(" In a tunnel")
    page.get_by_role("button", name="Add", exact=True).click()
    book(page).press_sequentially(" and on")
    page.context.set_offline(False)
    working(page, " and on")
    expect(page.locator("loom-status")).to_contain_text("live")
    page.wait_for_function("() => document.querySelector('loom-buffer').editor.ids.at(-1) !== ''")
    assert path_of(heddle, house) == [*HOUSE, " In a tunnel"]
    assert nodes_of(page) == [*HOUSE, " In a tunnel", " and on"]


def test_a_look_at_the_past_leaves_what_is_written_alone(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    book(page).press("Control+End")
    book(page).press_sequentially(" unsent")
    page.get_by_label("More about this tree").press("Enter")
    page.get_by_role("button", name="View earlier states").press("Enter")
    slider = page.get_by_role("slider", name="Point in the tree's history")
    slider.press("Home")
    expect(page.locator(".past-said")).to_contain_text("1 of")
    slider.press("Escape")
    expect(book(page)).to_be_visible()
    working(page, " unsent")
    assert nodes_of(page) == [*HOUSE, " unsent"]


@pytest.mark.parametrize("is_kept", [True, False], ids=["on the server", "in the browser alone"])
def test_an_edit_kept_from_before_somebodys_version_says_so(
    heddle: Heddle, visit: Open, house: str, ada: Cookies, is_kept: bool
) -> None:
    page = opened(visit(f"/trees/{house}"))
    first = heddle.get(f"trees/{house}/path")["nodes"][1]["id"]  # type: ignore[index]
    caret(page, 3)
    if is_kept:
        with page.expect_response(lambda response: "/drafts/" in response.url and response.ok):
            book(page).press_sequentially("!")
    else:
        page.route("**/drafts/**", lambda route: route.abort())
        with page.expect_request("**/drafts/**"):
            book(page).press_sequentially("!")
    page.goto("about:blank")
    page.unroute_all()
    with heddle.client(ada) as client:
        line = {"line": f'edit {first} "Hers." as:version'}
        assert client.post(f"/api/trees/{house}/commands", json=line).is_success
    page.goto(f"{heddle.url}/trees/{house}")
    opened(page)
    expect(page.locator(".book-said")).to_contain_text("Somebody saved another version")
    assert nodes_of(page)[0] == "The! house stood empty."
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(".book")).to_contain_text("Hers.")
    assert nodes_of(page)[0] == "Hers."


def test_a_note_on_a_text_shows_in_the_editor_as_it_comes(
    heddle: Heddle, visit: Open, house: str
) -> None:
    page = opened(visit(f"/trees/{house}"))
    expect(page.locator(".book .marked")).to_have_count(0)
    heddle.line(house, 'annotate here "which gate?" as:question')
    expect(page.locator(".book .marked")).to_have_text(HOUSE[-1])
    heddle.line(house, "undo")
    expect(page.locator(".book .marked")).to_have_count(0)


def test_an_empty_text_of_another_program_can_be_reached_and_written(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    file = tmp_path / "hollow.json"
    end = '{"text": " Three.", "children": []}'
    file.write_text(f'{{"text": "One.", "children": [{{"text": "", "children": [{end}]}}]}}')
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    page.get_by_role("link", name="Open the tree").click()
    opened(page)
    page.keyboard.press("Escape")
    page.locator("#main").press("End")
    empty = page.locator(".book .void")
    expect(book(page)).to_contain_text("∅ Three.")
    empty.click()
    details = page.locator(f".details[data-id='{empty.get_attribute('data-id')}']")
    details.get_by_role("button", name="Edit").click()
    details.get_by_role("textbox").fill(" Two.")
    details.get_by_role("combobox").select_option("version")
    details.get_by_role("button", name="Save").click()
    expect(empty).to_have_count(0)
    expect(book(page)).to_contain_text("One. Two. Three.")


def test_an_empty_text_or_candidate_puts_no_words_into_the_text(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    file = tmp_path / "hollows.json"
    below = '{"text": "", "children": []}, {"text": "Two.", "children": []}'
    file.write_text(f'{{"text": "", "children": [{{"text": "", "children": [{below}]}}]}}')
    page = visit("/")
    page.locator("loom-import input[type=file]").set_input_files(file)
    page.get_by_role("link", name="Open the tree").click()
    opened(page)
    # It opens at its first words; the empty texts are above them.
    tree = page.url.partition("?")[0].rpartition("/")[2]
    page.goto(f"{heddle.url}/trees/{tree}?node={heddle.get(f'trees/{tree}')['root']}")
    opened(page)
    empty = page.locator(".card", has_text="empty")
    expect(empty).not_to_have_count(0)
    while page.locator(".card").count() == 1:
        above = empty.locator("a").get_attribute("href")
        empty.locator("a").click()
        # The address changes before the cards do; a click in between would meet the next ones.
        expect(page.locator(f'.card a[href="{above}"]')).to_have_count(0)
        expect(page.locator(".card")).not_to_have_count(0)
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator(".card.picked")).to_contain_text("empty")
    expect(page.locator(".ghost")).to_have_count(0)
    # A node is there, though without words: the text does not ask for its first ones.
    expect(page.locator(".book .void").last).to_be_visible()
    expect(page.locator(".cm-placeholder")).to_be_hidden()
    page.get_by_role("button", name="Next candidate").click()
    expect(page.locator(".ghost")).to_have_text("Two.")
