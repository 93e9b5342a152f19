"""The map and the panes beside the text: what a reader sees of a large tree, and how wide."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import says

DRAWN = """() => { const map = document.querySelector("loom-map"); const told = [];
    const pen = map.canvas.getContext("2d"), plain = pen.fillText;
    pen.fillText = (...given) => { told.push(given[0]); plain.apply(pen, given); };
    map.paint(); pen.fillText = plain; return told; }"""


def width(element: Locator) -> float:
    """How wide an element is."""
    pixels: float = element.evaluate("one => one.getBoundingClientRect().width")
    return pixels


def test_a_pane_is_made_wider_by_pointer_and_keys_and_stays_so(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Panes", "The rain had stopped.")
    page = live(visit(f"/trees/{tree}"))
    pane, edge = page.locator(".pane.left"), page.get_by_role("separator", name="Width of the map")
    before = width(pane)
    box = edge.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, 400)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 90, 400, steps=3)
    page.mouse.up()
    dragged = width(pane)
    assert abs(dragged - before - 90) < 3
    side = page.get_by_role("separator", name="Width of the details")
    side.focus()
    side.press("ArrowLeft")
    right = width(page.locator(".pane.right"))
    page.reload()
    live(page)
    assert abs(width(pane) - dragged) < 2
    assert abs(width(page.locator(".pane.right")) - right) < 2
    edge.dblclick()
    assert abs(width(pane) - before) < 2


def test_the_map_names_the_path_and_shows_a_text_under_the_pointer(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Map", "The first text.", "The second text.")
    for number in range(4):
        heddle.line(tree, f'respond "Ending number {number} of the tale."')
        heddle.line(tree, "move parent")
    kids = re.findall(r'data-go="(\w{4})"', _weave(heddle, tree))
    page = live(visit(f"/trees/{tree}?node={kids[0]}"))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    for words in ("Ending number 0", "The second"):
        page.wait_for_function(f"() => ({DRAWN})().some(one => one.startsWith('{words}'))")
    at = page.evaluate(
        """() => { const map = document.querySelector("loom-map");
        const spot = map.point(map.scene), box = map.canvas.getBoundingClientRect();
        return [box.x + map.camera.toX(spot.x), box.y + map.camera.toY(spot.y)]; }"""
    )
    page.mouse.move(at[0], at[1])
    expect(page.locator(".map-tip")).to_contain_text("Ending number 0 of the tale.")


def _weave(heddle: Heddle, tree: str) -> str:
    with heddle.client() as client:
        return client.get(f"/trees/{tree}/weave", headers={"X-Part": "1"}).text


def test_the_composer_is_one_row_with_the_rest_behind_one_button(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Row", "The rain had stopped.")
    heddle.provider.script(says(" The gutters sang."), says(" A door closed."))
    heddle.line(tree, 'continue n:2 using agent:"Muse"')
    for size in (PHONE, {"width": 720, "height": 450}, {"width": 1180, "height": 820}):
        page = live(visit(f"/trees/{tree}", size=size))
        page.locator("[data-agents] summary").click()
        for box in page.locator('[name="using"]').all():
            box.check()
        page.locator("[data-agents] summary").click()
        tops = page.locator(".composer-row").evaluate(
            """row => [...row.querySelectorAll(":scope > *, .composer-do > *")]
                .filter(one => one.checkVisibility() && one.matches("details, label, button"))
                .map(one => { const box = one.getBoundingClientRect();
                    return [(box.top + box.bottom) / 2, box.right]; })"""
        )
        assert len(tops) >= 5
        assert max(top for top, _ in tops) - min(top for top, _ in tops) < 4
        assert max(right for _, right in tops) <= size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        offered = page.get_by_role("button", name="Last used here: Muse ×2").bounding_box()
        assert offered and offered["x"] + offered["width"] <= size["width"]
        expect(page.get_by_label("Temperature")).to_be_hidden()
        page.get_by_role("button", name="More options").click()
        expect(page.get_by_label("Temperature")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_label("Temperature")).to_be_hidden()


def test_fields_and_buttons_of_a_row_have_one_height(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("One height", "The rain had stopped.")
    for size in (DESK, PHONE):
        page = live(visit(f"/trees/{tree}", size=size))
        heights = page.locator(".composer-row").evaluate(
            """row => [...row.querySelectorAll("summary.button, input, button.button")]
                .filter(one => one.checkVisibility() && !one.closest(".menu-items, [popover]"))
                .map(one => one.getBoundingClientRect().height)"""
        )
        assert len(heights) >= 5
        assert max(heights) - min(heights) < 1, heights


def test_an_invitation_to_a_tree_is_copied_and_leads_there(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("A shared tale", "The rain had stopped.")
    page = visit(f"/trees/{tree}/share")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Create invitation").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    guest = visit(link.removeprefix(heddle.url), anonymous=True)
    expect(guest.get_by_text("invites you to “A shared tale”")).to_be_visible()
    guest.get_by_label(re.compile("^Name")).fill("greta")
    guest.get_by_label(re.compile("^Password")).fill("greta walks the tall grass")
    guest.get_by_role("button", name="Join").click()
    guest.wait_for_url(re.compile(f"/trees/{tree}"))
    expect(guest.get_by_text("The rain had stopped.").first).to_be_visible()


def test_candidates_of_a_buffer_say_whose_they_are_and_open(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Candidates", "The house stood empty.", mode="buffer")
    long = " and nobody came to ask about it" * 40
    heddle.provider.script(says(long))
    heddle.line(tree, 'continue n:1 using agent:"Muse"')
    page = live(visit(f"/trees/{tree}"))
    card = page.get_by_role("article", name="Candidate 1, Muse")
    expect(card.locator(".by")).to_be_visible()
    page.locator("loom-buffer[data-on]").wait_for()
    page.get_by_role("button", name="Next candidate").click()  # until then the list is a strip
    card.get_by_role("button", name="Show all").click()
    expect(card.locator(".card-text")).to_have_text(long.strip())
    expect(card.get_by_role("button", name="Show less")).to_have_attribute("aria-expanded", "true")


def test_undo_of_a_continuation_leaves_what_it_prunes(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Undone", "The house stood empty.")
    heddle.provider.script(says(" A door closed softly."))
    heddle.line(tree, 'continue n:1 using agent:"Muse"')
    page = live(visit(f"/trees/{tree}"))
    page.locator(".card a[data-go]").first.click()
    expect(page.locator("article.node")).to_have_count(2)
    page.keyboard.press("Control+z")
    expect(page.locator("article.node")).to_have_count(1)
    expect(page.locator("article.node")).to_contain_text("The house stood empty.")
