"""The path: folding, portals, the menu of a node, and what exports are of."""

import re

from playwright.sync_api import APIResponse, Route, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import says


def test_a_fold_shows_the_first_words_and_is_remembered(heddle: Heddle, visit: Open) -> None:
    long = " ".join(f"word{number}" for number in range(60))
    tree = heddle.tree("Folds", long, "Two.", "Three.")
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").first
    first.get_by_role("button", name="Text of").click()
    expect(first.locator(".text")).to_be_hidden()
    expect(first.locator(".summary")).to_have_text(re.compile(r"^word0 .* word29 …$"))
    page.reload()
    expect(first.locator(".text")).to_be_hidden()
    last = page.locator("article.node").last
    last.get_by_label(re.compile("^More for")).click()
    last.get_by_role("button", name="Collapse all above").click()
    expect(page.locator("article.node.folded")).to_have_count(2)
    expect(last.locator(".text")).to_be_visible()
    last.get_by_label(re.compile("^More for")).click()
    last.get_by_role("button", name="Expand all").click()
    expect(page.locator("article.node.folded")).to_have_count(0)


def test_a_portal_opens_in_place_and_nothing_moves(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Portals", "One <img src=x onerror=alert(1)>.", "Two.", "Three.")
    heddle.line(tree, "link here to root")
    heddle.line(tree, "unlink here to root")
    page = live(visit(f"/trees/{tree}"))
    one = page.locator("article.node").first.get_attribute("data-id")
    heddle.line(tree, f"link here to {one} as:supports")
    portal = page.locator("article.node").last.locator(".portal")
    expect(portal).to_have_count(1)
    address = page.url
    top = page.locator("main").evaluate("main => main.scrollTop")
    portal.locator("summary").first.press("Enter")
    expect(portal.locator(".portal-end .text").first).to_contain_text("<img src=x")
    assert page.url == address
    assert page.locator("main").evaluate("main => main.scrollTop") == top
    inner = portal.locator(".portal-in .portal summary")
    two = page.locator("article.node").last.get_attribute("data-id")
    expect(inner).to_have_text(f"▶ [supported by] ──→ [{two}]")
    inner.click()
    expect(portal.locator(".portal-in .portal-in .text")).to_have_text("Three.")
    # What happens meanwhile leaves it open.
    heddle.line(tree, "bookmark here")
    expect(page.locator(".toast, loom-toast")).to_be_attached()
    expect(portal.locator(".portal-in .portal-in .text")).to_be_visible()


def test_the_menu_goes_back_copies_and_asks_again(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(*(says(f"Answer {number}.") for number in range(4)))
    tree = heddle.tree("Menu", "One.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("g")
    expect(page.locator(".card[data-id]")).not_to_have_count(0)
    expect(page.locator(".card.coming")).to_have_count(0)
    before = page.locator(".card:not(.coming)").count()
    page.locator(".card a").first.click()
    answer = page.locator("article.node").last
    expect(page.locator("article.node")).to_have_count(2)
    answer.get_by_label(re.compile("^More for")).click()
    answer.get_by_role("button", name="Continue again").click()
    expect(page.locator("article.node")).to_have_count(1)
    expect(page.locator(".card:not(.coming)")).to_have_count(before + 1)


def test_exports_are_of_the_path_that_is_read(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Exports", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    node_id = page.locator("article.node").get_attribute("data-id")
    for name in ("Markdown", "text", "JSON"):
        link = page.locator("a[data-export]", has_text=re.compile(f"^{name}$"))
        expect(link).to_have_attribute("href", re.compile(f"node={node_id}$"))


def test_candidates_that_come_while_the_page_moves_are_not_lost(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says("One."), says("Two."), says("Three."))
    tree = heddle.tree("Late", "Start.", "Here.")
    page = live(visit(f"/trees/{tree}"))
    at = page.locator("article.node").last.get_attribute("data-id")
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    # The answer to the move is from before the candidates, and arrives after them.
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route(re.compile(r"/path\?node="), hold)
    page.locator("main").press("ArrowRight")
    page.wait_for_function("at => document.querySelector('loom-tree').page.position === at", arg=at)
    while not held:
        page.evaluate("1")
    heddle.line(tree, f"continue from {at} n:3")
    expect(page.locator(".card[data-id]")).to_have_count(3)
    route, answer = held[0]
    route.fulfill(response=answer)
    expect(page.locator("article.node")).to_have_count(2)
    expect(page.locator(".card[data-id]")).to_have_count(3)
    expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(".card[data-id]")).to_have_count(3)


def test_a_text_with_more_below_than_fits_is_opened_at_its_start(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Many", "A first text, and a long one. " * 60, "Two.")
    at = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    for number in range(9):
        heddle.line(tree, f'respond {at} "{f"Answer {number}, and more of it. " * 12}"')
    for size in (DESK, PHONE):
        page = live(visit(f"/trees/{tree}?node={at}", size=size))
        expect(page.locator(".card")).to_have_count(9)
        expect(page.locator("article.node").last.locator(".text")).to_be_in_viewport()
        expect(page.locator(".card").first).to_be_in_viewport()


def test_a_long_word_in_a_note_stays_in_the_column(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('A long word', 'One.')}"))
    beside = "main => main.scrollWidth - main.clientWidth"
    page.locator("main").press("a")
    field = page.get_by_role("textbox", name=re.compile("^Annotate"))
    field.fill("https://example.org/" + "long" * 200)
    assert page.locator("main").evaluate(beside) == 0
    page.locator("form.inline-form .primary").click()
    expect(page.locator("article.node .note")).to_contain_text("longlong")
    assert page.locator("main").evaluate(beside) == 0


def test_a_form_that_was_refused_keeps_the_focus_in_its_field(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Refused', 'One.')}"))
    page.locator("main").press("a")
    field = page.get_by_role("textbox", name=re.compile("^Annotate"))
    page.locator("form.inline-form .primary").press("Enter")
    expect(page.locator("form.inline-form [role=alert]")).to_contain_text("The text is empty.")
    expect(field).to_be_focused()


def test_undo_in_a_message_takes_back_what_the_message_says(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Undo what is said', 'One.')}"))
    first = page.locator("article.node").first
    page.locator("main").press("b")
    toast = page.locator("loom-toast .toast")
    expect(toast).to_contain_text("Bookmark added")
    page.get_by_label("Text of the next node").fill("Two.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node")).to_have_count(2)
    toast.get_by_role("button", name="Undo").click()
    expect(toast).to_contain_text("Undone")
    expect(first.get_by_role("button", name="Bookmark", exact=True)).to_be_visible()
    expect(page.locator("article.node")).to_have_count(2)


def test_pinning_says_so_where_the_windows_are_not_in_view(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Pinned', 'One.')}"))
    page.locator("main").press("p")
    expect(page.locator("loom-toast .toast")).to_have_text("Pinned beside the text")
