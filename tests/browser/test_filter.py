"""Filtering map and outline: by author, tag, bookmark, and what is pruned."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_accessible import violations_in_both_themes
from tests.browser.test_two_people import live


@pytest.fixture
def tree(heddle: Heddle) -> str:
    """One > (Two, tagged > Three) and a pruned Four."""
    own_tree = heddle.tree("Filter", "One.", "Two.", "Three.")
    _, one, two, _ = [node["id"] for node in heddle.get(f"trees/{own_tree}/path")["nodes"]]  # type: ignore[attr-defined]
    heddle.line(own_tree, f"tag {two} #draft")
    four = heddle.line(own_tree, f'respond {one} "Four."')["refs"][0]  # type: ignore[index]
    heddle.line(own_tree, f"prune {four}")
    heddle.line(own_tree, f"switch to {one}")
    return own_tree


def opened(page: Page) -> Page:
    """The page with its outline and its filter in sight."""
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    if page.get_by_role("button", name="Map", exact=True).is_visible():
        page.get_by_role("button", name="Map", exact=True).click()
    page.get_by_role("tab", name="Outline").click()
    page.locator("loom-filter summary").click()
    return page


def shows(page: Page, *words: str) -> None:
    """Waits until these are the rows of the outline; in brackets those that only lead to
    what was asked for."""
    page.wait_for_function(
        """words => [...document.querySelectorAll("loom-outline [role=treeitem]")]
            .map(one => [one.querySelector(".excerpt").textContent, one])
            .map(([told, one]) => one.classList.contains("aside") ? `(${told})` : told)
            .join(" ") === words""",
        arg=" ".join(words),
    )


def test_the_outline_shows_what_bears_a_tag_and_the_way_to_it(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    page.get_by_role("combobox", name="Tagged").select_option("draft")
    shows(page, "(One.)", "Two.")
    expect(page.locator("loom-filter [role=status]")).to_have_text("1 text shown")
    page.get_by_role("button", name="show all").click()
    expect(page.locator("loom-filter [role=status]")).to_have_text("")
    expect(page.locator("loom-filter summary")).to_be_focused()
    shows(page, "One.", "Two.")


def test_what_is_pruned_can_be_found_and_gone_to(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    page.get_by_role("checkbox", name="Pruned").check()
    shows(page, "(One.)", "Four.")
    page.get_by_role("treeitem", name="Four., pruned").click()
    expect(page.locator("article.node").last).to_contain_text("Four.")


def test_marks_and_wishes_are_followed_while_they_change(
    heddle: Heddle, visit: Open, tree: str
) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    page.get_by_role("checkbox", name="Bookmarked").check()
    expect(page.locator("loom-filter [role=status]")).to_have_text("0 texts shown")
    expect(page.locator("loom-outline [role=treeitem]")).to_have_count(0)
    heddle.line(tree, 'bookmark "here"')
    shows(page, "One.")
    heddle.line(tree, "unbookmark")
    expect(page.locator("loom-filter [role=status]")).to_have_text("0 texts shown")


def test_the_map_keeps_its_colours_for_what_is_let_through(visit: Open, tree: str) -> None:
    page = opened(live(visit(f"/trees/{tree}")))
    told = """map => {
        const {matches, marked, isMatch} = map.kept;
        return [matches && [...matches.order].map(place => map.page.excerpts.of(
            map.page.store.selected(map.scene.slots[place]))), marked.size];
    }"""
    drawn = page.locator("loom-map")
    assert drawn.evaluate(told) == [None, 0]
    page.get_by_role("combobox", name="Tagged").select_option("draft")
    shows(page, "(One.)", "Two.")
    assert drawn.evaluate(told) == [["Two."], 0]


def test_the_filter_is_used_by_keys_alone(visit: Open, tree: str) -> None:
    page = live(visit(f"/trees/{tree}"))
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    page.get_by_role("tab", name="Map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Tagged")).to_be_enabled()
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Written by")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("d")
    shows(page, "(One.)", "Two.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Tagged")).to_be_hidden()
    expect(page.locator("loom-filter summary")).to_be_focused()
    # The filter still holds, and says so.
    expect(page.locator("loom-filter [role=status]")).to_have_text("1 text shown")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_open_filter_breaks_no_rule_of_accessibility(
    visit: Open, tree: str, size: dict[str, int]
) -> None:
    page = opened(live(visit(f"/trees/{tree}", size=size, bypass_csp=True)))
    page.get_by_role("checkbox", name="Pruned").check()
    expect(page.locator("loom-outline .pruned")).to_have_count(1)
    assert violations_in_both_themes(page) == []
