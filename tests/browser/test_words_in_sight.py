"""What somebody has typed stays where they can see it, whatever happens to its place."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Cookies, Heddle, Open, invited
from tests.browser.test_drafts import field, saves
from tests.browser.test_two_people import live


def texts(heddle: Heddle, tree: str) -> list[str]:
    """The ids of the texts from the root to the owner's position."""
    nodes = heddle.get(f"trees/{tree}/path")["nodes"]
    return [node["id"] for node in nodes]  # type: ignore[attr-defined]


def book(page: Page) -> Page:
    """The page of a buffer, once its text can be written in."""
    expect(live(page).locator("loom-buffer[data-on]")).to_be_visible()
    return page


def test_words_whose_place_was_pruned_stay_in_sight(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Pruned under way", "One.", "Two.", mode="buffer")
    _, above, here = texts(heddle, tree)
    page = book(visit(f"/trees/{tree}?node={here}", who=ada))
    with saves(page):
        page.locator(".cm-content").press("Control+End")
        page.keyboard.type(" My careful words.")
    heddle.line(tree, f"prune {here}")
    told = page.locator("loom-composer .pruned-place")
    expect(told).to_contain_text("The text above was pruned by owner.")
    page.reload()
    book(page)
    expect(told).to_contain_text("The text above was pruned.")
    for name in ("Add", "Continue"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator("[data-answer]")).to_contain_text("The text above was pruned: ")
        page.locator(".cm-content").press("End")
        page.keyboard.type("!")
        expect(page.locator("[data-answer]")).to_be_hidden()
    page.get_by_role("button", name="Go to the text above").click()
    box = page.locator(".hidden-draft")
    expect(box).to_contain_text("My careful words.!!")
    page.goto(f"{heddle.url}/trees/{tree}")
    book(page)
    assert page.evaluate("document.querySelector('loom-tree').page.position") == above
    with saves(page):
        box.get_by_role("button", name="Take it here").click()
    expect(page.locator(".cm-content")).to_have_text("One. My careful words.!!")
    expect(box).to_have_count(0)
    page.goto(f"{heddle.url}/trees/{tree}?node={here}")
    page.get_by_role("button", name="Restore it").click()
    expect(told).to_have_count(0)
    expect(page.locator(".cm-content")).to_contain_text("Two.")


def test_words_in_an_archived_tree_can_be_copied(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Archived under way", "One.")
    page = live(visit(f"/trees/{tree}"))
    with saves(page):
        field(page).fill("Not sent\nin time.")
    with heddle.client() as client:
        assert client.patch(f"/api/trees/{tree}", json={"archived": True}).is_success
    page.reload()
    box = live(page).locator(".hidden-draft")
    expect(box.locator("[data-secret]")).to_have_text("Not sent\nin time.")
    expect(box.get_by_role("button", name="Take it here")).to_have_count(0)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box.get_by_role("button", name="Copy").click()
    expect(box.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Not sent\nin time."


def test_signing_out_in_another_tab_leaves_what_is_in_the_field_to_its_writer_alone(
    heddle: Heddle, visit: Open, chrome: Browser
) -> None:
    cookies = invited(heddle, chrome, "sal", "writer")
    invited(heddle, chrome, "sam", "writer")
    tree = heddle.tree("Two tabs, one leaves", "One.")
    page = live(visit(f"/trees/{tree}", who=cookies))
    with saves(page):
        field(page).fill("written before")
    other = page.context.new_page()

    def sign_in(name: str) -> None:
        other.goto(f"{heddle.url}/signin")
        other.get_by_label(re.compile("^Name")).fill(name)
        other.get_by_label(re.compile("^Password")).fill(f"{name} walks the tall grass")
        other.get_by_role("button", name="Sign in", exact=True).click()
        other.wait_for_url(re.compile(r":\d+/(groves/.*)?$"))

    other.goto(heddle.url)
    other.get_by_role("button", name="Sign out").click()
    notice = page.locator(".signed-out")
    expect(notice).to_contain_text("You are signed out. What you typed is kept.")
    field(page).press_sequentially(", and after")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-answer]")).to_have_text(
        "You are signed out. What you typed is kept."
    )
    expect(field(page)).to_have_value("written before, and after")
    with saves(page):
        sign_in("sal")
    expect(notice).to_have_count(0)
    live(page)
    other.goto(heddle.url)
    other.get_by_role("button", name="Sign out").click()
    expect(notice).to_be_visible()
    sign_in("sam")
    expect(notice).to_have_count(0)
    expect(field(live(page))).to_have_value("")
    expect(page.locator("body")).not_to_contain_text("written before")


def test_a_newer_version_of_the_passage_one_types_in_is_shown_at_once_and_survives_a_reload(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Newer", "One is long. ", "Two is long. ", "Three.", mode="buffer")
    _, first, _, last = texts(heddle, tree)
    page = book(visit(f"/trees/{tree}?node={last}", who=ada))
    page.locator(".cm-content").press("Control+Home")
    for _ in range(20):
        page.keyboard.press("Shift+ArrowRight")
    with saves(page):
        page.keyboard.type("Mine ")
    heddle.line(tree, f'edit {first} "Hers. " as:version')
    told = page.locator(".book-said")
    expect(told).to_contain_text("owner saved another version while you were writing.")
    told.get_by_text("Read it").click()
    expect(told).to_contain_text("Hers.")
    page.keyboard.type("still ")
    expect(told).to_contain_text("Hers.")
    page.reload()  # the text is shorter than it was drawn; an error of the page fails this
    expect(book(page).locator(".cm-content")).to_contain_text("Mine")
    expect(told).to_contain_text("saved another version while you were writing.")
    told.get_by_text("Read it").click()
    expect(told).to_contain_text("Hers.")


def test_an_edit_that_waits_is_marked_at_its_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Waiting edit", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("e")
    form = page.get_by_role("form", name=re.compile("Text of"))
    with saves(page):
        form.get_by_role("textbox").fill("Two, better.")
    form.get_by_role("textbox").press("Escape")
    page.reload()
    mark = live(page).locator("article.node").last.get_by_role("button", name="unsaved edit")
    mark.click()
    expect(form.get_by_role("textbox")).to_have_value("Two, better.")
    expect(mark).to_be_hidden()
    form.get_by_role("combobox").select_option("version")
    form.get_by_role("button", name="Save").click()
    expect(page.locator("article.node").last).to_contain_text("Two, better.")
    expect(page.locator(".edit-waits")).to_have_count(0)
