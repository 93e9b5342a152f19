"""Portals in texts and at the foot of documents: opened where they stand, and changed by
suggestion."""

import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live


def _ids(heddle: Heddle, tree: str) -> list[str]:
    nodes: Any = heddle.get(f"trees/{tree}/path")["nodes"]
    return [node["id"] for node in nodes if node["depth"]]


def _document(heddle: Heddle, ada: Cookies, title: str, text: str) -> str:
    with heddle.client(ada) as client:
        return str(client.post("/api/documents", json={"title": title, "text": text}).json()["id"])


def _still(page: Page) -> tuple[str, int]:
    return page.url, page.locator("main").evaluate("main => main.scrollTop")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_text_opens_what_it_names_where_it_stands(
    heddle: Heddle, visit: Open, ada: Cookies, size: dict[str, int]
) -> None:
    name = f"Keeper's notes {uuid4().hex[:6]}"
    paper = _document(heddle, ada, name, "# Notes\n\nFirst.\n\n## Motive\n\nThe keeper owed money.")
    tree = heddle.tree("Portals in texts", "The lamp is lit.")
    (lamp,) = _ids(heddle, tree)
    heddle.line(tree, f"link root to doc:{paper}")
    text = (
        f"It is paid @[supports -> {{{lamp}, doc:{paper} §motive}}], see [{lamp}].\\n\\n![[{lamp}]]"
    )
    heddle.line(tree, f'respond here "{text}"')
    page = live(visit(f"/trees/{tree}", size=size))
    last = page.locator("article.node").last
    # An embed is the item itself, without being asked for.
    expect(last.locator(".embedded .portal-end.embed .text")).to_have_text("The lamp is lit.")
    expect(last.locator("a.ref")).to_have_text(f"[{lamp}]")
    portal = last.locator('.text .portal[data-edge-type="supports"]')
    expect(portal.locator("summary").first).to_have_text("▶ [supports] ──→ 2 items")
    before = _still(page)
    with page.expect_response(re.compile("/commands$")):  # each opening is a step, once
        portal.locator("summary").first.press("Enter")
    expect(portal.locator(".portal-end")).to_have_count(2)
    expect(portal).to_have_attribute("data-state", "expanded")
    expect(portal).to_have_attribute("data-portal-path", '["supports"]')
    expect(portal.locator(".portal-end .text").last).to_contain_text("The keeper owed money.")
    expect(portal).not_to_contain_text("First.")
    assert _still(page) == before
    # From the steps a trail is kept.
    reply = str(heddle.line(tree, "trail")["reply"])
    assert f"──[supports]──→ [{lamp}]" in reply and name in reply
    # Collapsed and opened again: what was fetched is still there.
    portal.locator("summary").first.press("Enter")
    expect(portal.locator(".portal-end").first).to_be_hidden()
    portal.locator("summary").first.press("Enter")
    expect(portal.locator(".portal-end").first).to_be_visible()
    last.locator("a.ref").click()
    expect(page).to_have_url(re.compile(f"node={lamp}"))


