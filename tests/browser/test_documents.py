"""Documents in the browser: made, written by two at once, read with what they embed, restored."""

import re
import sqlite3
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open, invited
from tests.browser.test_accessible import violations, violations_in_both_themes
from tests.patience import PATIENCE_S

TEXT = "# Motive\n\nShe wanted the tower."


def _grove(heddle: Heddle) -> str:
    return str(heddle.get("groves")["results"][0]["id"])  # type: ignore[index]


def _made(heddle: Heddle, title: str, text: str = TEXT) -> str:
    response = heddle.post("documents", {"title": title, "text": text})
    return str(response["id"])


def _opened(page: Page) -> Page:
    expect(page.locator("loom-document[data-ready]")).to_be_attached()
    return page


def _text(page: Page) -> str:
    return str(page.evaluate("document.querySelector('loom-document').view.state.doc.toString()"))


def _until_text(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('loom-document').view.state.doc.toString() === text",
        arg=text,
    )


def test_a_document_is_made_in_the_list_and_written(visit: Open, heddle: Heddle) -> None:
    page = visit(f"/groves/{_grove(heddle)}")
    page.get_by_role("navigation").get_by_role("link", name="Documents").click()
    page.get_by_label("Title").fill("Plan of the house")
    page.get_by_role("button", name="New document").click()
    _opened(page)
    page.get_by_role("textbox", name="Plan of the house").click()
    page.keyboard.type("# Rooms\nThe hall is cold.")
    expect(page.locator("[data-words]")).to_have_text("6 words")
    page.reload()
    _opened(page)
    page.get_by_role("button", name="Read").click()
    expect(page.get_by_role("heading", name="Rooms")).to_be_visible()
    expect(page.locator("[data-words]")).to_have_text("6 words")


def test_two_write_at_once_and_see_each_others_carets(
    visit: Open, heddle: Heddle, ada: Cookies
) -> None:
    uid = _made(heddle, "Written by two")
    mine = _opened(visit(f"/documents/{uid}"))
    hers = _opened(visit(f"/documents/{uid}", who=ada))
    hers.get_by_role("textbox").click()
    hers.keyboard.press("Control+End")
    hers.keyboard.type(" Ada knew.")
    _until_text(mine, f"{TEXT} Ada knew.")
    expect(mine.locator(".other-caret-name")).to_have_text("ada")
    expect(mine.locator("[data-here]")).to_have_text("ada")
    mine.get_by_role("textbox").click()
    mine.keyboard.press("Control+Home")
    mine.keyboard.type("Notes → ")
    _until_text(hers, f"Notes → {TEXT} Ada knew.")
    mine.keyboard.press("Control+z")  # one's own typing alone
    _until_text(hers, f"{TEXT} Ada knew.")
    hers.close()
    expect(mine.locator("[data-here] span")).to_have_count(0)


def test_the_letters_have_the_colours_of_who_wrote_them(
    visit: Open, heddle: Heddle, ada: Cookies
) -> None:
    uid = _made(heddle, f"In colours {uuid4().hex[:6]}")
    mine = _opened(visit(f"/documents/{uid}"))
    hers = _opened(visit(f"/documents/{uid}", who=ada))
    colours = mine.get_by_role("button", name="Colours by author")
    expect(colours).to_be_hidden()  # one has written all
    hers.get_by_role("textbox").click()
    hers.keyboard.press("Control+End")
    hers.keyboard.type(" Ada knew.")
    written = mine.locator(".cm-content .by")
    expect(written.last).to_have_text(" Ada knew.")
    shares = mine.get_by_role("list", name="Who wrote how much")
    expect(shares.get_by_role("listitem")).to_have_count(2)
    expect(shares).to_contain_text("ada 24 %")
    assert written.last.get_attribute("data-who") != written.first.get_attribute("data-who")
    hers.close()
    mine.reload()
    _opened(mine)
    expect(written.last).to_have_text(" Ada knew.")  # nobody who is here says so
    expect(shares).to_contain_text("ada 24 %")
    colours.click()
    expect(written).to_have_count(0)
    expect(shares).to_be_hidden()
    mine.reload()
    _opened(mine)
    expect(colours).to_have_attribute("aria-pressed", "false")
    expect(written).to_have_count(0)
    colours.click()
    expect(written.last).to_have_text(" Ada knew.")


