"""Words that are selected in a text become evidence of a claim at once, and lead back to it."""

import re
from uuid import uuid4

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PHONE, Heddle, Open, invited
from tests.browser.test_accessible import violations_in_both_themes

SELECT = """
([place, words]) => {
  const text = [...document.querySelectorAll(place)].at(-1);
  const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let at = walk.nextNode(); at; at = walk.nextNode()) {
    const start = at.data.indexOf(words);
    if (start < 0) continue;
    getSelection().setBaseAndExtent(at, start, at, start + words.length);
    return true;
  }
  return false;
}
"""
TEXT = "article.node .text"
WORDS = "saw no light at four"


def _opened(heddle: Heddle, visit: Open, **how: object) -> tuple[Page, str, str]:
    """A page at the last of two texts, in a tree with a claim about the first; the tree and the
    statement, which is found again in the whole grove."""
    tree = heddle.tree("The tower", "The lamp burned all night.", "A sailor saw no light at four.")
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    name = f"The lamp burned, {uuid4().hex[:6]}"
    heddle.line(tree, f'claim "{name}" test:"look" cite:{nodes[1]["id"]}')  # type: ignore[index]
    page = visit(f"/trees/{tree}?node={nodes[2]['id']}", **how)  # type: ignore[index]
    expect(page.locator("article.node").last).to_contain_text("A sailor")
    return page, tree, name


def _claim(heddle: Heddle, tree: str) -> dict[str, object]:
    """The claim of the tree, with its evidence."""
    listed = heddle.get(f"claims?tree={tree}")["results"]
    return heddle.get(f"claims/{listed[0]['id']}?tree={tree}")  # type: ignore[index]


def test_selected_words_speak_against_a_claim_in_one_gesture_and_are_undone(
    heddle: Heddle, visit: Open
) -> None:
    """One gesture (docs/model.md §10): the page stays, and Undo takes it back."""
    page, tree, name = _opened(heddle, visit)
    address = page.url
    assert page.evaluate(SELECT, [TEXT, WORDS])
    page.get_by_role("button", name="Speaks against…").click()
    page.locator(".cite-choices").get_by_role("button", name=name).click()
    expect(page.locator(".toast")).to_contain_text("Evidence added: weak")
    assert page.url == address
    cites = _claim(heddle, tree)["evidence"]
    assert [(cite["side"], cite["quote"]["words"]) for cite in cites if cite["quote"]] == [  # type: ignore[attr-defined]
        ("against", WORDS)
    ]
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("Undone: evidence")
    assert [cite["taken_back"] for cite in _claim(heddle, tree)["evidence"]] == [True, False]  # type: ignore[attr-defined]


def test_a_card_shows_the_words_and_lights_them_up_in_their_source(
    heddle: Heddle, visit: Open
) -> None:
    page, tree, _ = _opened(heddle, visit)
    assert page.evaluate(SELECT, [TEXT, WORDS])
    page.get_by_role("button", name="Speaks against…").click()
    page.locator(".cite-choices button").first.click()
    expect(page.locator(".toast")).to_contain_text("Evidence added")
    page.goto(f"{heddle.url}/trees/{tree}/claims/{_claim(heddle, tree)['id']}")
    cites = page.locator(".evidence .cite")
    expect(cites).to_have_count(2)
    expect(cites.first).to_contain_text("Speaks against it")  # before what supports it
    expect(cites.first.locator("mark")).to_have_text(WORDS)
    cites.first.get_by_role("link").click()
    expect(page.locator("article.node").last).to_contain_text("A sailor saw no light at four.")


