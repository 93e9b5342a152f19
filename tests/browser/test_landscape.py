"""The map by meaning in the browser: drawn, looked at, and read without looking."""

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open

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