def test_another_wording_is_suggested_and_decided_at_its_words(
    visit: Open, heddle: Heddle, ada: Cookies
) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Suggested {name}", "One.")
    uid = _made(heddle, f"Suggested {name}")
    heddle.line(tree, f"link doc:{uid} to tree:{tree}")
    hers = _opened(visit(f"/documents/{uid}", who=ada))
    hers.get_by_role("textbox", name=f"Suggested {name}").click()
    hers.keyboard.press("Control+End")
    for _ in range(len("tower.")):
        hers.keyboard.press("Shift+ArrowLeft")
    hers.get_by_role("button", name="Suggest another wording").click()
    field = hers.get_by_role("textbox", name="Another wording for the selected words")
    expect(field).to_have_value("tower.")
    field.fill("lighthouse.")
    mine = _opened(visit(f"/documents/{uid}"))  # whoever comes and types takes nothing from her
    mine.get_by_role("textbox", name=f"Suggested {name}").click()
    mine.keyboard.press("Control+Home")
    mine.keyboard.type("The ")
    _until_text(hers, f"The {TEXT}")
    for _ in range(len("The ")):
        mine.keyboard.press("Backspace")
    _until_text(hers, TEXT)
    expect(field).to_have_value("lighthouse.")
    hers.get_by_role("button", name="Suggest", exact=True).click()
    expect(hers.locator(".suggested-old")).to_have_text("tower")
    expect(hers.locator(".suggested-new ins")).to_have_text("lighthouse")
    expect(hers.locator("[data-suggestions] article")).to_have_count(1)
    mine.keyboard.press("Control+Home")
    mine.keyboard.type("Plan. ")
    expect(mine.locator(".suggested-old")).to_have_text("tower")
    mine.get_by_role("button", name="Accept what ada suggests").click()
    _until_text(mine, f"Plan. {TEXT.replace('tower', 'lighthouse')}")
    _until_text(hers, f"Plan. {TEXT.replace('tower', 'lighthouse')}")
    expect(mine.locator(".suggested-new")).to_have_count(0)
    expect(mine.locator("[data-suggestions] article")).to_have_count(0)


def test_words_are_commented_on_answered_and_resolved_at_their_place(
    visit: Open, heddle: Heddle, ada: Cookies
) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Commented {name}", "One.")
    uid = _made(heddle, f"Commented {name}")
    heddle.line(tree, f"link doc:{uid} to tree:{tree}")
    mine = _opened(visit(f"/documents/{uid}"))
    hers = _opened(visit(f"/documents/{uid}", who=ada))
    hers.get_by_role("textbox", name=f"Commented {name}").click()
    hers.keyboard.press("Control+End")
    hers.keyboard.press("ArrowLeft")
    for _ in range(len("tower")):
        hers.keyboard.press("Shift+ArrowLeft")
    expect(hers.get_by_role("button", name="Suggest another wording")).to_be_visible()
    hers.keyboard.press("Control+Alt+m")
    field = hers.get_by_role("textbox", name="Comment on the selected words")
    expect(field).to_be_focused()
    hers.keyboard.type("Which tower?")
    # What somebody else types meanwhile takes nothing away from it.
    mine.get_by_role("textbox", name=f"Commented {name}").click()
    mine.keyboard.press("Control+Home")
    mine.keyboard.type("Now. ")
    expect(hers.get_by_role("textbox", name=f"Commented {name}")).to_contain_text("Now. ")
    expect(field).to_have_value("Which tower?")
    hers.keyboard.press("Control+Enter")
    expect(hers.locator(".commented")).to_have_text("tower")
    # Who reads selects words as well, and comments on them at their place.
    hers.get_by_role("button", name="Read", exact=True).click()
    expect(hers.locator("[data-read]")).to_contain_text("Now. ")
    hers.locator("[data-read]").get_by_text("Now. ").first.dblclick(position={"x": 8, "y": 8})
    hers.get_by_role("toolbar").get_by_role("button", name="Comment", exact=True).click()
    expect(field).to_be_focused()
    hers.keyboard.press("Escape")
    # It is seen by who else is here, without a reload, and stays at its words.
    expect(mine.locator(".commented")).to_have_text("tower")
    mine.get_by_role("textbox", name=f"Commented {name}").click()
    mine.keyboard.press("Control+Home")
    mine.keyboard.type("Plan. ")
    expect(hers.get_by_role("textbox", name=f"Commented {name}")).to_contain_text("Plan. ")
    expect(hers.locator(".commented")).to_have_text("tower")
    mine.reload()
    _opened(mine)
    expect(mine.locator(".commented")).to_have_text("tower")
    mine.locator(".commented").click()
    card = mine.locator(".comment-card")
    expect(card).to_contain_text("Which tower?")
    card.get_by_label("Reply to ada").fill("The one at the river.")
    card.get_by_role("button", name="Reply").click()
    expect(card).to_have_count(0)
    thread = hers.locator("[data-comment]")
    expect(thread).to_have_count(1)
    expect(thread).to_contain_text("The one at the river.")
    hers.get_by_role("textbox", name=f"Commented {name}").click()
    thread.get_by_title("Go to these words").click()
    hers.keyboard.press("ArrowLeft")
    hers.keyboard.press("ArrowRight")
    hers.keyboard.press("Control+Alt+m")  # at the caret: its thread
    expect(hers.locator(".comment-card")).to_contain_text("Which tower?")
    hers.locator(".comment-card").get_by_role("button", name="Resolve").click()
    expect(hers.locator(".commented")).to_have_count(0)
    expect(mine.locator(".commented")).to_have_count(0)
    expect(mine.get_by_text("1 resolved")).to_be_visible()


