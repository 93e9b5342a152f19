"""Every page by axe, WCAG 2.2 AA, in both themes, wide and narrow: no violation."""

from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, opened
from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open
from tests.browser.test_two_people import live
from tests.house.processes import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

pytestmark = pytest.mark.skipif(not AXE.exists(), reason="axe-core: run npm ci")
sizes = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
# Returns when every animation has ended, but those without an end.
STILL = """() => Promise.allSettled(document.getAnimations()
    .filter(one => one.effect.getTiming().iterations !== Infinity).map(one => one.finished))"""

GROUND = """() => [document.documentElement, document.body]
    .map(one => getComputedStyle(one).backgroundColor).join()"""


def violations(page: Page, rules: Sequence[str] = RULES) -> list[str]:
    """What axe finds: rule, and where, once a path that is being read is no longer pale."""
    expect(page.locator(".thread[aria-busy=true]")).to_have_count(0)
    page.add_script_tag(path=AXE)
    broken: list[dict[str, Any]] = page.evaluate(
        # On a phone one of three panes is seen at a time, and not always the main one.
        # What is half behind the composer can be scrolled out: its size is taken there.
        """async rules => {
            const but = {"landmark-one-main": {enabled: false}};
            const run = rules.length > 1 ? {runOnly: rules, rules: but} : {runOnly: rules};
            const said = await axe.run(run);
            for (const one of said.violations.filter(one => one.id === "target-size")) {
                const still = [];
                for (const node of one.nodes) {
                    const target = document.querySelector(node.target[0]);
                    target.scrollIntoView({block: "center"});
                    const again = await axe.run(target, {runOnly: ["target-size"]});
                    still.push(...again.violations.flatMap(other => other.nodes));
                }
                one.nodes = still;
            }
            return said.violations;
        }""",
        list(rules),
    )
    return [
        f"{rule['id']}: {node['target']} {node['any'][0]['message'] if node['any'] else ''}"
        for rule in broken
        for node in rule["nodes"]
    ]


def violations_in_both_themes(page: Page) -> list[str]:
    """What axe finds on a page that was opened in the light theme, and of its colours in the dark
    one: no other rule looks at them."""
    in_light, light = violations(page), page.evaluate(GROUND)
    page.emulate_media(color_scheme="dark")
    page.evaluate(STILL)
    assert page.evaluate(GROUND) != light, "the page has no dark theme"
    in_dark = violations(page, ["color-contrast"])
    page.emulate_media(color_scheme="light")
    page.evaluate(STILL)
    return [*in_light, *(f"dark: {violation}" for violation in in_dark)]


@pytest.fixture(scope="module")
def rich(heddle: Heddle) -> dict[str, str]:
    """Trees with one of everything on them, by mode."""
    trees = {}
    for mode in ("dialogue", "buffer"):
        tree = heddle.tree(f"Rich {mode}", "One *fine* day.", " Then > another.", mode=mode)
        for line in (
            'annotate here "A note." as:question',
            'bookmark here "turning point"',
            'tag here #father #"two words"',
            'respond here "Three."',
            'edit parent "Then `one` more." as:version',
            "exclude here",
            'respond parent "Otherwise."',
            "switch to parent",
        ):
            heddle.line(tree, line)
        trees[mode] = tree
    return trees


@sizes
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_the_tree_page(rich: dict[str, str], visit: Open, mode: str, size: dict[str, int]) -> None:
    page = live(visit(f"/trees/{rich[mode]}", size=size, bypass_csp=True))
    expect(page.locator(".card").first).to_be_attached()
    expect(page.locator("loom-map[data-ready]")).to_be_attached()
    assert violations_in_both_themes(page) == []
    for tab in ("Outline", "Bookmarks", "Node", "Context", "Desk"):
        page.get_by_role("tab", name=tab, include_hidden=True).evaluate("tab => tab.click()")
    for pane in ("map", "side"):
        page.evaluate("pane => document.querySelector(`[data-pane=${pane}]`).click()", pane)
        page.evaluate(STILL)
        assert violations_in_both_themes(page) == []


@sizes
def test_a_buffer_while_it_is_written(
    house: str, visit: Open, ada: Cookies, size: dict[str, int]
) -> None:
    hers = opened(visit(f"/trees/{house}", who=ada))
    book(hers).press("Control+End")
    book(hers).press_sequentially(" Hers")
    place = hers.evaluate("document.querySelector('loom-tree').page.position")
    address = f"/trees/{house}?node={place}"
    page = opened(visit(address, size=size, bypass_csp=True))
    caret(page, 3)
    book(page).press_sequentially(" old")
    expect(page.locator(".shadow")).to_be_visible()
    book(page).press("Control+s")
    expect(page.get_by_role("button", name="Later")).to_be_visible()
    assert violations_in_both_themes(page) == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"


@sizes
def test_the_command_bar_and_the_keys(
    rich: dict[str, str], visit: Open, size: dict[str, int]
) -> None:
    page = live(visit(f"/trees/{rich['dialogue']}", size=size, bypass_csp=True))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or command").fill("→ ")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    assert violations_in_both_themes(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.locator("main").press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations_in_both_themes(page) == []


@sizes
def test_forms_that_open_in_the_text(
    rich: dict[str, str], visit: Open, size: dict[str, int]
) -> None:
    page = live(visit(f"/trees/{rich['dialogue']}", size=size, bypass_csp=True))
    for key in ("e", "a", "l"):
        page.locator("main").press(key)
        expect(page.locator("form.inline-form")).to_be_visible()
        assert violations_in_both_themes(page) == []
        page.keyboard.press("Escape")
        expect(page.locator("form.inline-form")).to_have_count(0)


@sizes
def test_pages_of_forms_and_lists(
    heddle: Heddle, rich: dict[str, str], visit: Open, size: dict[str, int]
) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    for path in (
        "/",
        f"/groves/{grove}?q=fine",
        f"/groves/{grove}/people",
        f"/groves/{grove}/participants",
        f"/groves/{grove}/participants/new",
        f"/trees/{rich['dialogue']}/about",
        f"/groves/{grove}/settings",
        "/settings",
        "/settings/look",
        "/settings/keys",
        "/settings/access",
        "/guide",
        "/about",
        "/offline",
        "/nowhere",
    ):
        page = visit(path, size=size, bypass_csp=True)
        assert violations_in_both_themes(page) == [], path
        page.context.close()
    page = visit("/signin", size=size, anonymous=True, bypass_csp=True)
    assert violations_in_both_themes(page) == []
