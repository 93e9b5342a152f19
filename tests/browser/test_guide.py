"""The guide is true: what it names is there to be pressed, and it can be read in both themes."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live
from tests.house.processes import ROOT

GUIDE = (ROOT / "docs" / "guide.md").read_text()
KEYS = {"Esc": "Esc", ".": ".", "?": "?", "Ctrl Z": "CtrlZ", "Ctrl K": "CtrlK"}


def test_every_button_and_key_of_the_guide_is_there(heddle: Heddle, visit: Open) -> None:
    named = set(re.findall(r"\*\*(.+?)\*\*", GUIDE))
    grove = visit("/")
    tree = live(visit(f"/trees/{heddle.tree('Guided', 'One.')}"))
    tree.keyboard.press("?")
    sheet = tree.get_by_role("dialog", name="Keys").inner_text()
    for name in sorted(named):
        if name in KEYS:
            assert KEYS[name] in re.sub(r"\s", "", sheet), name
        else:
            pages = [page.locator("body").text_content() or "" for page in (grove, tree)]
            hidden = tree.locator(".menu-items").all_text_contents()
            assert any(name in text for text in [*pages, *hidden]), name


def test_the_guide_shows_the_pictures_of_the_theme(heddle: Heddle, visit: Open) -> None:
    for theme, other in (("light", "dark"), ("dark", "light")):
        page = visit("/guide", theme=theme)
        expect(page.get_by_role("heading", name="Five minutes to a first tree")).to_be_visible()
        picture = page.locator(f"img.only-{theme}").first
        picture.scroll_into_view_if_needed()
        expect(picture).to_be_visible()
        expect(page.locator(f"img.only-{other}").first).to_be_hidden()
        page.wait_for_function("image => image.naturalWidth > 300", arg=picture.element_handle())