def test_a_reply_below_the_text_stays_until_it_is_sent_and_leaves_its_field_then(
    visit: Open, heddle: Heddle
) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Replied {name}", "One.")
    uid = _made(heddle, f"Replied {name}")
    heddle.line(tree, f"link doc:{uid} to tree:{tree}")
    heddle.line(tree, f'annotate doc:{uid} "Whose tower?"')
    page = _opened(visit(f"/documents/{uid}"))
    thread = page.locator("[data-comments] [data-comment]").filter(has_text="Whose tower?")
    reply = thread.get_by_placeholder("Reply")
    reply.fill("The one of the abbess.")
    page.get_by_role("textbox", name=f"Replied {name}").click()
    heddle.line(tree, f'annotate doc:{uid} "Which year?"')
    expect(page.locator("[data-comments]")).to_contain_text("Which year?")
    expect(reply).to_have_value("The one of the abbess.")
    reply.press("Enter")
    expect(thread).to_contain_text("The one of the abbess.")
    expect(reply).to_have_value("")
    expect(reply).to_be_focused()


def test_what_is_written_offline_is_merged_on_return(
    visit: Open, heddle: Heddle, ada: Cookies
) -> None:
    uid = _made(heddle, "Written offline")
    mine = _opened(visit(f"/documents/{uid}"))
    hers = _opened(visit(f"/documents/{uid}", who=ada))
    mine.context.set_offline(True)
    expect(mine.locator("[data-state]")).to_contain_text("Offline")
    mine.get_by_role("textbox").click()
    mine.keyboard.press("Control+Home")
    mine.keyboard.type("Mine. ")
    hers.get_by_role("textbox").click()
    hers.keyboard.press("Control+End")
    hers.keyboard.type(" Hers.")
    mine.context.set_offline(False)
    for page in (mine, hers):
        _until_text(page, f"Mine. {TEXT} Hers.")
    expect(mine.locator("[data-state]")).to_be_empty()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_says_so_while_what_is_typed_cannot_be_stored(
    visit: Open, heddle: Heddle, size: dict[str, int]
) -> None:
    uid = _made(heddle, f"Not stored {size['width']}")
    page = _opened(visit(f"/documents/{uid}", size=size, bypass_csp=True))
    state = page.locator("[data-state]")
    name = heddle.data / "heddle.sqlite3"
    with closing(sqlite3.connect(name, isolation_level=None, timeout=PATIENCE_S)) as other:
        other.execute("BEGIN IMMEDIATE")  # nobody else can write until it ends
        page.get_by_role("textbox").click()
        page.keyboard.press("Control+End")
        page.keyboard.type(" And more.")
        expect(state).to_contain_text("Not stored yet")
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert violations_in_both_themes(page) == []
        other.execute("ROLLBACK")
    expect(state).to_be_empty()
    page.evaluate("localStorage.clear()")
    page.reload()
    _until_text(_opened(page), f"{TEXT} And more.")


def test_what_is_written_offline_is_kept_for_the_next_visit(visit: Open, heddle: Heddle) -> None:
    uid = _made(heddle, "Kept offline")
    page = _opened(visit(f"/documents/{uid}"))
    page.context.set_offline(True)
    expect(page.locator("[data-state]")).to_contain_text("Offline")
    page.get_by_role("textbox").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("Kept. ")
    _until_text(page, f"Kept. {TEXT}")
    page.evaluate("window.dispatchEvent(new Event('pagehide'))")
    page.context.set_offline(False)
    page.reload()
    _until_text(_opened(page), f"Kept. {TEXT}")


