"""The README's five minutes, step by step: each is done as it says, and comes out so."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live
from tests.house.processes import ROOT
from tests.providers.scripts import HOLD, holds

README = (ROOT / "README.md").read_text()


def test_the_five_minutes_of_the_guide_work_as_written(
    heddle: Heddle, visit: Open, tmp_path: Path
) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    written = re.search(r'`(\{"text": "…", "children": \[ … \]\})`', README)
    assert written, "step 2 names the form of a file"
    file = tmp_path / "mine.json"
    leaf = '{"text": " There.", "children": []}'
    file.write_text(written[1].replace("…", "Here.", 1).replace("[ … ]", f"[{leaf}]"))
    page.locator("loom-import input[type=file]").set_input_files(file)
    page.get_by_role("link", name="Open the tree").click()
    live(page)
    heddle.provider.script(*(holds(f" Words {n}", HOLD, " more") for n in (1, 2, 3)))
    page.get_by_role("button", name="Continue", exact=True).last.click()
    expect(page.locator(".card.coming", has_text="Words")).to_have_count(3)
    page.get_by_role("button", name="Stop all").click()
    expect(page.locator(".card:not(.coming)", has_text="Words")).to_have_count(3)
    page.keyboard.press("Control+k")
    bar = page.get_by_role("combobox", name="Search or command")
    bar.fill("→ help")
    bar.press("Enter")
    expect(page.locator(".command-answer")).to_contain_text("continue")