def test_a_change_inside_a_portal_is_a_suggestion_on_its_source(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    name = f"Ledger {uuid4().hex[:6]}"
    paper = _document(heddle, ada, name, "# Ledger\n\n## Motive\n\nHe owed money.")
    tree = heddle.tree("Suggesting", "The lamp is lit.")
    (lamp,) = _ids(heddle, tree)
    heddle.line(tree, f"link root to doc:{paper}")
    heddle.line(tree, f'respond here "See @[supports -> {{{lamp}, doc:{paper} §motive}}]."')
    page = live(visit(f"/trees/{tree}"))
    portal = page.locator("article.node").last.locator(".text .portal")
    portal.locator("summary").first.click()
    ends = portal.locator(".portal-end")
    for end, words, other in ((0, "The lamp is lit.", "The lamp is out."), (1, "owed", "stole")):
        ends.nth(end).get_by_role("button", name="Suggest a change").click()
        field = ends.nth(end).get_by_role("textbox")
        expect(field).to_have_value(re.compile(words))
        field.fill(field.input_value().replace(words, other))
        ends.nth(end).get_by_role("button", name="Suggest", exact=True).click()
        expect(field).to_have_count(0)
    # The texts are what they were; their writers decide.
    expect(ends.first.locator(".text")).to_have_text("The lamp is lit.")
    note = page.locator("article.node").first.locator(".note")
    expect(note.locator("ins")).to_contain_text("out")
    page.goto(f"{heddle.url}/documents/{paper}")
    expect(page.locator(".suggestions ins")).to_contain_text("stole")


def test_a_portal_that_fails_says_so_and_is_tried_again(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Failing", "The lamp is lit.")
    (lamp,) = _ids(heddle, tree)
    heddle.line(tree, f'respond here "See @[supports -> {lamp}]."')
    page = live(visit(f"/trees/{tree}"))
    failed: list[str] = []

    def once(route: Route) -> None:
        failed.append(route.request.url)
        if len(failed) == 1:
            route.abort()
        else:
            route.continue_()

    page.route("**/portal?*", once)
    portal = page.locator("article.node").last.locator(".text .portal")
    portal.locator("summary").first.click()
    expect(portal).to_have_attribute("data-state", "error")
    portal.get_by_role("button", name="Try again").click()
    expect(portal.locator(".portal-end .text")).to_have_text("The lamp is lit.")


def test_portals_nest_five_deep_and_the_refusal_names_the_chain(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Nested", "One.", "Two.")
    first, second = _ids(heddle, tree)
    heddle.line(tree, f"link {second} to {first} as:supports")
    page = live(visit(f"/trees/{tree}"))
    here = page.locator("article.node").last
    for _ in range(5):
        here.locator(".portal > summary").first.click()
        here = here.locator(".portal-in").first
        expect(here.locator(".portal-end").first).to_be_visible()
    here.locator(".portal > summary").first.click()
    chain = "supports → supported_by → supports → supported_by → supports → supported_by"
    expect(here.locator(".portal-in").first).to_contain_text(chain)


def test_a_document_opens_its_portals_too(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    name = f"Papers {uuid4().hex[:6]}"
    tree = heddle.tree("Of papers", "The lamp is lit.")
    (lamp,) = _ids(heddle, tree)
    text = f"Because @[supports -> {lamp}] it was seen."
    paper = _document(heddle, ada, name, text)
    heddle.line(tree, f"link {lamp} to doc:{paper} as:evidence")
    page = visit(f"/documents/{paper}")
    expect(page.locator("loom-document")).to_have_attribute("data-ready", "")
    foot = page.locator("loom-document > .portals .portal")
    expect(foot.locator("summary").first).to_contain_text(f"──→ [{lamp}]")
    page.get_by_role("button", name="Read", exact=True).click()
    # What is read is asked for again, and replaces what was there.
    page.wait_for_function("() => document.querySelector('loom-document').drawn !== ''")
    inside = page.locator(".document-read .portal")
    expect(inside).to_have_count(1)
    inside.locator("summary").first.click()
    expect(inside.locator(".portal-end .text")).to_have_text("The lamp is lit.")
    # Read again: what has not changed stays as it is, with what was opened in it.
    page.get_by_role("button", name="Write", exact=True).click()
    with page.expect_response(re.compile("/drawn$")) as drawn:
        page.get_by_role("button", name="Read", exact=True).click()
    drawn.value.finished()
    expect(inside.locator(".portal-end .text")).to_have_text("The lamp is lit.")
    foot.locator("summary").first.click()
    expect(foot.locator(".portal-end .text").first).to_have_text("The lamp is lit.")


def test_a_text_dragged_onto_another_asks_how_they_are_linked(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Dragged", "The debt is owed.", "The will names it.")
    debt, will = _ids(heddle, tree)
    page = live(visit(f"/trees/{tree}"))
    source, other = page.locator("article.node").last, page.locator("article.node").first
    source.locator("header a.id").drag_to(other.locator(":scope > .text"))
    form = source.locator("form.inline-form")
    expect(form.get_by_role("combobox").first).to_have_value(f"[{debt}] The debt is owed.")
    form.locator("select[name=type]").select_option("supports")
    form.get_by_role("button", name="Link", exact=True).click()
    portal = source.locator(".portals .portal > summary")
    expect(portal).to_have_text(f"▶ [supports] ──→ [{debt}]")
    foot = other.locator(".portals .portal > summary")
    expect(foot).to_have_text(f"▶ [supported by] ──→ [{will}]")
