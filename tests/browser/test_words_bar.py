"""The one bar beside selected words: what each feature offers there, by pointer, keys and touch."""

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_accessible import violations_in_both_themes
from tests.browser.test_evidence import SELECT, TEXT, WORDS

BAR = ".words-bar:not([hidden])"


def _tree(heddle: Heddle, visit: Open, **how: object) -> Page:
    tree = heddle.tree("The tower", "The lamp burned all night.", "A sailor saw no light at four.")
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    name = f"The lamp burned, {uuid4().hex[:6]}"
    heddle.line(tree, f'claim "{name}" test:"look" cite:{nodes[1]["id"]}')  # type: ignore[index]
    page = visit(f"/trees/{tree}?node={nodes[2]['id']}", **how)  # type: ignore[index]
    expect(page.locator("article.node").last).to_contain_text("A sailor")
    return page


def _offered(page: Page) -> list[str]:
    return page.locator(f"{BAR} button:visible").all_inner_texts()


ALL = [
    *("Comment", "Suggest another wording", "Link…"),
    *("Supports…", "Speaks against…", "Undercuts…"),
]


def test_one_bar_offers_what_each_feature_does_with_the_words(heddle: Heddle, visit: Open) -> None:
    page = _tree(heddle, visit)
    assert page.evaluate(SELECT, [TEXT, WORDS])
    expect(page.locator(BAR)).to_have_count(1)
    assert _offered(page) == ALL
    bar = page.get_by_role("toolbar", name="Selected words")
    expect(bar.get_by_role("group", name="Notes and links").get_by_role("button")).to_have_count(3)
    evidence = bar.get_by_role("group", name="Use the selected words as evidence")
    expect(evidence.get_by_role("button")).to_have_count(3)
    assert page.evaluate(SELECT, [TEXT, "no light"])  # too few words for a quote
    expect(evidence).to_be_hidden()
    assert _offered(page) == ALL[:3]
    page.evaluate("getSelection().removeAllRanges()")
    expect(page.locator(".words-bar")).to_be_hidden()


def test_the_bar_is_used_by_keys_and_gives_the_focus_back(heddle: Heddle, visit: Open) -> None:
    page = _tree(heddle, visit)
    assert page.evaluate(SELECT, [TEXT, WORDS])
    page.keyboard.press("Control+Shift+E")
    bar = page.get_by_role("toolbar", name="Selected words")
    expect(bar.get_by_role("button", name="Supports…")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(bar.get_by_role("button", name="Link…")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    undercuts = bar.get_by_role("button", name="Undercuts…")
    expect(undercuts).to_be_focused()
    page.keyboard.press("Enter")
    expect(undercuts).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("dialog", name="Evidence").get_by_role("button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(undercuts).to_be_focused()
    expect(undercuts).to_have_attribute("aria-expanded", "false")
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    expect(bar.get_by_role("button", name="Comment")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Comment on the selected words")).to_be_focused()
    expect(page.locator(".words-bar")).to_be_hidden()


def test_the_bar_has_a_row_for_each_group_on_a_phone(heddle: Heddle, visit: Open) -> None:
    page = _tree(heddle, visit, size=PHONE, bypass_csp=True)
    assert page.evaluate(SELECT, [TEXT, WORDS])
    expect(page.locator(BAR)).to_have_count(1)
    expect(page.locator(BAR)).to_be_in_viewport(ratio=1)
    assert _offered(page) == ALL
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations_in_both_themes(page) == []


def test_words_of_an_editor_have_the_bar_of_a_text(heddle: Heddle, visit: Open) -> None:
    """In a document, and in a document beside its tree, where both pages add to the one bar."""
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Barred {name}", "One.")
    heddle.line(tree, f'write doc:"Plan {name}" new "The keeper said that the lamp burned."')
    (document,) = [
        row
        for row in heddle.get("documents?limit=500")["results"]  # type: ignore[attr-defined]
        if row["title"] == f"Plan {name}"
    ]
    offered = [button for button in ALL if button != "Link…"]
    page = visit(f"/documents/{document['id']}")
    expect(page.locator("loom-document[data-ready]")).to_be_attached()
    assert page.evaluate(SELECT, [".cm-content", "that the lamp burned"])
    expect(page.locator(BAR)).to_have_count(1)
    assert _offered(page) == offered
    page.get_by_role("button", name="Suggest another wording").click()
    field = page.get_by_role("textbox", name="Another wording for the selected words")
    expect(field).to_have_value("that the lamp burned")
    expect(page.locator(".words-bar")).to_be_hidden()
    page = visit(f"/trees/{tree}")
    page.get_by_role("link", name="Documents", exact=True).click()
    page.locator("loom-documents").get_by_role("link", name=f"Plan {name}").click()
    expect(page.locator("loom-document")).to_have_attribute("data-ready", "")
    assert page.evaluate(SELECT, [".cm-content", "that the lamp burned"])
    expect(page.locator(BAR)).to_have_count(1)
    assert _offered(page) == offered
    page.get_by_role("button", name="Supports…").click()
    # There is no claim yet: what is typed at once is its statement, to the first word.
    expect(page.get_by_label("What is claimed")).to_be_focused()
    page.keyboard.type(f"The lamp burned, {name}")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Claim opened")