def test_by_keys_a_new_claim_is_opened_with_the_current_text(heddle: Heddle, visit: Open) -> None:
    page, tree, name = _opened(heddle, visit)
    page.locator("article.node").last.click(position={"x": 5, "y": 5})
    page.keyboard.press("Control+Shift+E")
    expect(page.get_by_role("button", name="Supports…")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".cite-choices button").first).to_be_focused()
    page.keyboard.press("Escape")  # back to the sides
    expect(page.get_by_role("button", name="Supports…")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".cite-choices button").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("button", name="New claim…")).to_be_focused()
    page.keyboard.press("Enter")
    statement = page.get_by_label("What is claimed")
    expect(statement).to_be_focused()
    page.keyboard.type(name)  # which was claimed before
    page.keyboard.press("Enter")
    expect(page.locator(".cite-menu [role=alert]")).to_contain_text("The same was claimed before")
    statement.fill(f"The sailor lied, {name}")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Claim opened")
    expect(page.locator(".words-bar")).to_be_hidden()
    statements = [row["statement"] for row in heddle.get(f"claims?tree={tree}")["results"]]  # type: ignore[attr-defined]
    assert f"The sailor lied, {name}" in statements


def test_what_is_undercut_is_chosen_where_there_are_several(heddle: Heddle, visit: Open) -> None:
    page, tree, _ = _opened(heddle, visit)
    claim = _claim(heddle, tree)["id"]
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    root = nodes[0]["id"]  # type: ignore[index]
    heddle.line(tree, f'respond {root} "The log says that it burned."')
    other = heddle.get(f"trees/{tree}/nodes")["results"][-1]["id"]  # type: ignore[index]
    heddle.line(tree, f"cite {other} for {claim}")
    assert page.evaluate(SELECT, [TEXT, WORDS])
    page.get_by_role("button", name="Undercuts…").click()
    page.locator(".cite-choices button").first.click()
    expect(page.locator(".cite-menu")).to_contain_text("From which of these")
    page.locator(".cite-choices").get_by_role("button", name=str(other)).click()
    expect(page.locator(".toast")).to_contain_text("Evidence added")
    (cut,) = [cite for cite in _claim(heddle, tree)["evidence"] if cite["side"] == "undercuts"]  # type: ignore[attr-defined]
    assert cut["quote"]["words"] == WORDS


def test_words_of_a_document_support_a_claim_of_its_tree(heddle: Heddle, visit: Open) -> None:
    _, tree, name = _opened(heddle, visit)
    title = f"Court {uuid4().hex[:6]}"
    heddle.line(tree, f'write doc:"{title}" new "The keeper said that the lamp burned."')
    (document,) = [
        row
        for row in heddle.get("documents?limit=500")["results"]  # type: ignore[attr-defined]
        if row["title"] == title
    ]
    page = visit(f"/documents/{document['id']}")
    expect(page.locator("loom-document[data-ready]")).to_be_attached()
    page.get_by_role("button", name="Read", exact=True).click()
    page.wait_for_function("() => document.querySelector('loom-document').drawn !== ''")
    assert page.evaluate(SELECT, ["[data-read]", "the lamp burned"])
    page.get_by_role("button", name="Supports…").click()
    page.locator(".cite-choices").get_by_role("button", name=name).click()
    expect(page.locator(".toast")).to_contain_text("Evidence added: moderate")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("Undone: evidence")
    page.get_by_role("button", name="Write", exact=True).click()
    assert page.evaluate(SELECT, [".cm-content", "the lamp burned"])
    page.get_by_role("button", name="Supports…").click()  # one gesture, as where it is read
    page.locator(".cite-choices").get_by_role("button", name=name).click()
    expect(page.locator(".toast")).to_contain_text("Evidence added: moderate")
    assert _claim(heddle, tree)["moderate"] == 1


