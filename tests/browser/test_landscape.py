"""The map by meaning in the browser: drawn, looked at, and read without looking."""

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_accessible import sizes, violations_in_both_themes
from tests.providers.scripts import says

SEA = (
    "The captain set sail for the harbour at dawn.",
    "A storm broke the mast of the ship.",
    "Sailors hauled the anchor from the waves.",
    "The ship came home to the harbour.",
    "Waves struck the hull all night.",
    "The captain wrote in the log of the ship.",
)
BREAD = (
    "The baker kneaded the dough before sunrise.",
    "Fresh bread lay in the oven.",
    "Flour covered the table of the bakery.",
    "The baker sold bread in the market.",
    "Dough rises slowly near the oven.",
    "She baked loaves of bread with her mother.",
)


def _drawn(page: Page) -> None:
    """Has the map drawn and waits until it is seen."""
    page.get_by_role("button", name="Draw the map").click()
    expect(page.locator(".landscape-frame[data-ready]")).to_have_count(1)


def test_a_map_is_drawn_and_leads_to_its_texts(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Sea and bread {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape")
    _drawn(page)
    expect(page.locator("[data-legend] button")).to_have_count(1)
    canvas = page.get_by_role("img", name="Map of 12 texts")
    canvas.focus()
    canvas.press("Enter")
    chosen = page.get_by_role("region", name="The chosen text")
    expect(chosen.get_by_role("link", name="Open in the tree")).to_have_count(1)
    expect(chosen.locator("[aria-current]")).to_have_count(1)
    canvas.press("Escape")
    expect(chosen).to_be_hidden()
    page.get_by_role("combobox", name="Colours").select_option("time")
    expect(page.locator(".landscape-ramp")).to_have_count(1)


def test_a_line_around_texts_picks_them(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Picked {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape")
    _drawn(page)
    page.get_by_role("button", name="Pick with a line").click()
    box = page.locator(".landscape-frame canvas").bounding_box()
    assert box is not None
    left, top = box["x"] + 3, box["y"] + 3
    right, bottom = left + box["width"] - 6, top + box["height"] - 6
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    picked = page.get_by_role("region", name="Texts", exact=True)
    expect(picked.get_by_role("heading", name="12 texts picked")).to_have_count(1)
    picked.get_by_role("button", name="Tag them…").click()
    tag = f"seen{uuid4().hex[:6]}"
    picked.get_by_role("textbox").fill(tag)
    picked.get_by_role("button", name="Tag", exact=True).click()
    expect(page.locator("[data-said]")).to_have_text("Tagged 12 texts.")
    picked.get_by_role("button", name="Side by side").click()
    dialog = page.get_by_role("dialog", name="6 texts side by side")
    expect(dialog.locator(".landscape-column")).to_have_count(6)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    heddle.provider.forget()
    picked.get_by_role("button", name="Continue them…").click()
    picked.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator("[data-said]")).to_have_text("Asked for candidates below 12 texts.")
    # What was written finds its place on the open map.
    expect(page.locator("[data-count]")).to_have_text("24 texts")


@pytest.fixture
def titles(heddle: Heddle) -> Iterator[None]:
    """Whatever is asked is answered with titles. Trees of other journeys are summarised in the
    background, whose calls would take answers that stand in a queue."""
    content = "1: Ships in a storm\n2: Bread at dawn"
    event = {"choices": [{"index": 0, "delta": {"content": content}}]}
    usual = heddle.provider.default
    heddle.provider.default = says(b"data: " + json.dumps(event).encode() + b"\n\n")
    yield
    heddle.provider.default = usual


@pytest.mark.usefixtures("titles")
def test_a_model_gives_titles_for_a_price_that_is_shown(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Titled {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape")
    _drawn(page)
    regions = page.get_by_role("region", name="Regions")
    expect(regions).to_contain_text("tokens of the texts")
    regions.get_by_role("button", name="Titles by a model").click()
    expect(regions.get_by_role("link", name="Ships in a storm")).to_have_count(1)
    page.reload()
    expect(regions.get_by_role("link", name="Ships in a storm")).to_have_count(1)


def test_the_regions_are_a_list_without_the_picture(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Listed {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape", size=PHONE, theme="dark")
    _drawn(page)
    regions = page.get_by_role("region", name="Regions")
    address = regions.get_by_role("link").first.get_attribute("href")
    page.goto(page.url.split("?")[0] + str(address))
    expect(page.locator("#listed")).to_have_count(1)
    expect(page.locator(".landscape-list").first.get_by_role("link").first).to_be_visible()
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_it_is_shown_growing_and_on_the_full_screen(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Growing {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape")
    _drawn(page)
    play = page.get_by_role("button", name="Show it growing")
    play.click()
    until = page.get_by_role("slider", name="Texts until")
    expect(until).to_be_visible()
    expect(play).to_have_attribute("aria-pressed", "true")
    play.click()
    expect(play).to_have_attribute("aria-pressed", "false")
    until.press("Home")
    shown = """() => { const map = document.querySelector("loom-landscape");
        return map.points.ids.filter((_, at) => map.counts(at)).length; }"""
    assert page.evaluate(shown) == 0
    until.press("End")
    assert page.evaluate(shown) == 12
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement?.matches('loom-landscape')")
    expect(page.get_by_role("img", name="Map of 12 texts")).to_be_visible()
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => !document.fullscreenElement")


def test_a_map_that_is_open_takes_in_new_texts_and_moves_no_old_one(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree(f"Open {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape")
    _drawn(page)
    canvas = page.get_by_role("img", name="Map of 12 texts")
    canvas.focus()
    canvas.press("+")
    canvas.press("Enter")
    chosen = page.get_by_role("region", name="The chosen text")
    expect(chosen.get_by_role("link", name="Open in the tree")).to_have_count(1)
    opened = chosen.get_by_role("link", name="Open in the tree").get_attribute("href")
    state = """() => { const {points, eye} = document.querySelector("loom-landscape");
        return [Object.fromEntries(points.ids.map((id, at) => [id, [points.x[at], points.y[at]]])),
            eye.zoom]; }"""
    before, zoom = page.evaluate(state)
    heddle.line(tree, "respond\nThe storm sank the ship near the harbour.\n←")
    expect(page.locator("[data-count]")).to_have_text("13 texts")
    after, now = page.evaluate(state)
    assert len(after) == 13 and sum(after[key] != place for key, place in before.items()) == 0
    assert abs(now / zoom - 1) < 0.2  # the reader's view stays, but for a wider frame
    link = chosen.get_by_role("link", name="Open in the tree")
    assert link.get_attribute("href") == opened


def test_the_picture_is_saved_with_its_title(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Saved {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape")
    _drawn(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the picture").click()
    assert download.value.suggested_filename.startswith("saved-")
    assert download.value.path().read_bytes()[:4] == b"\x89PNG"


def test_texts_are_coloured_by_their_surprise(heddle: Heddle, visit: Open) -> None:
    heddle.provider.forget()
    tree = heddle.tree(f"Surprise {uuid4().hex[:6]}", *SEA)
    heddle.provider.script(says(_scored("The ship sailed", -0.1), _scored(" upwards.", -6.0)))
    heddle.line(tree, "continue n:1")
    page = visit(f"/trees/{tree}")
    expect(page.locator(".card[data-id]", has_text="The ship sailed upwards.")).to_have_count(1)
    page.goto(f"{heddle.url}/trees/{tree}/landscape")
    _drawn(page)
    page.get_by_role("combobox", name="Colours").select_option("surprise")
    legend = page.locator("[data-legend]")
    expect(legend.locator(".landscape-ramp")).to_have_count(1)
    expect(legend).to_contain_text("4.4 bits a token")  # (0.1 + 6) / 2 / ln 2
    expect(legend.get_by_role("button", name="no probabilities")).to_contain_text("6")


def _scored(token: str, logprob: float) -> bytes:
    """An event of a chat with the probability of its token."""
    content = [{"token": token, "logprob": logprob, "top_logprobs": []}]
    choice = {"index": 0, "delta": {"content": token}, "logprobs": {"content": content}}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


@sizes
def test_a_map_has_no_barriers(heddle: Heddle, visit: Open, size: dict[str, int]) -> None:
    tree = heddle.tree(f"Barriers {uuid4().hex[:6]}", *SEA, *BREAD)
    page = visit(f"/trees/{tree}/landscape", size=size, bypass_csp=True)
    assert violations_in_both_themes(page) == []
    _drawn(page)
    canvas = page.get_by_role("img", name="Map of 12 texts")
    canvas.focus()
    canvas.press("Enter")
    chosen = page.get_by_role("region", name="The chosen text")
    expect(chosen.get_by_role("link", name="Open in the tree")).to_have_count(1)
    regions = page.get_by_role("region", name="Regions")
    regions.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Texts", exact=True)).to_be_visible()
    page.get_by_role("button", name="Show it growing").click()
    page.get_by_role("button", name="Show it growing").click()
    assert violations_in_both_themes(page) == []
