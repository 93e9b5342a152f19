"""Moments of an afternoon at which a writer stopped, each as it was seen in a browser."""

import re
from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.book import book, caret, opened, text_of
from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, fails, holds, says


def grove_of(heddle: Heddle) -> str:
    """The id of the owner's grove."""
    return str(heddle.get("groves")["results"][0]["id"])  # type: ignore[index]


def test_a_word_that_was_replaced_is_one_persons_as_a_whole(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Whole words", "Marie came home.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    heddle.provider.script(says(" Then Marie knocked, and went in."))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(page.locator(".card:not(.coming)")).to_have_count(1)
    book(page).press("Tab")
    expect(page.locator(".card")).to_have_count(0)
    book(page).press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    panel.get_by_label("Find in the text").fill("Marie")
    panel.get_by_label("Replace with").fill("Morag")
    panel.get_by_role("button", name="Replace all").click()
    page.keyboard.press("Escape")
    book(page).press("Control+s")
    page.get_by_role("button", name="As a version; what follows stays").click()
    expect(page.locator(".working")).to_have_count(0)
    page.reload()
    opened(page)
    pieces = page.locator(".book .by")
    expect(pieces.filter(has_text=re.compile(r"^Morag$"))).to_have_count(1)
    expect(pieces.filter(has_text=re.compile(r"^ Then $"))).to_have_count(1)


def test_a_saved_model_is_a_row_of_the_list_that_says_what_it_can_do(
    heddle: Heddle, visit: Open
) -> None:
    name = f"Wren {uuid4().hex[:6]}"
    page = visit(f"/groves/{grove_of(heddle)}/participants/new")
    page.locator("[data-kind]").select_option("custom")
    page.locator("[data-address]").fill(heddle.provider.url)
    page.get_by_label("Model", exact=True).fill("scripted:wren")
    page.get_by_label(re.compile("^Name")).fill(name)
    kept, heddle.provider.default = heddle.provider.default, says("and ", "so on")
    page.get_by_role("button", name="Save").click()
    row = page.locator("li[id^=model-]").filter(has_text=name)
    expect(row.get_by_role("status")).to_contain_text("It works: answers messages")
    heddle.provider.default = kept
    expect(row.get_by_role("status")).to_contain_text("continues texts")
    expect(row).to_be_in_viewport()
    row.get_by_role("link", name="Change").click()
    expect(page.locator("#probe")).not_to_contain_text(re.compile(r"\d{4}-\d\d-\d\dT"))
    page.go_back()
    row.get_by_role("button", name="Try it").click()
    live(page)
    expect(page.locator("[data-agents] summary")).to_have_text(f"Ask {name}")
    expect(page.get_by_label("Text of the next node")).to_be_focused()
    expect(page).not_to_have_url(re.compile("ask="))
    (model,) = (who for who in heddle.get("participants")["results"] if who["name"] == name)  # type: ignore[attr-defined]
    heddle.archive(model)


def test_every_format_is_in_reach_beside_what_it_leaves_out(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Losses", "One.", "Two.")
    page = visit(f"/trees/{tree}/export")
    export = page.locator("#export-file")
    expect(export).to_contain_text("has no place for these")
    height = export.evaluate("one => one.getBoundingClientRect().height")
    assert height < 180, "what is left out hides the formats"
    for name in ("Heddle JSON", "Parquet"):
        expect(page.get_by_role("radio", name=re.compile(f"^{name}"))).to_be_in_viewport()


def test_an_empty_document_has_the_focus_and_says_what_to_do(heddle: Heddle, visit: Open) -> None:
    uid = heddle.post("documents", {"title": f"Empty {uuid4().hex[:6]}"})["id"]
    page = visit(f"/documents/{uid}")
    editor = page.locator(".document-editor .cm-content")
    expect(editor).to_be_focused()
    expect(page.locator(".cm-placeholder")).to_contain_text("Write here.")
    page.keyboard.type("At once.")
    expect(editor).to_contain_text("At once.")
    expect(page.locator(".cm-placeholder")).to_have_count(0)


def test_two_presses_ask_the_models_once_and_add_one_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Pressed twice", "One.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    go = page.get_by_role("button", name="Continue", exact=True).last
    coming, ended = page.locator(".card.coming"), page.locator(".card[data-id]")
    heddle.provider.script(*(holds(word, HOLD, ".") for word in ("Mill", "Rain", "Bread")))
    seen = len(heddle.provider.seen)
    go.dblclick()
    expect(coming).to_contain_text("Mill")
    heddle.provider.release()
    expect(ended).to_have_count(1)
    page.get_by_role("button", name=re.compile("^More like these")).dblclick()
    expect(coming).to_contain_text("Rain")
    heddle.provider.release()
    expect(ended).to_have_count(2)
    page.get_by_role("textbox", name="Text of the next node").fill("Two.")
    go.dblclick()
    expect(page.locator("article.node .text").last).to_have_text("Two.")
    expect(coming).to_contain_text("Bread")
    heddle.provider.release()
    expect(ended).to_have_count(1)
    assert len(heddle.provider.seen) == seen + 3


def test_what_failed_says_once_that_it_can_be_tried_again(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Fails once", "One.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(*[fails(500, "boom")] * 4)
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    page.get_by_role("button", name="Continue", exact=True).last.click()
    card = page.locator(".card.failed")
    expect(card).to_contain_text("The provider failed")
    expect(card.get_by_text("Try again")).to_have_count(1)


def test_what_is_sent_is_one_bar_whose_parts_light_the_text_and_are_left_out_once(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("One bar", "Who is Marie?", "A miller.")
    with heddle.client() as client:
        assert client.patch(f"/api/trees/{tree}", json={"memory": "A novel."}).is_success
    page = live(visit(f"/trees/{tree}"))
    shown = page.locator("loom-context")
    expect(shown.locator(".sent-bar .sent-piece")).to_have_count(2)
    lit = "() => [...(CSS.highlights.get('sent') ?? [])].map(one => String(one)).join('|')"
    shown.locator(".sent-piece[data-part=path]").hover()
    page.wait_for_function(f"() => ({lit})().includes('Who is Marie?')")
    page.wait_for_function(f"() => ({lit})().includes('A miller.')")
    page.locator("main").hover()
    page.wait_for_function(f"() => ({lit})() === ''")
    shown.get_by_role("button", name="Leave out this time: Memory").click()
    again = shown.get_by_role("button", name="Leave out this time: Memory")
    expect(again).to_have_attribute("aria-pressed", "true")
    expect(again).to_be_focused()
    expect(shown.locator(".left-out")).to_contain_text("left out this time")
    expect(page.locator("[data-cost]")).to_contain_text("without memory, this time")
    seen = len(heddle.provider.seen)
    for number, is_there in ((1, False), (2, True)):
        heddle.provider.script(says(f"Answer {number}."))
        page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
        page.get_by_role("button", name="Continue", exact=True).last.click()
        expect(page.locator(".card:not(.coming)")).to_have_count(number)
        sent = heddle.provider.seen[seen + number - 1].body.decode()
        assert ("A novel." in sent) is is_there
        expect(again).to_have_attribute("aria-pressed", "false")


def test_a_document_of_a_tree_is_made_in_one_click_and_written_beside_the_text(
    heddle: Heddle, visit: Open
) -> None:
    name = f"Notes {uuid4().hex[:6]}"
    tree = heddle.tree(name, "The heron stood in the reeds.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("link", name="Documents", exact=True).click()
    pane = page.get_by_role("region", name="Documents of this tree")
    new = pane.get_by_role("button", name="New document")
    expect(new).to_be_focused()
    new.press("Enter")
    editor = pane.locator(".document-editor .cm-content")
    expect(editor).to_be_focused()
    expect(pane.get_by_label("Title")).to_have_value(f"Notes on {name}")
    page.keyboard.type("See ![[heron")
    offers = pane.get_by_role("listbox", name="Texts to embed")
    expect(offers.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    expect(editor).to_contain_text(f"See ![[{node}]]")
    expect(pane.locator(".embed")).to_contain_text("The heron stood in the reeds.")
    # The text of the tree is still there, and is written beside it.
    expect(page.locator("article.node").last).to_be_visible()
    pane.get_by_label("Title").fill(f"Reeds {name}")
    pane.get_by_label("Title").press("Enter")
    pane.get_by_role("button", name="← Documents").click()
    expect(pane.get_by_role("link", name=f"Reeds {name}")).to_be_visible()
    pane.get_by_role("link", name=f"Reeds {name}").click()
    pane.get_by_role("button", name="Unlink").click()
    pane.get_by_role("button", name="Link", exact=True).click()
    expect(pane.get_by_role("button", name="Unlink")).to_be_visible()
    pane.get_by_role("button", name="Close").click()
    expect(pane).to_be_hidden()
    expect(page.get_by_role("link", name="Documents", exact=True)).to_be_focused()


def test_a_new_document_a_note_a_model_that_is_missing_and_an_agent_are_one_click_away(
    heddle: Heddle, visit: Open
) -> None:
    name = f"Erato{uuid4().hex[:5]}"
    agent = heddle.post(
        "participants",
        {
            "name": name,
            "model_ref": "scripted:erato",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write"],
            "context_limit": 50_000,
        },
    )
    page = live(visit(f"/trees/{heddle.tree(f'Clicks {uuid4().hex[:6]}', 'Begin.')}"))
    page.get_by_role("button", name="New document for this tree").click()
    editor = page.locator("loom-documents .document-editor .cm-content")
    expect(editor).to_be_focused()
    page.keyboard.type("Notes.")
    expect(editor).to_contain_text("Notes.")
    page.locator("article.node").get_by_role("button", name="Annotate").first.click()
    page.keyboard.type("Is this so?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".note")).to_contain_text("Is this so?")
    # In the picker, which stays with whoever was picked last, also in the next tree.
    page.locator("[data-agents] summary").click()
    expect(page.get_by_role("link", name="Add a model…")).to_be_in_viewport()
    page.get_by_role("radio", name=name).check()
    page.keyboard.press("Escape")
    page.goto(f"{heddle.url}/trees/{heddle.tree(f'Clicks {uuid4().hex[:6]}', 'Go on.')}")
    live(page)
    heddle.provider.script(says("It goes on."))
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("article.node").last).to_contain_text("It goes on.")
    heddle.archive(agent)


def test_on_a_phone_the_documents_of_a_tree_open_among_the_details(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree(f"Phone {uuid4().hex[:6]}", "One.")
    page = live(visit(f"/trees/{tree}", size=PHONE))
    page.get_by_label("More about this tree").click()
    page.get_by_role("link", name="Documents of this tree").click()
    new = page.get_by_role("button", name="New document")
    expect(new).to_be_in_viewport()
    new.click()
    expect(page.locator("loom-documents .cm-content")).to_be_focused()


def test_who_is_named_hears_of_it_and_replies_from_the_inbox(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree(f"Inbox {uuid4().hex[:6]}", "One.")
    node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    hers = live(visit(f"/trees/{tree}", who=ada))
    word = uuid4().hex[:6]
    heddle.line(tree, f'annotate {node} "@ada, is this {word}?"')
    expect(hers.locator("loom-toast")).to_contain_text(f"is this {word}?")
    expect(hers.get_by_role("link", name=re.compile("^Inbox, [0-9]+ new"))).to_be_visible()
    page = visit("/mentions", who=ada)
    entry = page.locator("li[id^=mention-]").filter(has_text=word)
    entry.get_by_label("Your reply to owner").fill(f"Yes, {word} it is.")
    entry.get_by_role("button", name="Reply").click()
    expect(page.get_by_text("Your reply is in the tree.")).to_be_visible()
    again = page.locator("li[id^=mention-]").filter(has_text=word)
    expect(again.get_by_text("new", exact=True)).to_have_count(0)
    mine = live(visit(f"/trees/{tree}"))
    expect(mine.locator(".note")).to_contain_text(f"Yes, {word} it is.")


def test_an_agent_that_is_named_in_a_note_is_asked_by_one_press(
    heddle: Heddle, visit: Open
) -> None:
    name = f"Clio{uuid4().hex[:5]}"
    agent = heddle.post(
        "participants",
        {
            "name": name,
            "model_ref": "scripted:clio",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write"],
            "context_limit": 50_000,
        },
    )
    tree = heddle.tree("Named agent", "One.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("article.node").last.click()
    page.keyboard.press("a")
    page.keyboard.type(f"@{name}, is this right?")
    page.keyboard.press("Control+Enter")
    toast = page.locator("loom-toast")
    expect(toast).to_contain_text("input tokens a round")
    heddle.provider.script(says("It is."))
    toast.get_by_role("button", name=f"Ask {name}").click()
    expect(page.locator("article.note, aside.note").filter(has_text="It is.")).to_be_visible()
    heddle.archive(agent)


def test_what_an_agent_was_asked_in_a_buffer_is_set_off_in_its_editor(
    heddle: Heddle, visit: Open
) -> None:
    name = f"Thalia{uuid4().hex[:5]}"
    agent = heddle.post(
        "participants",
        {
            "name": name,
            "model_ref": "scripted:thalia",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write"],
            "context_limit": 50_000,
        },
    )
    tree = heddle.tree("Asked in a buffer", "Marie slept.", mode="buffer")
    node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    heddle.provider.script(says(" Then she woke."))
    body = {
        "participant": agent["id"],
        "node": node,
        "input": "In one sentence.",
        "as": "continuation",
    }
    response = heddle.post(f"trees/{tree}/turns", body)
    page = opened(visit(f"/trees/{tree}?node={response['answers_below']}"))
    expect(page.locator(".book .ask")).to_have_text("In one sentence.")
    expect(page.locator(".book .ask")).to_have_css("font-style", "italic")
    heddle.archive(agent)
