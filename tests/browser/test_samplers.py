"""Samplers beside the composer: only what a model takes, presets, JSON, and the branch's own."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import says


def menu(page: Page) -> Locator:
    """The samplers, open, also where they are among the options behind a button."""
    more = page.get_by_role("button", name="More options")
    is_shown = page.locator("#composer-more").evaluate("one => one.matches(':popover-open')")
    if more.is_visible() and not is_shown:
        more.click()
    box = page.locator("loom-samplers details")
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    return box


def fielded(heddle: Heddle) -> str:
    """A model whose documentation names top_p and seed; its name."""
    body = {"name": "Sampled", "model_ref": "openai:demo", "base_url": heddle.provider.url}
    known = {str(result["name"]) for result in heddle.get("participants")["results"]}  # type: ignore
    if "Sampled" not in known:
        heddle.post("participants", body)
    return "Sampled"


def test_samplers_are_sent_kept_by_name_and_pinned_to_the_branch(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    name = fielded(heddle)
    tree = heddle.tree("Samplers", "Once", mode="buffer")
    page = live(visit(f"/trees/{tree}"))
    page.locator("[data-agents] summary").click()
    for box in page.locator("[data-agents] [name=using]").all():
        box.uncheck()
    expect(menu(page).get_by_label("top_p")).to_be_hidden()
    page.locator("loom-samplers summary").click()
    page.locator("[data-agents] summary").click()
    page.locator(f'[data-agents] [name=using][value="{name}"]').check()
    page.locator("[data-agents] summary").click()
    box = menu(page)
    box.get_by_label("top_p").fill("0.9")
    box.get_by_label("seed").fill("7")
    expect(box.get_by_label("top_k")).to_be_hidden()
    box.get_by_label("stop texts").fill("\\n\\n")
    box.get_by_label("stop texts").blur()
    expect(box.get_by_label("As JSON")).to_have_value('{"top_p":0.9,"seed":7,"stop":["\\n\\n"]}')
    box.get_by_role("textbox", name="Name of the preset").fill("Calm")
    box.get_by_label("for everybody").check()
    box.get_by_role("button", name="Save preset").click()
    expect(box.get_by_role("status")).to_have_text("Saved as Calm.")
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    heddle.provider.script(says(" upon a time"))
    before = len(heddle.provider.seen)
    page.get_by_role("button", name="Continue", exact=True).last.click()
    expect(page.locator(".card:not(.coming) .card-text")).to_contain_text("upon a time")
    sent = heddle.provider.seen[before].json
    assert (sent["top_p"], sent["seed"], sent["stop"]) == (0.9, 7, ["\n\n"])
    box = menu(page)
    box.get_by_role("button", name="Pin to this branch").click()
    expect(box.locator("[data-pins]")).to_contain_text("top_p 0.9")
    box.get_by_role("button", name="Clear").click()
    expect(box.get_by_label("As JSON")).to_have_value("")
    other = live(visit(f"/trees/{tree}", who=ada))
    other.locator("[data-agents] summary").click()
    other.locator(f'[data-agents] [name=using][value="{name}"]').check()
    other.locator("[data-agents] summary").click()
    box = menu(other)
    expect(box.locator("[data-pins]")).to_contain_text("seed 7")
    expect(box.get_by_label("Presets")).to_contain_text("Calm (everybody)")
    box.get_by_label("Presets").select_option("Calm (everybody)")
    expect(box.get_by_label("top_p")).to_have_value("0.9")


def test_samplers_behind_the_options_are_in_reach_on_any_screen(
    heddle: Heddle, visit: Open
) -> None:
    name = fielded(heddle)
    tree = heddle.tree("Narrow", "Once", mode="buffer")
    for size in (DESK, PHONE):
        page = live(visit(f"/trees/{tree}", size=size))
        page.locator("[data-agents] summary").click()
        page.locator(f'[data-agents] [name=using][value="{name}"]').check()
        page.locator("[data-agents] summary").click()
        expect(page.get_by_label("Temperature")).to_be_hidden()
        box = menu(page)
        # What is opened in the options does not close them, and nothing of it is cut off.
        expect(page.get_by_label("Temperature")).to_be_visible()
        drawn = box.locator("fieldset").bounding_box()
        assert drawn
        assert drawn["x"] >= 0
        assert drawn["y"] >= 0
        assert drawn["x"] + drawn["width"] <= size["width"]
        box.get_by_label("top_p").fill("0.9")
        box.get_by_label("top_p").blur()
        expect(box.get_by_label("As JSON")).to_have_value('{"top_p":0.9}')
        box.get_by_label("As JSON").click()
        # Escape closes the innermost first.
        page.keyboard.press("Escape")
        expect(box.get_by_label("As JSON")).to_be_hidden()
        expect(page.get_by_label("Temperature")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_label("Temperature")).to_be_hidden()


def test_a_node_is_continued_with_its_own_settings(heddle: Heddle, visit: Open) -> None:
    name = fielded(heddle)
    tree = heddle.tree("Again", "Once")
    heddle.provider.script(says(" upon a time"))
    line = f'continue n:1 tokens:11 settings:"top_p=0.8" using agent:"{name}"'
    answer = heddle.post(f"trees/{tree}/commands", {"line": line, "wait": 30})
    node = answer["refs"][0]  # type: ignore[index]
    page = live(visit(f"/trees/{tree}?node={node}"))
    heddle.provider.script(says(" there was"))
    before = len(heddle.provider.seen)
    page.get_by_role("tab", name="Node").click()
    page.get_by_role("button", name="Continue with the settings of this node").click()
    expect(page.locator(".card:not(.coming) .card-text")).to_contain_text(re.compile("there was"))
    sent = heddle.provider.seen[before].json
    assert (sent["top_p"], sent["max_tokens"]) == (0.8, 11)
