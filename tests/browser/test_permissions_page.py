"""An agent's permissions in the page: presets tick boxes, boxes bring what they need."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Heddle, Open


def ticked(page: Page) -> list[str]:
    """The permissions that are ticked."""
    names: list[str] = page.locator('[name="permission"]:checked').evaluate_all(
        "all => all.map(one => one.value)"
    )
    return names


def test_presets_and_boxes_follow_each_other(heddle: Heddle, visit: Open) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/participants/new")
    page.get_by_text("More settings").click()
    preset = page.get_by_label("Preset")
    expect(preset).to_have_value("subject")
    preset.select_option("analysis")
    assert ticked(page) == ["loom_aware", "doc_read"]
    page.get_by_role("checkbox", name=re.compile("^doc_write")).check()
    expect(preset).to_have_value("")
    page.get_by_role("checkbox", name=re.compile("^loom_write")).check()
    page.get_by_role("checkbox", name=re.compile("^loom_aware")).uncheck()
    assert ticked(page) == ["doc_read", "doc_write"]
    page.get_by_role("checkbox", name=re.compile("^loom_generate")).check()
    assert ticked(page) == ["loom_aware", "loom_generate", "doc_read", "doc_write"]
    page.get_by_label(re.compile("^Name")).fill("Asker")
    page.get_by_label(re.compile("^Model")).fill("asker")
    page.get_by_role("checkbox", name=re.compile("^Test capabilities now")).uncheck()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("listitem").filter(has_text="Asker").get_by_role("link").click()
    expect(page.locator('[name="permission"]:checked')).to_have_count(4)  # its page is there
    assert ticked(page) == ["loom_aware", "loom_generate", "doc_read", "doc_write"]
    preset.select_option("subject")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".trees").first).to_contain_text("continues texts and sees nothing else")
