"""A tree says who may do what in it: the owner's table, the page of somebody who may comment, and
what an open page does when the right changes."""

import re
from uuid import uuid4

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Cookies, Heddle, Open, invited


def live(page: Page) -> Page:
    """The page, once its socket is open."""
    expect(page.locator(".dot")).to_have_attribute("data-state", "live")
    return page


def _give(page: Page, name: str, right: str) -> None:
    """Chooses a right in the owner's table, and saves."""
    page.get_by_role("combobox", name=f"What {name} may do here", exact=True).select_option(right)
    table = page.locator("form", has=page.get_by_role("table"))
    table.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The rights have been saved.")).to_be_visible()


def test_a_reader_comments_where_the_owner_lets_them_and_loses_the_tree_when_it_is_hidden(
    heddle: Heddle, visit: Open, rhea: Cookies
) -> None:
    title = f"Rights {uuid4().hex[:6]}"
    tree = heddle.tree(title, "The lamp was lit.")
    place = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    hers = live(visit(f"/trees/{tree}?node={place}", who=rhea))
    expect(hers.get_by_text("You can read this tree. An owner")).to_be_visible()
    annotate = hers.locator(".node .tools > [data-act='annotate']")
    expect(annotate).to_be_hidden()

    mine = visit(f"/trees/{tree}/share")
    expect(mine.get_by_role("heading", name="Who may do what here")).to_be_visible()
    _give(mine, "rhea", "comment")
    # Her open page follows, without a reload of hers.
    expect(hers.get_by_text("You can read this tree and write notes on it.")).to_be_visible()
    live(hers)
    expect(hers.get_by_label("Text of the next node")).to_have_count(0)
    hers.locator("main").press("a")
    field = hers.get_by_role("textbox", name=re.compile("^Annotate "))
    field.fill("By whom was it lit?")
    hers.get_by_role("button", name="Annotate", exact=True).last.click()
    expect(hers.locator(".note")).to_have_count(1)
    expect(hers.locator(".note")).to_contain_text("By whom was it lit?")
    expect(hers.locator(".note [data-act='reply']")).to_be_visible()
    # A note of her own is hers to resolve; another's is not.
    theirs = heddle.line(tree, f'annotate {place} "Somebody else asks."')["refs"][0]  # type: ignore[index]
    expect(hers.locator(".note")).to_have_count(2)
    other = hers.locator(f".note[data-note='{theirs}']")
    expect(other.locator("[data-act='resolve']")).to_be_hidden()
    own = hers.locator(".note", has_text="By whom was it lit?")
    own.locator("[data-act='resolve']").click()
    hers.get_by_role("textbox", name="Reason for resolving").press("Enter")
    expect(own.locator(".flag")).to_have_text("resolved")

    # Something typed stays in sight when the tree is hidden: she is told, and goes when she wants.
    own.locator("[data-act='reply']").click()
    hers.get_by_role("textbox", name=re.compile("^Reply to ")).fill("Half a thought")
    _give(mine, "rhea", "hidden")
    notice = hers.get_by_text("You can no longer see this tree.")
    expect(notice).to_be_visible()
    # Her draft cannot be stored any more: whatever is said about that stands beside it.
    hers.get_by_role("textbox", name=re.compile("^Reply to ")).fill("Half a thought, and more")
    expect(hers.get_by_text("This workspace was not found.")).to_be_visible()
    expect(notice).to_be_visible()
    hers.get_by_role("button", name="To the list").click()
    expect(hers.get_by_text("You can no longer see that tree.")).to_be_visible()
    expect(hers.get_by_text(title)).to_have_count(0)

    _give(mine, "rhea", "usual")
    again = live(visit(f"/trees/{tree}?node={place}", who=rhea))
    _give(mine, "rhea", "hidden")
    # Nothing was typed: she is led there at once.
    again.wait_for_url(re.compile(r"/groves/[^/]+\?lost=1$"))
    _give(mine, "rhea", "write")
    writes = live(visit(f"/trees/{tree}?node={place}", who=rhea))
    expect(writes.get_by_label("Text of the next node")).to_be_visible()
    _give(mine, "rhea", "usual")
    heddle.line(tree, f"prune {place}")


def test_an_open_page_follows_when_its_tree_is_archived_and_restored(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Archived while open", "The lamp was lit.")
    hers = live(visit(f"/trees/{tree}", who=ada))
    field = hers.get_by_label("Text of the next node")
    expect(field).to_be_visible()

    def archive(archived: bool) -> None:
        with heddle.client() as client:
            answer = client.patch(f"/api/trees/{tree}", json={"archived": archived})
        assert answer.is_success, answer.text

    archive(True)
    expect(hers.get_by_text("archived, read-only")).to_be_visible()
    expect(field).to_have_count(0)
    live(hers)
    archive(False)
    expect(field).to_be_visible()
    live(hers)
    # What she has typed is not taken from her.
    field.fill("Half a thought")
    archive(True)
    expect(hers.get_by_text("This tree was archived and can only be read now.")).to_be_visible()
    expect(field).to_have_value("Half a thought")
    hers.get_by_role("button", name="Reload").click()
    expect(hers.get_by_text("archived, read-only")).to_be_visible()
    expect(hers.locator("main").get_by_text("Half a thought")).to_be_visible()


def test_an_open_page_follows_the_role_of_its_reader_in_the_grove(
    heddle: Heddle, visit: Open, chrome: Browser
) -> None:
    name = f"mina{uuid4().hex[:6]}"
    tree = heddle.tree("A change of role", "The lamp was lit.")
    hers = live(visit(f"/trees/{tree}", who=invited(heddle, chrome, name, "writer")))
    field = hers.get_by_label("Text of the next node")
    expect(field).to_be_visible()

    def becomes(role: str) -> None:
        grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
        with heddle.client() as client:
            change = {"user": name, "role": role}
            answer = client.patch(f"/api/groves/{grove}/members", json=change)
        assert answer.is_success, answer.text

    becomes("reader")
    expect(field).to_have_count(0)
    live(hers)
    becomes("writer")
    expect(field).to_be_visible()
    live(hers)
    field.fill("Half a thought")
    becomes("reader")
    expect(hers.get_by_text("What you may do in this tree has changed.")).to_be_visible()
    expect(field).to_have_value("Half a thought")
    hers.get_by_role("button", name="Reload").click()
    # Her words are shown, and nothing says that they cannot be kept.
    expect(hers.locator("main").get_by_text("Half a thought")).to_be_visible()
    live(hers)
    expect(hers.locator("loom-toast .toast")).to_have_count(0)


def test_a_key_takes_back_no_rights_before_it_was_asked_for(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Rights by key", "The lamp was lit.")
    _give(visit(f"/trees/{tree}/share"), "ada", "read")
    mine = live(visit(f"/trees/{tree}"))
    mine.locator("main").press("Control+z")
    message = mine.locator("loom-toast .toast")
    expect(message).to_contain_text("Undo your last change: rights of ada?")
    hers = live(visit(f"/trees/{tree}", who=ada))
    expect(hers.get_by_label("Text of the next node")).to_have_count(0)
    message.hover()  # so that it stays
    message.get_by_role("button", name="Undo").click()
    expect(message).to_contain_text("Undone: rights of ada")
    expect(hers.get_by_label("Text of the next node")).to_be_visible()
