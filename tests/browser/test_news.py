"""What others did meanwhile: on the tree, in the list, in the title of the tab, by name."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live

HIDE = """() => {
    Object.defineProperty(document, "visibilityState", {value: "hidden", configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""
SHOW = HIDE.replace('"hidden"', '"visible"')


def test_what_others_did_is_shown_to_whoever_comes_back(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Meanwhile", "One.")
    page = visit("/")
    with page.expect_response(re.compile("/seen$")):
        page.goto(f"{heddle.url}/trees/{tree}")
        live(page)
    expect(page.locator(".news")).to_have_count(0)
    page.evaluate(HIDE)
    with heddle.client(ada) as client:
        for line in ('respond root "Hers."', 'annotate root "@owner, is this right?"'):
            answer = client.post(f"/api/trees/{tree}/commands", json={"line": line})
            assert answer.is_success, answer.text
    expect(page).to_have_title(re.compile(r"^\(2\) Meanwhile"))
    page.evaluate(SHOW)
    expect(page).to_have_title(re.compile("^Meanwhile"))
    page.evaluate(HIDE)  # else what comes next is seen there
    away = visit("/settings")
    with heddle.client(ada) as client:
        client.post(f"/api/trees/{tree}/commands", json={"line": 'respond root "Later."'})
    away.goto(heddle.url)
    row = away.locator(f'[data-tree="{tree}"]')
    expect(row.locator(".tree-news")).to_contain_text("new")
    expect(away).to_have_title(re.compile(r"^\(\d+\) "))


def test_a_name_in_an_annotation_reaches_its_person(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Named", "One.")
    node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    heddle.line(tree, f'annotate {node} "Is this right, @ada?"')
    page = visit("/settings", who=ada)
    page.locator(".mentions a").click()
    expect(page.locator(".tree-row").first).to_contain_text("Is this right, @ada?")
    expect(page.locator(".tree-row").first).to_contain_text("new")
    page.locator(".tree-row").first.click()
    with page.expect_response(re.compile("/seen$")):
        live(page)
    page.goto(f"{heddle.url}/mentions")
    expect(page.locator(".tree-row").first).not_to_contain_text("new")
