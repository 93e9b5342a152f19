"""Finding words in the whole path of a dialogue, and replacing them where one may write."""

from playwright.sync_api import expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live

LIT = "() => [...(CSS.highlights.get('found-current') ?? [])].map(String)"


def test_words_are_found_in_the_whole_path_and_replaced(heddle: Heddle, visit: Open) -> None:
    texts = [f"Turn {number}." for number in range(70)]
    texts[1], texts[69] = "A *heron* stood, a heron flew.", "The Heron again."
    tree = heddle.tree("Birds", *texts)
    page = live(visit(f"/trees/{tree}"))
    expect(page.locator(".stretch > [data-id]").last).to_contain_text("The Heron again.")
    expect(page.get_by_text("Turn 2.", exact=True)).to_have_count(0)
    page.keyboard.press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    find = panel.get_by_role("searchbox", name="Find in the text")
    expect(find).to_be_focused()
    find.fill("heron")
    expect(panel.locator(".find-said")).to_have_text("3 found")
    find.press("Enter")
    expect(panel.locator(".find-said")).to_have_text("3 of 3")
    assert page.evaluate(LIT) == ["Heron"]
    find.press("Enter")
    expect(panel.locator(".find-said")).to_have_text("1 of 3")
    expect(page.locator("em", has_text="heron")).to_be_in_viewport()
    assert page.evaluate(LIT) == ["heron"]
    panel.get_by_label("Match case").check()
    expect(panel.locator(".find-said")).to_have_text("1 of 2")
    panel.get_by_label("Match case").uncheck()
    expect(panel.locator(".find-said")).to_have_text("1 of 3")
    panel.get_by_role("textbox", name="Replace with").fill("crane")
    panel.get_by_role("button", name="Replace", exact=True).click()
    expect(panel.locator(".find-said")).to_have_text("1 of 2")
    expect(page.locator("em", has_text="crane")).to_be_visible()
    panel.get_by_role("button", name="Replace all").click()
    expect(panel.locator(".find-said")).to_have_text("2 replaced")
    nodes = heddle.get(f"trees/{tree}/path")["nodes"]
    written = [node["text"] for node in nodes]  # type: ignore[attr-defined]
    assert (written[2], written[70]) == ("A *crane* stood, a crane flew.", "The crane again.")
    assert len(written) == 71, "what follows a text that was edited stays"
    find.press("Escape")
    expect(panel).to_have_count(0)


def test_a_reader_finds_and_replaces_nothing(heddle: Heddle, visit: Open, rhea: Cookies) -> None:
    tree = heddle.tree("Read", "A heron stood.")
    page = live(visit(f"/trees/{tree}", who=rhea))
    page.keyboard.press("Control+f")
    panel = page.get_by_role("search", name="Find and replace")
    panel.get_by_role("searchbox").fill("heron")
    expect(panel.locator(".find-said")).to_have_text("1 found")
    expect(panel.get_by_role("button", name="Replace all")).to_have_count(0)


def test_the_same_key_finds_in_a_buffer(heddle: Heddle, visit: Open, house: str) -> None:
    page = live(visit(f"/trees/{house}"))
    expect(page.locator("loom-buffer[data-on]")).to_be_attached()
    page.locator(".title").click()
    page.keyboard.press("Control+f")
    expect(page.locator(".book .find-panel [name=find]")).to_be_focused()
