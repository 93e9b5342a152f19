"""A sandbox in the browser: begun, written in, not seen by another person, promoted, discarded."""

import re
from typing import Any
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_accessible import violations_in_both_themes


def _begun(heddle: Heddle, visit: Open, **how: Any) -> tuple[Page, str, str]:
    """A page in a new sandbox, the tree that it hangs at, and the name of the sandbox."""
    name = f"Trials {uuid4().hex[:6]}"
    tree = heddle.tree(f"The tower {name}", "The lamp burns.")
    place = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    page = visit(f"/trees/{tree}/sandbox?node={place}", **how)
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("region", name="Sandbox")).to_contain_text("Only you see this.")
    return page, tree, name


def _write(page: Page, text: str) -> None:
    page.get_by_label("Text of the next node").fill(text)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node").last).to_contain_text(text)


def test_a_sandbox_is_written_in_alone_and_promoted(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    page, tree, name = _begun(heddle, visit)
    sandbox = page.url.rsplit("/", 1)[1].split("?")[0]
    assert sandbox != tree
    _write(page, f"It flickers, {name}.")
    hers = visit(f"/trees/{tree}", who=ada)
    expect(hers.locator("article.node").last).to_contain_text("The lamp burns.")
    expect(hers.get_by_text(name, exact=False).filter(has_text="flickers")).to_have_count(0)
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    listed = visit(f"/groves/{grove}", who=ada)
    expect(listed.get_by_role("link", name=f"The tower {name}").first).to_be_visible()
    expect(listed.get_by_role("link", name=name, exact=True)).to_have_count(0)
    gone = visit(f"/trees/{sandbox}", who=ada)
    expect(gone.get_by_text("flickers")).to_have_count(0)
    expect(gone.locator("loom-tree")).to_have_count(0)
    page.get_by_role("button", name="Promote").click()
    page.wait_for_url(re.compile(f"/trees/{tree}"))
    expect(page.get_by_role("region", name="Sandbox")).to_have_count(0)
    expect(hers.locator(".card")).to_contain_text(f"It flickers, {name}.")


def test_a_sandbox_is_discarded_and_nobody_gets_what_it_held(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    page, tree, name = _begun(heddle, visit)
    _write(page, f"Nothing came of it, {name}.")
    page.get_by_role("button", name="Discard").click()
    page.wait_for_url(re.compile("/groves/"))
    hers = visit(f"/trees/{tree}", who=ada)
    expect(hers.locator("article.node").last).to_contain_text("The lamp burns.")
    expect(hers.locator(".card")).to_have_count(0)
    mine = visit(f"/trees/{tree}/sandbox")
    expect(mine.get_by_role("link", name=name, exact=True)).to_have_count(0)


def test_the_pages_of_a_sandbox_are_accessible_and_fit_a_phone(heddle: Heddle, visit: Open) -> None:
    page, _, _ = _begun(heddle, visit, size=PHONE, bypass_csp=True)
    page.get_by_role("link", name="Where it hangs").click()
    expect(page.get_by_role("heading", name="Sandbox", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations_in_both_themes(page) == []
