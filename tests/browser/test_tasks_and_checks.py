"""Boxes of tasks and badges of checks: what one person or a line does is seen by the other."""

from uuid import uuid4

from playwright.sync_api import Route, expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import both


def test_a_click_on_a_box_is_seen_by_the_other_person_and_a_line_toggles_it_back(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Tasks", "- [ ] light the lamp\n- [ ] wake the keeper")
    mine, hers = both(visit, heddle, tree, ada)
    name = "Done: light the lamp"
    mine.get_by_label(name).check()
    expect(hers.get_by_label(name)).to_be_checked()
    expect(hers.get_by_label("Done: wake the keeper")).not_to_be_checked()
    at = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    heddle.line(tree, f"todo uncheck {at} token:1")
    for page in (mine, hers):
        expect(page.get_by_label(name)).not_to_be_checked()
    hers.reload()
    expect(hers.get_by_label(name)).not_to_be_checked()


def test_a_box_that_two_people_tick_at_once_stays_ticked(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Ticked twice", "- [ ] light the lamp")
    at = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    mine, _ = both(visit, heddle, tree, ada)
    box = mine.get_by_label("Done: light the lamp")
    expect(box).to_be_enabled()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    mine.route("**/commands", hold, times=1)
    with mine.expect_request("**/commands"):
        box.click()
    heddle.line(tree, f"todo check {at} token:1")
    expect(mine.locator("[data-task-state=checked]")).to_have_count(1)
    with mine.expect_response(f"**/items/{at}/tokens**"):
        held[0].continue_()
    expect(box).to_be_enabled()
    expect(box).to_be_checked()


def test_tasks_of_a_document_are_boxes_where_it_is_read(
    heddle: Heddle, visit: Open, ada: Cookies, rhea: Cookies
) -> None:
    tree = heddle.tree("Home of a plan", "Once.")
    text = (
        "# Plan\n\n- [ ] light the lamp\n- [x] wake the keeper\n    - [ ] with tea\n\n"
        "```\n- [ ] code\n```\n"
    )
    document = heddle.post("documents", {"title": f"Plan {uuid4().hex[:6]}", "text": text})
    heddle.line(tree, f"link doc:{document['id']} to tree:{tree}")
    pages = [visit(f"/documents/{document['id']}", who=who) for who in (None, ada, rhea)]
    for page in pages:
        page.get_by_role("button", name="Read", exact=True).click()
        expect(page.locator(".document-read .task-box")).to_have_count(3)
        expect(page.get_by_label("Done: wake the keeper")).to_be_checked()
        expect(page.locator(".document-read")).not_to_contain_text("[ ] light")
    mine, hers, reads = (page.get_by_label("Done: light the lamp") for page in pages)
    expect(reads).to_be_disabled()
    expect(reads).not_to_be_checked()
    expect(hers).to_be_enabled()
    expect(mine).to_be_enabled()
    mine.check()
    for box in (hers, reads):
        expect(box).to_be_checked()
    hers.uncheck()
    for box in (mine, reads):
        expect(box).not_to_be_checked()
    mine.check()
    expect(reads).to_be_checked()  # the server has it
    key = mine.get_attribute("data-token")
    heddle.line(tree, f"todo archive doc:{document['id']} token:{key}")
    expect(mine).to_be_disabled()
    # The text says it, too.
    pages[0].get_by_role("button", name="Write", exact=True).click()
    expect(pages[0].locator(".document-editor")).to_contain_text("- [x] light the lamp")


def test_what_a_check_says_is_a_badge_for_both(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    tree = heddle.tree("Checked", "The lamp burns all night long.")
    name = f"short {uuid4().hex[:6]}"
    scope = {"scope": f"tree:{tree}", "parameters": {"n": 3}}
    check = heddle.post("checks", {"name": name, "kind": "max_words", **scope})
    mine, hers = both(visit, heddle, tree, ada)
    expect(mine.locator("article.node").last).to_contain_text("The lamp burns")
    at = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    heddle.line(tree, f'check {at} "{name}"')
    for page in (mine, hers):
        badge = page.locator(f"[data-id='{at}'] .check-badge").first
        expect(badge).to_have_text("✗ 1")
        expect(badge).to_have_attribute("title", f"✗ {name} 6 > 3")
    with heddle.client() as client:
        answer = client.patch(f"/api/checks/{check['id']}", json={"parameters": {"n": 9}})
        assert answer.is_success, answer.text
    hers.reload()
    expect(hers.locator("article.node").last).to_contain_text("The lamp burns")
    expect(hers.locator(".check-badge")).to_have_count(0)  # other parameters, no result yet
    mine.locator(".check-badge").first.click()
    expect(hers.locator(".check-badge").first).to_have_text("✓ 1")
    with heddle.client() as client:
        client.delete(f"/api/checks/{check['id']}")


def test_what_a_check_says_of_a_document_is_a_badge_for_both(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    name = f"short {uuid4().hex[:6]}"
    tree = heddle.tree("Checked papers", "The lamp burns.")
    document = heddle.post(
        "documents", {"title": f"Papers {name}", "text": "It burns all night long."}
    )
    heddle.line(tree, f"link doc:{document['id']} to tree:{tree}")
    scope = {"scope": f"doc:{document['id']}", "parameters": {"n": 3}}
    check = heddle.post("checks", {"name": name, "kind": "max_words", **scope})
    mine = visit(f"/documents/{document['id']}")
    hers = visit(f"/documents/{document['id']}", who=ada)
    for page in (mine, hers):
        expect(page.locator(".check-badge")).to_have_text("Check")
    mine.locator(".check-badge").click()
    for page in (mine, hers):
        expect(page.locator(".check-badge")).to_have_text("✗ 1")
        expect(page.locator(".check-badge")).to_have_attribute("title", f"✗ {name} 5 > 3")
    heddle.line(tree, f'write doc:{document["id"]} replace:" all night" with:""')
    heddle.line(tree, f"check doc:{document['id']}")
    for page in (mine, hers):
        expect(page.locator(".check-badge")).to_have_text("✓ 1")
    hers.reload()
    expect(hers.locator(".check-badge")).to_have_text("✓ 1")
    with heddle.client() as client:
        client.delete(f"/api/checks/{check['id']}")


def test_a_box_checks_its_own_task_beside_code_quotes_and_numbers(
    heddle: Heddle, visit: Open
) -> None:
    code = "```\n- [ ] sample in code\n```"
    text = f"{code}\n1. [ ] numbered\n\n> - [ ] quoted\n\n- [ ] first real\n- [ ] second real"
    tree = heddle.tree("Own tasks", text)
    page = visit(f"/trees/{tree}")
    names = ("numbered", "quoted", "first real", "second real")
    for name in names:
        expect(page.get_by_label(f"Done: {name}")).to_be_enabled()
    page.get_by_label("Done: first real").check()
    expect(page.locator("[data-task-state=checked]")).to_have_text("first real")
    page.reload()
    for name in names:
        expect(page.get_by_label(f"Done: {name}")).to_be_checked(checked=name == "first real")
