"""Keys: one table for the sheet, the settings and what a press does."""

import re
from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_two_people import live


def test_the_sheet_lists_what_there_is_and_nothing_else(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Deeds', 'One.')}"))
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    for words in ("search and commands", "go to the leaf", "link to another node"):
        expect(sheet.get_by_text(words, exact=True).first).to_be_visible()
    for words in ("pin beside the text", "open in a window", "stash the selection"):
        expect(sheet.get_by_text(words, exact=True)).to_have_count(1)


def test_a_key_is_bound_by_pressing_it_and_then_means_that(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Rebound", "One.")
    page = visit("/settings/keys")
    field = page.get_by_label("annotate")
    field.press("e")
    expect(page.get_by_role("alert")).to_contain_text(
        "e is used for several actions: edit, annotate."
    )
    expect(field).to_have_attribute("aria-invalid", "true")
    field.press("n")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_label("write a continuation").press("Backspace")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The keys have been saved.")).to_be_visible()
    page = live(visit(f"/trees/{tree}", size=PHONE))
    page.locator("main").press("a")
    page.locator("main").press("r")
    expect(page.locator("form.inline-form")).to_have_count(0)
    page.locator("main").press("n")
    expect(page.get_by_role("form", name=re.compile("^Annotate"))).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("main").press("?")
    rows = page.get_by_role("dialog", name="Keys").locator("dl").last
    expect(rows).to_contain_text("nannotate")
    expect(rows).not_to_contain_text("write a continuation")
    page = visit("/settings/keys")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_label("annotate")).to_have_value("a")


def test_a_bound_key_is_drawn_as_its_caps_and_saved_as_it_was_pressed(visit: Open) -> None:
    page = visit("/settings/keys")
    expect(page.get_by_label("search and commands")).to_have_value("Ctrl K")
    expect(page.get_by_label("parent").first).to_have_value("←")
    expect(page.get_by_label("redo")).to_have_value("Ctrl Shift Z")
    page.get_by_label("redo").press("Control+Shift+Y")
    expect(page.get_by_label("redo")).to_have_value("Ctrl Shift Y")
    # Where the keys have no names, as on a phone, what is written counts.
    page.get_by_label("annotate").evaluate(
        "one => { one.value = 'n'; one.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The keys have been saved.")).to_be_visible()
    expect(page.get_by_label("redo")).to_have_value("Ctrl Shift Y")
    expect(page.get_by_label("search and commands")).to_have_value("Ctrl K")
    expect(page.get_by_label("annotate")).to_have_value("n")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_label("redo")).to_have_value("Ctrl Shift Z")


def test_moving_while_typing_keeps_the_browser_from_going_back(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Typed", "One.", " Two.", " Three.")
    page = visit("/settings")
    page.goto(f"{heddle.url}/trees/{tree}")
    live(page)
    expect(page.locator("article.node")).to_have_count(3)
    field = page.locator("#composer-text")
    field.press("Alt+ArrowLeft")
    expect(page.locator("article.node")).to_have_count(2)
    field.press("Alt+ArrowRight")
    expect(page.locator("article.node")).to_have_count(3)
    field.press("Alt+Home")
    expect(page).to_have_url(re.compile(f"/trees/{tree}"))
    field.press("Alt+End")
    expect(page.locator("article.node")).to_have_count(3)
    expect(field).to_be_focused()


def test_a_link_is_made_by_words_of_the_other_text(heddle: Heddle, visit: Open) -> None:
    word = f"harbour{uuid4().hex[:6]}"  # other journeys write of harbours in this grove
    tree = heddle.tree("Linked", f"A {word}.", " A gull.", " A rope.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("l")
    form = page.get_by_role("form", name=re.compile("is linked to"))
    field = form.get_by_role("combobox", name=re.compile("is linked to"))
    field.fill("whale")
    form.get_by_role("button", name="Link").click()
    expect(form.get_by_role("alert")).to_contain_text("Nothing has these words")
    field.fill(word)
    expect(form.get_by_role("listbox").get_by_role("option")).to_have_count(1)
    field.press("Enter")
    expect(field).to_have_value(re.compile(rf"\[\w{{4}}\] A {word}\."))
    form.get_by_label("Type").select_option("supports")
    form.get_by_label("Note").fill("both by the sea")
    form.get_by_role("button", name="Link").click()
    portal = page.locator("article.node").last.locator(".portal > summary")
    expect(portal).to_have_text(re.compile(r"▶ \[supports\] ──→ \[\w{4}\]"))
    page.locator("article.node").last.locator(".text").click()
    page.get_by_role("tab", name="Node").click()
    links = page.get_by_role("region", name="supports")
    expect(links).to_contain_text("both by the sea")
    links.get_by_role("button", name="Unlink").click()
    expect(portal).to_have_count(0)