def test_nobody_types_in_the_document_of_somebody_who_signed_out_in_another_tab(
    visit: Open, heddle: Heddle, chrome: Browser
) -> None:
    cookies = invited(heddle, chrome, "dora", "writer")
    invited(heddle, chrome, "dave", "reader")
    uid = _made(heddle, "Left open")
    page = _opened(visit(f"/documents/{uid}", who=cookies))
    other = page.context.new_page()

    def sign_in(name: str) -> None:
        other.goto(f"{heddle.url}/signin")
        other.get_by_label(re.compile("^Name")).fill(name)
        other.get_by_label(re.compile("^Password")).fill(f"{name} walks the tall grass")
        other.get_by_role("button", name="Sign in", exact=True).click()
        other.wait_for_url(re.compile(r":\d+/(groves/.*)?$"))

    def sign_out() -> None:
        other.goto(heddle.url)
        other.get_by_role("button", name="Sign out").click()

    editor = page.locator(".cm-content")
    sign_out()
    state = page.locator("loom-document > .document-facts [data-state]")
    expect(state).to_have_text("You are signed out. What you typed is kept. Sign in")
    expect(state.get_by_role("link")).to_have_attribute(
        "href", f"/signin?next=%2Fdocuments%2F{uid}"
    )
    expect(editor).to_have_attribute("contenteditable", "false")
    sign_in("dora")
    expect(page.locator("loom-document[data-live=live]")).to_be_attached()
    expect(state).to_be_empty()
    editor.press("Control+End")
    page.keyboard.type(" Mine.")
    _until_text(page, f"{TEXT} Mine.")
    sign_out()
    expect(editor).to_have_attribute("contenteditable", "false")
    sign_in("dave")
    expect(page.locator("loom-document[data-may-write]")).to_have_count(0)
    _until_text(_opened(page), f"{TEXT} Mine.")
    assert page.locator("meta[name=reader]").get_attribute("content") == other.locator(
        "meta[name=reader]"
    ).get_attribute("content")


def test_what_two_tabs_write_offline_is_sent_by_the_one_that_stays(
    visit: Open, heddle: Heddle
) -> None:
    uid = _made(heddle, "In two tabs")
    stays = _opened(visit(f"/documents/{uid}"))
    closed = stays.context.new_page()
    closed.goto(stays.url)
    _opened(closed)
    stays.context.set_offline(True)
    for page, words in ((closed, "Closed. "), (stays, "Stays. ")):
        expect(page.locator("[data-state]")).to_contain_text("Offline")
        page.get_by_role("textbox").click()
        page.keyboard.press("Control+Home")
        page.keyboard.type(words)
        page.wait_for_function("() => !document.querySelector('loom-document').room.keeping")
    closed.close()
    stays.context.set_offline(False)
    for words in ("Closed. ", "Stays. "):
        expect(stays.get_by_role("textbox")).to_contain_text(words)
    expect(stays.locator("[data-state]")).to_be_empty()
    stays.evaluate("localStorage.clear()")
    stays.reload()
    for words in ("Closed. ", "Stays. "):
        expect(_opened(stays).get_by_role("textbox")).to_contain_text(words)


def test_an_embed_is_drawn_in_its_place_at_the_current_version(visit: Open, heddle: Heddle) -> None:
    tree = heddle.tree("The tower")
    answer: Any = heddle.line(tree, 'respond root "The **old** wall."')
    node = answer["refs"][0]
    uid = _made(heddle, "With embeds", f"Before\n\n![[tree:{tree} node:{node}]]\n\n![[zz99]] after")
    page = _opened(visit(f"/documents/{uid}"))
    expect(page.locator(".document-editor .embed strong")).to_have_text("old")
    page.get_by_role("button", name="Read").click()
    read = page.locator("[data-read]")
    expect(read.locator(".embed strong")).to_have_text("old")
    expect(read.locator(".embed-chip.gone")).to_contain_text("zz99")
    heddle.post(
        f"trees/{tree}/commands", {"line": f'edit {node} "The <b>new</b> wall." as:version'}
    )
    page.reload()
    _opened(page).get_by_role("button", name="Read").click()
    expect(read.locator(".embed")).to_contain_text("The <b>new</b> wall.")


