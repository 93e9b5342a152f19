"""Without a network: it is said, what is typed is kept, and the page comes back by itself."""

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
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
    expect(page.locator(".stretch")).to_contain_text("Written in a tunnel.", timeout=30_000)
    expect(unsent).to_have_count(0, timeout=30_000)
    expect(page.locator(".dot")).to_have_attribute("data-state", "live", timeout=30_000)


def test_a_page_opened_offline_says_so_and_opens_when_it_can(heddle: Heddle, visit: Open) -> None:
    page = visit("/")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.context.set_offline(True)
    page.goto(f"{heddle.url}/about")
    expect(page.get_by_role("heading", name="Offline")).to_be_visible()
    expect(page.locator("body")).to_have_css("font-family", "Inter, system-ui, sans-serif")
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Heddle 0.1.0")).to_be_visible(timeout=30_000)
