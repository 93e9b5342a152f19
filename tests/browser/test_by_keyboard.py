"""The first day without a mouse: every step by keys, and what has the focus can be seen."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Heddle, Open
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
    tab_to(page, "Title")
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/trees/"))
    live(page)
    tab_to(page, "Text of the next node")
    page.keyboard.type("The loom stood still.")
    tab_to(page, "Add")
    page.keyboard.press("Enter")
    expect(page.locator(".stretch")).to_contain_text("The loom stood still.")
    heddle.provider.script(says("It moved."), says("It waited."), says("It broke."))
    page.locator("main").focus()
    page.keyboard.press("g")
    expect(page.locator(".card:not(.coming)")).to_have_count(3)
    chosen = page.locator(".card[data-key='2'] .card-text").inner_text()
    page.keyboard.press("2")
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator("article.node").last).to_contain_text(chosen)
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
    said = "Candidate 1 has stopped; its text so far is kept. Half a sen"
    expect(spoken).to_contain_text(said)
    expect(spoken).not_to_contain_text("complete")
    weave = page.get_by_role("region", name="Continuations")
    expect(weave.get_by_role("button", name="More like these")).to_be_visible()
    heading = weave.get_by_role("heading", name="1 continuation", exact=True)
    expect(heading).to_be_visible()