def test_history_shows_what_changed_and_restores(visit: Open, heddle: Heddle) -> None:
    uid = _made(heddle, "With history")
    heddle.post(f"documents/{uid}/write", {"old": "tower", "new": "house"})
    page = visit(f"/documents/{uid}/history")
    expect(page.locator(".difference del")).to_have_text("tower")
    expect(page.locator(".difference ins")).to_have_text("house")
    page.locator(".revisions a").last.click()
    page.get_by_role("button", name="Restore").click()
    _until_text(_opened(page), TEXT)
    page.get_by_role("link", name="History").click()
    expect(page.locator(".revisions a").first).to_contain_text("as in 1")


def test_markdown_files_come_in_and_go_out(visit: Open, heddle: Heddle) -> None:
    page = visit(f"/groves/{_grove(heddle)}/documents")
    file = {"name": "A walk.md", "mimeType": "text/markdown", "buffer": b"# A walk\n\nFar."}
    page.get_by_label("Markdown files").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1).first).to_have_text("A walk")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download .md").click()
    assert download.value.suggested_filename == "A-walk.md"
    assert download.value.path().read_bytes() == b"# A walk\n\nFar."


def test_a_reader_sees_typing_and_has_no_button_for_it(
    visit: Open, heddle: Heddle, rhea: Cookies
) -> None:
    uid = _made(heddle, "For readers")
    page = _opened(visit(f"/documents/{uid}", who=rhea))
    expect(page.get_by_role("button", name="Rename")).to_have_count(0)
    page.get_by_role("button", name="Text").click()
    heddle.post(f"documents/{uid}/write", {"append": "By hand."})
    _until_text(page, f"{TEXT}\n\nBy hand.")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_pages_fit_on_their_screens(visit: Open, heddle: Heddle, size: dict[str, int]) -> None:
    uid = _made(heddle, f"Fits {size['width']}", f"{TEXT}\n\n{'long' * 60}\n\n![[zz99]]")
    heddle.post(f"documents/{uid}/write", {"append": "And more."})
    for path in (
        f"/documents/{uid}",
        f"/documents/{uid}/history",
        f"/groves/{_grove(heddle)}/documents",
    ):
        page = visit(path, size=size)
        if re.fullmatch(r"/documents/\w+", path):
            _opened(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path


@pytest.mark.parametrize(("theme", "size"), [("light", DESK), ("dark", PHONE)])
def test_the_pages_can_be_used_by_everybody(
    visit: Open, heddle: Heddle, theme: str, size: dict[str, int]
) -> None:
    uid = _made(heddle, f"For all {theme}", f"{TEXT}\n\n![[zz99]]")
    heddle.post(f"documents/{uid}/write", {"old": "tower", "new": "house"})
    for path in (
        f"/documents/{uid}",
        f"/documents/{uid}/history",
        f"/groves/{_grove(heddle)}/documents",
    ):
        page = visit(path, theme=theme, size=size, bypass_csp=True)
        if path.endswith(uid):
            expect(_opened(page).locator(".document-editor .embed")).to_be_visible()
        assert violations(page) == [], path


def _until_length(page: Page, length: int) -> None:
    page.wait_for_function(
        "most => document.querySelector('loom-document').view.state.doc.length === most",
        arg=length,
        polling=500,
    )


def test_a_paste_of_a_megabyte_and_a_half_is_kept_with_what_is_typed_after_it(
    visit: Open, heddle: Heddle
) -> None:
    uid = _made(heddle, "Pasted", "Before.")
    page = _opened(visit(f"/documents/{uid}"))
    page.evaluate(
        "document.querySelector('loom-document').view.dispatch("
        "{changes: {from: 7, insert: 'A line of the paste.\\n'.repeat(75_000)}})"
    )
    page.evaluate(
        "document.querySelector('loom-document').view.dispatch("
        "{changes: {from: 7 + 21 * 75_000, insert: 'After.'}})"
    )
    whole = 7 + 21 * 75_000 + 6
    theirs = _opened(visit(f"/documents/{uid}"))  # is sent what is stored
    _until_length(theirs, whole)
    expect(page.locator("[data-state]")).to_be_empty()
    page.evaluate("localStorage.clear()")
    page.reload()
    _until_length(_opened(page), whole)


def test_a_long_tag_fits_wherever_it_is_shown(visit: Open, heddle: Heddle) -> None:
    document = _made(heddle, "Tagged at length")
    heddle.line(heddle.tree("Tagged"), f"tag doc:{document} #{'kestrel' * 28} #short")
    for size in (DESK, PHONE):
        for path in (f"/documents/{document}", f"/groves/{_grove(heddle)}/tags"):
            page = visit(path, size=size)
            expect(page.locator(".pill.tag").filter(has_text="kestrel").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path
