"""Without a network: the page says so, what is typed is kept, and the page comes back by itself."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PHONE, Cookies, Heddle, Open, invited
from tests.browser.house import give
from tests.browser.test_two_people import live


def test_what_is_written_offline_is_kept_and_sent_when_there_is_a_connection(
    heddle: Heddle, visit: Open
) -> None:
    page = live(visit(f"/trees/{heddle.tree('Cut off', 'One.')}"))
    page.context.set_offline(True)
    page.evaluate("document.querySelector('loom-tree').page.socket.resync()")
    expect(page.locator(".dot")).to_have_attribute("data-state", "offline")
    expect(page.locator("[data-spoken]")).to_contain_text("Offline. What you type is kept.")
    page.locator("#composer-text").fill("Written in a tunnel.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-live]")).to_have_text("offline · 1 not sent yet, kept here")
    unsent = page.locator(".stretch > .unsent")
    expect(unsent.locator(".text")).to_have_text("Written in a tunnel.")
    pale = "(one) => getComputedStyle(one).color"
    assert unsent.evaluate(pale) != page.locator("article.node .text").evaluate(pale)
    page.context.set_offline(False)
    expect(page.locator(".stretch")).to_contain_text("Written in a tunnel.")
    expect(unsent).to_have_count(0)
    expect(page.locator(".dot")).to_have_attribute("data-state", "live")


def test_a_move_that_cannot_be_read_goes_back_to_the_text_that_is_shown(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("No way back", "Above.", "Below.")
    page = live(visit(f"/trees/{tree}"))
    shown = page.locator("article.node").last
    leaf = shown.get_attribute("data-id") or ""
    refuse = re.compile(rf"/trees/{tree}/path")
    page.route(refuse, lambda route: route.fulfill(status=503, body="Busy."))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("loom-toast")).to_contain_text("Busy.")
    expect(page).to_have_url(re.compile(f"node={leaf}$"))
    expect(shown).to_have_attribute("data-id", leaf)
    page.unroute(refuse)
    page.locator("#composer-text").fill("The answer to what is shown.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node .text")).to_have_text(
        ["Above.", "Below.", "The answer to what is shown."]
    )


def test_a_buffer_shows_what_hangs_below_its_text_with_the_next_connection(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Below a buffer", "Above.", " Below.", mode="buffer")
    page = live(visit(f"/trees/{tree}"))
    text = page.locator("loom-buffer .cm-content")
    expect(text).to_have_text("Above. Below.")
    refuse = re.compile(rf"/trees/{tree}/weave")
    page.route(refuse, lambda route: route.fulfill(status=503, body="Busy."))
    page.locator("main").press("ArrowLeft")
    expect(page.locator("loom-toast")).to_contain_text("Busy.")
    # The editor has the text, so what is written now hangs below it.
    expect(text).to_have_text("Above.")
    expect(page.locator("loom-weave .card")).to_have_count(0)
    page.unroute(refuse)
    page.evaluate("document.querySelector('loom-tree').page.socket.resync()")
    expect(page.locator("loom-weave .card")).to_contain_text("Below.")


def test_a_phone_has_a_status_line_while_it_is_offline(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('On a train', 'One.')}", size=PHONE))
    expect(page.locator("[data-live]")).to_be_hidden()
    page.context.set_offline(True)
    page.locator("#composer-text").fill("Written on a train.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-live]")).to_be_visible()
    expect(page.locator("[data-live]")).to_have_text("offline · 1 not sent yet, kept here")
    expect(page.get_by_role("button", name="Map", exact=True)).to_be_in_viewport(ratio=1)
    page.context.set_offline(False)
    expect(page.locator(".stretch")).to_contain_text("Written on a train.")
    expect(page.locator("[data-live]")).to_be_hidden()


def test_a_page_opened_offline_says_so_and_opens_when_it_can(heddle: Heddle, visit: Open) -> None:
    page = visit("/")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.context.set_offline(True)
    page.goto(f"{heddle.url}/about")
    expect(page.get_by_role("heading", name="Offline")).to_be_visible()
    expect(page.locator("body")).to_have_css("font-family", "Inter, system-ui, sans-serif")
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Heddle 0.1.0")).to_be_visible()


def away(page: Page) -> None:
    """The server cannot be reached, by the page or by its worker."""
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.context.set_offline(True)


# Looks at what this browser keeps of trees until it holds certain words, or nothing at all.
KEEPS = """async (words) => {
    for (const end = Date.now() + 20_000; Date.now() < end; ) {
        const store = await caches.open("heddle-kept");
        const all = await Promise.all((await store.keys()).map((one) => store.match(one)));
        const texts = await Promise.all(all.map((one) => one?.text() ?? ""));
        if (words ? texts.some((one) => one.includes(words)) : !texts.length) return true;
        await new Promise((done) => setTimeout(done, 50));
    }
    return false;
}"""


def kept(page: Page, words: str) -> None:
    """Waits until this browser keeps a tree with these words in its text."""
    assert page.evaluate(KEEPS, words)


def nothing_kept(page: Page) -> None:
    """Waits until no text of a tree is kept in this browser."""
    assert page.evaluate(KEEPS, "")


def test_what_could_not_be_sent_says_offline_before_the_socket_does(
    heddle: Heddle, visit: Open
) -> None:
    page = live(visit(f"/trees/{heddle.tree('Half open', 'One.')}"))
    page.route("**/commands", lambda route: route.abort("internetdisconnected"))
    page.locator("#composer-text").fill("Two.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-live]")).to_have_text("offline · 1 not sent yet, kept here")
    expect(page.locator(".dot")).to_have_attribute("data-state", "offline")
    page.unroute("**/commands")
    expect(page.locator(".stretch")).to_contain_text("Two.")
    expect(page.locator("[data-live]")).to_have_text("live")


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_a_tree_opened_lately_is_read_after_a_reload_while_the_server_is_away(
    heddle: Heddle, visit: Open, mode: str
) -> None:
    first = heddle.tree("Opened before", "An older text.", mode=mode)
    tree = heddle.tree("On the train", "The hills were", " blue as slate.", mode=mode)
    page = live(visit(f"/trees/{first}"))
    kept(page, "An older text.")
    page.goto(f"{heddle.url}/trees/{tree}")
    live(page)
    kept(page, "blue as slate.")
    away(page)
    if mode == "buffer":
        expect(page.locator("loom-buffer[data-on]")).to_be_attached()
        page.locator(".cm-content").click()
        page.keyboard.press("Control+End")
        page.keyboard.type(" And rain.")
    else:
        page.locator("#composer-text").fill("And rain.")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".stretch > .unsent")).to_contain_text("And rain.")
    page.wait_for_function("() => JSON.stringify(localStorage).includes('And rain.')")
    page.reload()
    expect(page.locator(".kept-state b")).to_have_text("offline")
    expect(page.get_by_role("heading", name="On the train")).to_be_visible()
    expect(page.locator(".kept .stretch")).to_contain_text("The hills were")
    expect(page.locator(".kept .stretch")).to_contain_text("blue as slate.")
    unsent = page.locator(".kept .unsent")
    expect(unsent).to_contain_text("And rain.")
    pale = "(one) => getComputedStyle(one).color"
    assert unsent.locator(".text").evaluate(pale) != page.locator("h1").evaluate(pale)
    page.get_by_role("link", name="Opened before").click()
    expect(page.locator(".kept .stretch")).to_contain_text("An older text.")
    page.goto(f"{heddle.url}/trees/{tree}")
    page.context.set_offline(False)
    live(page)
    text = page.locator("loom-path .book" if mode == "buffer" else "loom-path .stretch")
    expect(text).to_contain_text("And rain.")


def test_nobody_reads_a_tree_after_its_reader_signed_out(
    heddle: Heddle, chrome: Browser, visit: Open
) -> None:
    tree = heddle.tree("Private", "Nobody else knows this.")
    page = live(visit(f"/trees/{tree}", who=invited(heddle, chrome, "lea", "writer")))
    kept(page, "Nobody else knows this.")
    other = page.context.new_page()
    other.goto(f"{heddle.url}/trees/{tree}")
    live(other)
    page.goto(heddle.url)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/signin")
    nothing_kept(page)
    # A tab that was left open keeps nothing any more.
    other.evaluate("document.querySelector('loom-tree').page.emit('text')")
    away(page)
    page.goto(f"{heddle.url}/trees/{tree}")
    expect(page.get_by_role("heading", name="Offline")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("Nobody else knows this.")
    nothing_kept(page)
    assert "Nobody else knows" not in page.evaluate("JSON.stringify(localStorage)")


def test_what_one_person_read_goes_when_another_signs_in(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Mine", "The owner read this.")
    page = live(visit(f"/trees/{tree}"))
    kept(page, "The owner read this.")
    page.context.clear_cookies()
    give(page.context, ada, heddle.url)
    page.goto(f"{heddle.url}/settings")
    nothing_kept(page)
    away(page)
    page.goto(f"{heddle.url}/trees/{tree}")
    expect(page.get_by_role("heading", name="Offline")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("The owner read this.")
