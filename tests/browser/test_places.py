"""One place: a person has one position in a tree, whatever browser they open."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Heddle, Open

GO_UP = """() => {
    const { page } = document.querySelector("loom-tree");
    const { store } = page;
    page.go(store.selected(store.pathTo(page.position).at(-2)));
}"""


def shown(page: Page, texts: int) -> Page:
    """The page, once its path has so many texts and it knows the tree."""
    expect(page.locator("article.node")).to_have_count(texts)
    page.wait_for_function("() => document.querySelector('loom-tree').page.store")
    return page


def test_another_browser_opens_a_tree_where_its_reader_was_last(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("One place", "First.", "Second.", "Third.")
    page = shown(visit(f"/trees/{tree}"), 3)
    with page.expect_response(lambda response: response.url.endswith("/place")) as told:
        page.evaluate(GO_UP)
    assert told.value.status == 204
    other = shown(visit(f"/trees/{tree}"), 2)
    expect(other.locator("article.node").last).to_contain_text("Second.")


def test_who_leaves_at_once_is_found_where_they_were(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Left at once", "First.", "Second.")
    page = shown(visit(f"/trees/{tree}"), 2)
    page.evaluate(GO_UP)
    node = page.evaluate("() => document.querySelector('loom-tree').page.position")
    page.goto("about:blank")
    for _ in range(50):
        if heddle.get(f"trees/{tree}")["workspace"]["position"] == node:  # type: ignore[index]
            return
        page.wait_for_timeout(100)
    raise AssertionError("the place was not stored")