def test_words_of_a_buffer_are_cited_from_its_editor(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("The tower", "It was dark. ", "The lamp burned all night.", mode="buffer")
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    first, node = nodes[1]["id"], nodes[2]["id"]  # type: ignore[index]
    name = f"It burned, {uuid4().hex[:6]}"
    heddle.line(tree, f'claim "{name}" test:"look" cite:{first}')
    page = visit(f"/trees/{tree}?node={node}")
    expect(page.locator("loom-buffer[data-on] .cm-content")).to_contain_text("The lamp burned")
    assert page.evaluate(SELECT, ["loom-buffer .cm-content", "lamp burned all night"])
    page.get_by_role("button", name="Supports…").click()
    page.locator(".cite-choices").get_by_role("button", name=name).click()
    expect(page.locator(".toast")).to_contain_text("Evidence added: weak")
    quoted = [cite["quote"] for cite in _claim(heddle, tree)["evidence"] if cite["quote"]]  # type: ignore[attr-defined]
    assert [quote["words"] for quote in quoted] == ["lamp burned all night"]


def test_the_menu_and_the_card_fit_a_phone_and_are_accessible(heddle: Heddle, visit: Open) -> None:
    page, tree, _ = _opened(heddle, visit, size=PHONE, bypass_csp=True)
    assert page.evaluate(SELECT, [TEXT, WORDS])
    page.get_by_role("button", name="Undercuts…").click()
    expect(page.locator(".cite-choices button").first).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations_in_both_themes(page) == []
    page.goto(f"{heddle.url}/trees/{tree}/claims/{_claim(heddle, tree)['id']}")
    expect(page.get_by_role("heading", name="What is missing next")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations_in_both_themes(page) == []


def _typed(page: Page, tree: str, claim: object) -> None:
    """Opens the card of the claim and types a piece of evidence."""
    page.goto(f"{page.url.split('/trees/')[0]}/trees/{tree}/claims/{claim}")
    page.get_by_text("Give evidence…").click()
    page.get_by_label("Text or document").fill("a1b2")
    page.get_by_role("textbox", name="Why").first.fill("The keeper noted the oil.")
    page.locator("select[name=side]").select_option("against")


def test_evidence_for_a_claim_that_was_withdrawn_meanwhile_is_shown_to_be_copied(
    heddle: Heddle, visit: Open
) -> None:
    page, tree, _ = _opened(heddle, visit)
    claim = _claim(heddle, tree)["id"]
    _typed(page, tree, claim)
    heddle.line(tree, f'withdraw {claim} "wrong"')
    page.get_by_role("button", name="Give evidence").click()
    kept = page.get_by_role("region", name="What you wrote was not sent")
    expect(kept).to_contain_text("The keeper noted the oil.")
    expect(kept.get_by_role("button", name="Copy")).to_have_count(2)


def test_evidence_of_an_ended_session_is_in_its_form_again_after_signing_in(
    heddle: Heddle, visit: Open, chrome: Browser
) -> None:
    cookies = invited(heddle, chrome, "edda", "writer")
    page, tree, _ = _opened(heddle, visit, who=cookies)
    claim = _claim(heddle, tree)["id"]
    _typed(page, tree, claim)
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Give evidence").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was sent")
    page.get_by_label(re.compile("^Name")).fill("edda")
    page.get_by_label(re.compile("^Password")).fill("edda walks the tall grass")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("was not sent. Send it again.")
    expect(page.get_by_role("textbox", name="Why").first).to_have_value("The keeper noted the oil.")
    expect(page.locator("select[name=side]")).to_have_value("against")


def test_evidence_that_was_given_is_not_in_its_form_again_after_a_step_back(
    heddle: Heddle, visit: Open
) -> None:
    page, tree, _ = _opened(heddle, visit)
    claim = _claim(heddle, tree)["id"]
    _typed(page, tree, claim)
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    page.get_by_label("Text or document").fill(nodes[2]["id"])  # type: ignore[index]
    page.get_by_role("button", name="Give evidence").click()
    expect(page.locator(".cite", has_text="The keeper noted the oil.")).to_have_count(1)
    page.go_back()
    expect(page.locator("form input[name=why]").first).to_have_value("")
    expect(page.locator("form input[name=ref]")).to_have_value("")
