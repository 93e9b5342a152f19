"""Words that are selected in a text become evidence of a claim, whose card leads back to them."""

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_accessible import violations_in_both_themes

SELECT = """
(words) => {
  const text = [...document.querySelectorAll("article.node .text")].at(-1);
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


def _selected(heddle: Heddle, visit: Open, **how: object) -> tuple[Page, str]:
    """A page on which words of a text are selected, in a tree with a claim; the tree."""
    tree = heddle.tree("The tower", "The lamp burned all night.", "A sailor saw no light at four.")
    nodes = heddle.get(f"trees/{tree}/nodes")["results"]
    name = f"The lamp burned, {uuid4().hex[:6]}"  # a claim is found again in the whole grove
    heddle.line(tree, f'claim "{name}" test:"look" cite:{nodes[1]["id"]}')  # type: ignore[index]
    page = visit(f"/trees/{tree}?node={nodes[2]['id']}", **how)  # type: ignore[index]
    expect(page.locator("article.node").last).to_contain_text("A sailor")
    assert page.evaluate(SELECT, "saw no light at four")
    return page, tree


def test_selected_words_speak_against_a_claim_and_are_lit_up_in_their_source(
    heddle: Heddle, visit: Open
) -> None:
    page, _ = _selected(heddle, visit)
    page.get_by_role("link", name="Speaks against…").click()
    expect(page.locator("blockquote.quote")).to_have_text("saw no light at four")
    expect(page.locator(".button.primary[name=side][value=against]")).to_be_visible()
    page.get_by_role("button", name="Speaks against it").click()
    cites = page.locator(".evidence .cite")
    expect(cites).to_have_count(2)
    expect(cites.first).to_contain_text("Speaks against it")  # before what supports it
    expect(cites.first.locator("mark")).to_have_text("saw no light at four")
    cites.first.get_by_role("link").click()
    expect(page.locator("article.node").last).to_contain_text("A sailor saw no light at four.")


def test_the_bar_and_the_card_fit_a_phone_and_are_accessible(heddle: Heddle, visit: Open) -> None:
    page, tree = _selected(heddle, visit, size=PHONE, bypass_csp=True)
    expect(page.get_by_role("link", name="Undercuts…")).to_be_in_viewport()
    claim = heddle.get(f"claims?tree={tree}")["results"][0]["id"]  # type: ignore[index]
    page.goto(f"{heddle.url}/trees/{tree}/claims/{claim}")
    expect(page.get_by_role("heading", name="What is missing next")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations_in_both_themes(page) == []
