"""The manuscript in the browser: cards moved by dragging and by keys, and taken back."""

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open


def story(heddle: Heddle) -> str:
    return heddle.tree(
        f"Book {uuid4().hex[:6]}",
        "# The house\nIt stood empty.\n",
        "# The storm\nRain fell all night.\n",
        "# The lamp\nIt was lit again.\n",
        mode="buffer",
    )


def shown(page: Page, *titles: str) -> None:
    expect(page.locator(".chapter-card h2 a")).to_have_text(list(titles))


def test_cards_are_moved_by_keys_and_the_move_is_taken_back(heddle: Heddle, visit: Open) -> None:
    page = visit(f"/trees/{story(heddle)}/manuscript")
    shown(page, "The house", "The storm", "The lamp")
    page.locator(".chapter-card").last.focus()
    page.keyboard.press("Alt+ArrowUp")
    shown(page, "The house", "The lamp", "The storm")
    expect(page.locator(".chapter-card").nth(1)).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    shown(page, "The lamp", "The house", "The storm")
    expect(page.locator(".chapter-card").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".chapter-card").nth(1)).to_be_focused()
    page.keyboard.press("ControlOrMeta+z")
    shown(page, "The house", "The lamp", "The storm")


def test_a_card_is_dragged_and_the_text_stays(heddle: Heddle, visit: Open) -> None:
    tree = story(heddle)
    page = visit(f"/trees/{tree}/manuscript")
    cards = page.locator(".chapter-card")
    cards.nth(2).drag_to(cards.nth(0), target_position={"x": 10, "y": 40})
    shown(page, "The lamp", "The house", "The storm")
    expect(page.get_by_role("status").first).to_contain_text("Moved.")
    nodes = heddle.get(f"trees/{tree}/path")["nodes"]
    assert [str(node["text"])[2:9] for node in nodes][1:] == [  # type: ignore[attr-defined]
        "The hou",
        "The sto",
        "The lam",
    ]
    page.get_by_role("button", name="Undo").click()
    shown(page, "The house", "The storm", "The lamp")
    page.get_by_role("link", name="Read it all").click()
    expect(page.locator(".chapter h2")).to_have_text(["The house", "The storm", "The lamp"])


def test_a_phone_sets_a_target_and_downloads_the_book(heddle: Heddle, visit: Open) -> None:
    page = visit(f"/trees/{story(heddle)}/manuscript", size=PHONE)
    first = page.locator(".chapter-card").first
    first.get_by_text("Target and note").click()
    first.get_by_label("Target in words").fill("300")
    first.get_by_label("Note").fill("Too short.")
    first.get_by_role("button", name="Save").click()
    expect(page.locator(".chapter-card").first).to_contain_text("of 300")
    expect(page.locator(".chapter-card").first).to_contain_text("Too short.")
    page.get_by_label("Author").fill("Ada Lovelace")
    page.get_by_label("Language").fill("en")
    page.locator(".book-settings").get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    with page.expect_download() as taken:
        page.get_by_role("link", name="PDF").click()
    assert taken.value.suggested_filename.endswith(".pdf")


def test_a_book_that_cannot_be_made_says_why(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("The gate", "# The gate\n\nA שלום stands here.")
    page = visit(f"/trees/{tree}/manuscript")
    page.get_by_role("link", name="PDF").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This can't be done")
    expect(page.locator(".lead")).to_contain_text("ש")
    page.go_back()
    with page.expect_download() as taken:
        page.get_by_role("link", name="EPUB").click()
    assert taken.value.suggested_filename == "The gate.epub"
