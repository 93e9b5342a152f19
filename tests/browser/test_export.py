"""A tree taken out: the export page, and the page to walk through without a server."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open

EVIL = (
    '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script><svg onload="pwned=3">'
    " ]]> [x](javascript:alert(1)) ```"
)


def grown(heddle: Heddle) -> tuple[str, str]:
    """A dialogue with a fork of three, and the id of the text above it."""
    tree = heddle.tree("Taken out", "One.", mode="dialogue")
    at = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    for text in ("Left.", "Right.", EVIL):
        heddle.line(tree, f"respond {at}\n{text}\n←")
    heddle.line(tree, f"switch to {at}")
    return tree, at


def test_a_file_is_chosen_and_its_losses_are_listed(heddle: Heddle, visit: Open) -> None:
    tree, at = grown(heddle)
    for size in (DESK, PHONE):
        page = visit(f"/trees/{tree}/export?node={at}", size=size)
        expect(page.get_by_role("link", name="Download Web page")).to_be_visible()
        page.get_by_role("radio", name=re.compile("^SillyTavern")).check()
        expect(page.get_by_role("link", name="Download SillyTavern")).to_be_visible()
        page.get_by_role("radio", name=re.compile("^Web page")).check()
        expect(page.get_by_text("3 texts on other branches")).to_be_visible()
        page.get_by_role("radio", name="All branches").check()
        expect(page.get_by_text("texts on other branches")).to_have_count(0)
        with page.expect_download() as taken:
            page.get_by_role("link", name="Download Web page").click()
        assert taken.value.suggested_filename == "Taken out.html"


@pytest.fixture
def walked(heddle: Heddle, visit: Open, chrome: Browser, tmp_path: Path) -> Page:
    """The exported page, opened as a file by a browser that is offline."""
    tree, _ = grown(heddle)
    page = visit(f"/trees/{tree}/export")
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download Web page").click()
    file = tmp_path / "tree.html"
    taken.value.save_as(file)
    context = chrome.new_context(viewport={"width": 390, "height": 240}, offline=True)
    own = context.new_page()
    own.goto(file.as_uri())
    return own


def test_the_page_is_walked_offline_by_hand_and_by_keys(walked: Page) -> None:
    try:
        asked: list[str] = []
        walked.on("request", lambda request: asked.append(request.url))
        # It opens at its beginning, whichever text is the current one.
        assert walked.evaluate("[scrollY, location.hash]") == [0, ""]
        shown = walked.locator("article:visible .text")
        expect(shown).to_have_text(["One.", "Left."])
        walked.get_by_role("button", name="Next alternative").click()
        expect(shown).to_have_text(["One.", "Right."])
        walked.keyboard.press("ArrowRight")
        expect(shown).to_have_text(["One.", EVIL])
        expect(walked).to_have_title("Taken out")
        walked.keyboard.press("ArrowRight")
        expect(shown).to_have_text(["One.", "Left."])
        walked.keyboard.press("ArrowLeft")
        expect(shown).to_have_text(["One.", EVIL])
        walked.reload()
        expect(shown).to_have_text(["One.", EVIL])
        assert [url for url in asked if not url.startswith("file:")] == []
        assert walked.evaluate("window.pwned") is None
        wide = walked.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide
    finally:
        walked.context.close()
