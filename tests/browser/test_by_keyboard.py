"""The first day without a mouse: every step by keys, and what has the focus can be seen."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.book import book, has_nodes, opened, working
from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import says, stalls, tokens

SEEN = """() => {
  const style = getComputedStyle(document.activeElement);
  const around = document.activeElement.closest('article, label') ?? document.body;
  const looks = [style, getComputedStyle(around)];
  return looks.some((one) => one.outlineStyle !== 'none' || one.boxShadow !== 'none');
}"""


def tab_to(page: Page, name: str, *, most: int = 60) -> None:
    """Presses Tab until the control of that name has the focus, which must be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        here: str = page.evaluate(
            "() => document.activeElement.ariaLabel || document.activeElement.textContent.trim()"
            " || document.activeElement.labels?.[0]?.textContent.trim() || ''"
        )
        if re.match(name, here):
            assert page.evaluate(SEEN), f"{name} has the focus, and nobody sees it"
            return
    raise AssertionError(f"Tab does not lead to {name}")


def test_the_first_day_by_keys_alone(heddle: Heddle, visit: Open) -> None:
    page = visit("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the text")).to_be_focused()
    tab_to(page, "New tree")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/trees/"))
    live(page)
    field, path = page.get_by_label("Text of the next node"), page.locator("main")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(path).to_be_focused()
    page.keyboard.press("r")
    expect(field).to_be_focused()
    page.keyboard.type("The loom stood still.")
    tab_to(page, "Add")
    page.keyboard.press("Enter")
    expect(page.locator(".stretch")).to_contain_text("The loom stood still.")
    heddle.provider.script(says("It moved."), says("It waited."), says("It broke."))
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    expect(page.locator(".card:not(.coming)")).to_have_count(3)
    chosen = page.locator(".card[data-key='2'] .card-text").inner_text()
    page.keyboard.press("2")
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator("article.node").last).to_contain_text(chosen)
    expect(path).to_be_focused()
    page.keyboard.press("Control+f")
    expect(page.get_by_label("Find in the text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(path).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("a")
    page.keyboard.type("Too soon?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".note")).to_contain_text("Too soon?")
    page.keyboard.press("b")
    expect(page.locator("article.node").last.locator("footer")).to_contain_text("★")
    page.keyboard.press("Control+k")
    page.keyboard.type("→ tag here #kept")
    page.keyboard.press("Enter")
    expect(page.locator(".command-answer.done")).to_contain_text("tagged")
    page.keyboard.press("Escape")
    expect(page.locator("article.node").last).to_contain_text("#kept")
    page.keyboard.press("x")
    expect(page.locator(".toast").first).to_contain_text("pruned")
    page.locator("main").focus()
    page.keyboard.press("Control+z")
    expect(page.locator(".toast").last).to_contain_text("undid")


def test_the_outline_is_walked_by_arrows(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Walked", "One.", " Two.", " Three.")
    page = live(visit(f"/trees/{tree}"))
    tab_to(page, "More about this tree")
    page.keyboard.press("Enter")
    expect(page.locator("details.menu[open]")).to_have_count(1)
    page.keyboard.press("Shift+Tab")
    expect(page.locator("details.menu[open]")).to_have_count(0)
    tab_to(page, "Map")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Outline")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tree")).to_be_visible()
    tab_to(page, ".*: ")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("article.node")).to_have_count(2)


def test_a_path_is_printed_as_a_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Printed", "One.", " Two.")
    page = live(visit(f"/trees/{tree}", theme="dark"))
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Printed")).to_be_visible()
    expect(page.locator(".node .text").last).to_be_visible()
    for part in (".pane.left", ".pane.right", "loom-composer", ".tools", ".search"):
        expect(page.locator(part).first).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # Paper says who wrote it, and not "You".
    by = page.locator(".node .by").first
    expect(by).to_have_css("font-size", "0px")
    shown = by.evaluate("by => getComputedStyle(by, '::before').content")
    assert shown == '"owner"'


def test_what_models_write_is_read_out_once_it_is_whole(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Spoken', 'One.')}"))
    heddle.provider.script(tokens(12, rate=10))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    page.get_by_role("button", name="Continue").last.click()
    spoken = page.locator("[data-spoken]")
    expect(spoken).to_contain_text("1 continuation from")
    expect(spoken).to_contain_text("Candidate 1 is complete. word1 word2")


def test_a_screen_reader_announces_what_stopped_and_headings_without_their_buttons(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Heard", "One.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(stalls("Half a sen"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    expect(page.locator("[data-agents] summary")).to_contain_text(re.compile("^Ask "))
    page.get_by_role("button", name="Continue").last.click()
    expect(page.locator(".card.coming [data-text]")).to_have_text("Half a sen")
    page.locator("main").press("Escape")
    spoken = page.locator("[data-spoken]")
    sentence = "Candidate 1 has stopped; its text so far is kept. Half a sen"
    expect(spoken).to_contain_text(sentence)
    expect(spoken).not_to_contain_text("complete")
    weave = page.get_by_role("region", name="Continuations")
    expect(weave.get_by_role("button", name="More like these")).to_be_visible()
    heading = weave.get_by_role("heading", name="1 continuation", exact=True)
    expect(heading).to_be_visible()


def reach(page: Page, name: str, *, back: bool = False) -> None:
    """Tabs to the control of that name, wherever it is; a text field shows its caret alone."""
    for _ in range(90):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        here: str = page.evaluate(
            "() => document.activeElement.ariaLabel || document.activeElement.innerText?.trim()"
            " || document.activeElement.labels?.[0]?.textContent.trim() || ''"
        )
        if re.match(name, here):
            return
    raise AssertionError(f"Tab does not lead to {name}")


def test_a_story_is_written_asked_for_taken_annotated_and_undone_by_keys_alone(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("An evening by keys", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    reach(page, "The text, and what you write next")
    page.keyboard.type("The loom stood still.")
    heddle.provider.script(says(" It moved."), says(" It waited."), says(" It broke."))
    page.keyboard.press("Control+Enter")
    expect(page.locator(".card:not(.coming)")).to_have_count(3)
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator(".card.picked")).to_have_attribute("data-key", "2")
    taken = page.locator(".card.picked .card-text").inner_text().strip()
    page.keyboard.press("Tab")
    has_nodes(page, ["The loom stood still.", f" {taken}", ""])
    # Tab takes what was offered, and then leaves the text.
    page.keyboard.press("Tab")
    expect(book(page)).not_to_be_focused()
    expect(page.locator(":focus")).to_have_count(1)
    page.keyboard.press("Shift+Tab")
    expect(book(page)).to_be_focused()
    page.keyboard.type(" And then?")
    working(page, " And then?")
    page.keyboard.press("Control+z")
    working(page, "")
    has_nodes(page, ["The loom stood still.", f" {taken}", ""])
    page.keyboard.press("Control+z")
    has_nodes(page, ["The loom stood still.", ""])
    page.keyboard.press("Control+y")
    has_nodes(page, ["The loom stood still.", f" {taken}", ""])
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    form = page.get_by_role("form", name="Annotate")
    expect(form).to_be_visible()
    page.keyboard.type("Too soon?")
    page.keyboard.press("Control+Enter")
    expect(form).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(page.locator("loom-toast .toast").last).to_contain_text("Undone: note")


def test_an_agent_is_picked_and_asked_by_keys_alone(heddle: Heddle, visit: Open) -> None:
    name = f"Urania{uuid4().hex[:5]}"
    agent = heddle.post(
        "participants",
        {
            "name": name,
            "model_ref": "scripted:urania",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write"],
            "context_limit": 50_000,
        },
    )
    tree = heddle.tree("Asked by keys", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    reach(page, "Ask")
    while page.evaluate("document.activeElement.localName") != "summary":
        reach(page, "Ask")  # first comes the button that asks at once
    page.keyboard.press("Enter")
    actor = page.get_by_role("radio", name=name)
    expect(actor).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name === 'actor'"):
            break
    for _ in range(20):
        if actor.is_checked():
            break
        page.keyboard.press("ArrowDown")
    expect(actor).to_be_checked()
    page.keyboard.press("Escape")
    expect(actor).to_be_hidden()
    reach(page, "Text of the next node", back=True)
    page.keyboard.type("How?")
    heddle.provider.script(says("At dawn."))
    page.keyboard.press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("At dawn.")
    heddle.archive(agent)


def test_sentences_are_woven_by_keys_alone(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Woven by keys {uuid4().hex[:6]}", "Begin.")
    start = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    for text in ("One lamp burned. The house was still.", "It was dark. Nobody came."):
        heddle.line(tree, f"respond {start}\n{text}\n←")
        heddle.line(tree, f"switch to {start}")
    page = live(visit(f"/trees/{tree}?node={start}"))
    expect(page.locator(".card")).to_have_count(2)
    page.locator("main").focus()
    page.keyboard.press("c")
    expect(page.locator("dialog[open] article")).to_have_count(2)
    for sentence in ("One lamp burned.", "It was dark."):
        reach(page, sentence)
        page.keyboard.press("Enter")
    reach(page, "Add this text")
    page.keyboard.press("Enter")
    expect(page.locator("article.node").last).to_contain_text("One lamp burned. It was dark.")


def test_a_document_is_begun_and_a_chapter_moved_by_keys_alone(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(
        f"Kept by keys {uuid4().hex[:6]}", "# One\n\nFirst.\n\n", "# Two\n\nSecond.", mode="buffer"
    )
    page = opened(visit(f"/trees/{tree}"))
    reach(page, "Documents")
    page.keyboard.press("Enter")
    pane = page.get_by_role("region", name="Documents of this tree")
    expect(pane.get_by_role("button", name="New document")).to_be_focused()
    page.keyboard.press("Enter")
    expect(pane.locator(".document-editor .cm-content")).to_be_focused()
    page.keyboard.type("Notes by keys.")
    expect(pane.locator(".document-editor")).to_contain_text("Notes by keys.")
    page.keyboard.press("Escape")
    expect(pane).to_be_focused()
    page.keyboard.press("Escape")
    expect(pane).to_be_hidden()
    expect(page.locator("a.bar-documents")).to_be_focused()
    page.goto(f"{heddle.url}/trees/{tree}/manuscript")
    tab_to(page, "Move “One” down")
    page.keyboard.press("Enter")
    expect(page.locator(".chapter-card").first).to_contain_text("Second.")


def test_lore_and_inbox_are_worked_by_keys_alone(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    tree = heddle.tree(f"Lore by keys {uuid4().hex[:6]}", "Marie came.")
    with heddle.client(ada) as client:
        line = "annotate here\n@owner is she tall?\n←"
        assert client.post(f"/api/trees/{tree}/commands", json={"line": line}).is_success
    page = visit(f"/trees/{tree}/lore")
    tab_to(page, "Name")
    page.keyboard.type("Marie")
    tab_to(page, "What is true of it")
    page.keyboard.type("She is tall.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".lore-card")).to_contain_text("She is tall.")
    expect(page.locator(".lore-new textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile(f"/trees/{tree}$"))
    page.goto(f"{heddle.url}/mentions")
    tab_to(page, "Your reply to ada")
    page.keyboard.type("Very.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Your reply is in the tree.")).to_be_visible()
    expect(page.get_by_label("Your reply to ada").first).to_be_focused()


def test_two_texts_are_compared_and_one_is_accepted_by_keys_alone(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree(f"Compared by keys {uuid4().hex[:6]}", "Begin.")
    start = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    for text in ("The gate was new.", "The gate was old."):
        heddle.line(tree, f'respond {start} "{text}"')
    page = live(visit(f"/trees/{tree}?node={start}"))
    expect(page.locator(".card")).to_have_count(2)
    page.locator("main").focus()
    page.keyboard.press("c")
    articles = page.locator("dialog[open] article")
    expect(articles).to_have_count(2)
    chosen = articles.nth(1).get_attribute("data-id")
    reach(page, "Accept")
    reach(page, "Accept")
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page.locator("article.node").last).to_have_attribute("data-id", str(chosen))
    expect(page.locator("main")).to_be_focused()


def test_a_comment_is_answered_and_resolved_by_keys_alone(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree(f"Answered by keys {uuid4().hex[:6]}", "Nobody keeps the tower.")
    with heddle.client(ada) as client:
        node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
        line = f"annotate {node}\nWho did before?\n←"
        assert client.post(f"/api/trees/{tree}/commands", json={"line": line}).is_success
    page = live(visit(f"/trees/{tree}"))
    expect(page.locator(".note")).to_contain_text("Who did before?")
    reach(page, "Reply")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Reply to")).to_be_focused()
    page.keyboard.type("Her father.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".note .reply")).to_contain_text("Her father.")
    expect(page.locator(":focus")).to_have_count(1)
    reach(page, "Resolve", back=True)
    page.keyboard.press("Enter")
    form = page.locator("form.inline-form")
    expect(form).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(form).to_have_count(0)
    expect(page.locator(".note").first).to_contain_text("resolved")


def test_a_claim_is_given_evidence_and_committed_by_keys_alone(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Claimed by keys {uuid4().hex[:6]}", "The lamp burned.", "A sailor saw it.")
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    first, second = nodes[1]["id"], nodes[2]["id"]  # type: ignore[index]
    heddle.line(tree, f'claim "It burned, {uuid4().hex[:6]}" test:"look" cite:{first}')
    claim = heddle.get(f"claims?tree={tree}")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/trees/{tree}/claims/{claim}")
    reach(page, "Give evidence")
    page.keyboard.press("Enter")
    reach(page, "Text or document")
    page.keyboard.type(str(second))
    page.keyboard.press("Enter")
    expect(page.locator(".evidence .cite")).to_have_count(2)
    expect(page.get_by_text("Give evidence…")).to_be_focused()
    reach(page, "Test it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Commit")).to_be_visible()
    reach(page, "Commit")
    page.keyboard.press("Enter")
    expect(page.locator("[data-state]").first).to_have_attribute("data-state", "committed")
