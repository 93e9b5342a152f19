"""The right pane: what a model would be sent, what a tree adds to it, and one's own windows."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, PHONE, Cookies, Heddle, Open
from tests.browser.test_accessible import violations
from tests.browser.test_two_people import live
from tests.providers.scripts import fails, says

MODEL = "Echo"


@pytest.fixture(scope="module", autouse=True)
def _models(heddle: Heddle) -> None:
    """A subject with a price, behind the scripted provider."""
    heddle.post(
        "participants",
        {
            "name": MODEL,
            "model_ref": "scripted:echo",
            "base_url": heddle.provider.url,
            "prices": {"input": 3, "output": 15},
        },
    )


# What was a tab of its own is a part of one of the three.
PARTS = {
    "Memory": ("Context", "memory"),
    "Windows": ("Desk", ""),
    "Links": ("Node", "links"),
    "Trace": ("Desk", "trace"),
    "Participants": ("Desk", "people"),
}


def tab(page: Page, name: str) -> None:
    """Opens a tab of the right pane, or the part of one."""
    name, part = PARTS.get(name, (name, ""))
    page.get_by_role("tab", name=name).click()
    fold = page.locator(f"[data-fold={part}]") if part else None
    if fold is not None and fold.get_attribute("open") is None:
        fold.locator(":scope > summary").click()


def choose(page: Page, name: str) -> None:
    page.get_by_role("combobox", name="Whose context").select_option(label=name)


def section(page: Page, name: str) -> str:
    """The exact text of a section, opened."""
    row = page.locator(".sections details", has=page.get_by_text(name, exact=True))
    if row.get_attribute("open") is None:
        row.locator("summary").click()
    return row.locator("pre").inner_text()


def test_the_context_is_shown_before_anything_is_pressed_and_is_what_is_sent(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("What is sent", "Who is Marie angry at?", "Her father.")
    page = live(visit(f"/trees/{tree}"))
    choose(page, MODEL)
    shown = page.locator("loom-context")
    expect(shown).to_contain_text(f"What {MODEL} is sent next:")
    expect(shown).to_contain_text("2 nodes")
    expect(shown).to_contain_text("About $")
    assert section(page, "Path") == "Who is Marie angry at?\n\nHer father."
    heddle.provider.script(says("Or herself."))
    heddle.line(tree, f'continue n:1 using agent:"{MODEL}"')
    expect(shown).to_contain_text("The same as the last request")
    heddle.line(tree, 'respond here "Why?"')
    page.goto(f"{heddle.url}/trees/{tree}")
    choose(page, MODEL)
    expect(shown).to_contain_text("lines differ")
    shown.get_by_text("Since the last request").click()
    expect(shown.locator(".diff ins").last).to_contain_text("Why?")


def test_memory_and_note_are_edited_beside_the_text_seen_by_others_and_undone(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Steered", "The house stood empty.", "\nThe gate was new.", mode="buffer")
    page = live(visit(f"/trees/{tree}"))
    hers = live(visit(f"/trees/{tree}", who=ada))
    choose(page, MODEL)
    tab(hers, "Memory")
    tab(page, "Memory")
    mine = page.locator("#panel-context .steering")
    mine.get_by_label("Memory").fill("A cold novel.")
    mine.get_by_label("Author's note").fill("[Slow.]")
    mine.get_by_label("paragraphs before the end").fill("1")
    mine.get_by_role("button", name="Save").click()
    expect(mine.get_by_role("status")).to_have_text("saved")
    theirs = hers.locator("#panel-context .steering")
    expect(theirs.get_by_label("Memory")).to_have_value("A cold novel.")
    expect(page.locator(".sections")).to_contain_text("Author's note")
    page.get_by_text("The exact request").click()
    expect(page.locator("loom-context .fold pre").first).to_have_text(
        "A cold novel.\n\nThe house stood empty.\n[Slow.]\nThe gate was new."
    )
    heddle.line(tree, "undo")
    expect(mine.get_by_label("Memory")).to_have_value("")
    expect(page.locator(".sections")).not_to_contain_text("Author's note")


def test_two_people_at_one_memory_lose_nothing_of_what_they_typed(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Two at once", "Who is Marie?")
    page = live(visit(f"/trees/{tree}"))
    hers = live(visit(f"/trees/{tree}", who=ada))
    tab(page, "Memory")
    tab(hers, "Memory")
    mine, theirs = (screen.locator("#panel-context .steering") for screen in (page, hers))
    mine.get_by_label("Memory").fill("Mine, and long.")
    theirs.get_by_label("Memory").fill("Hers.")
    theirs.get_by_role("button", name="Save").click()
    expect(theirs.get_by_role("status")).to_have_text("saved")
    mine.get_by_role("button", name="Save").click()
    expect(mine.get_by_role("status")).to_contain_text("ada has changed the memory")
    expect(mine.get_by_label("Memory")).to_have_value("Mine, and long.")
    expect(page.locator("[data-theirs] pre")).to_have_text("Hers.")
    mine.get_by_role("button", name="Save").click()
    expect(mine.get_by_role("status")).to_have_text("saved")
    expect(theirs.get_by_label("Memory")).to_have_value("Mine, and long.")
    theirs.get_by_label("Author's note").fill("[Hers]")
    mine.get_by_label("Author's note").fill("[Mine]")
    mine.get_by_role("button", name="Save").click()
    expect(mine.get_by_role("status")).to_have_text("saved")
    theirs.get_by_role("button", name="Save").click()
    hers.get_by_role("button", name="Use this instead").click()
    expect(theirs.get_by_label("Author's note")).to_have_value("[Mine]")


def test_a_long_path_is_cut_as_its_reader_chose(heddle: Heddle, visit: Open) -> None:
    words = "word " * 40_000
    tree = heddle.tree("Long", f"First. {words}", *(f"Text {n}." for n in range(6)))
    page = live(visit(f"/trees/{tree}"))
    choose(page, MODEL)
    shown = page.locator("loom-context")
    expect(shown).to_contain_text("in the middle")
    page.get_by_label("If the path is too long").select_option(label="return an error")
    expect(shown).to_contain_text("there is room for")
    page.reload()
    expect(page.get_by_label("If the path is too long")).to_have_value("stopAtLimit")


def test_what_is_typed_in_a_buffer_is_in_the_context(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Typed", "The house stood empty.", mode="buffer")
    page = live(visit(f"/trees/{tree}"))
    choose(page, MODEL)
    book = page.locator(".cm-content")
    book.press("Control+End")
    book.press_sequentially(" She went in.")
    page.get_by_text("The exact request").click()
    expect(page.locator("loom-context .fold pre").first).to_have_text(
        "The house stood empty. She went in."
    )


def test_a_text_is_pinned_hidden_shown_and_closed(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Windows", "Who is Marie?", "A clockmaker.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("article.node").last.focus()
    page.keyboard.press("p")
    tab(page, "Windows")
    rows = page.locator("loom-windows li")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("pinned")
    expect(rows).to_contain_text("A clockmaker.")
    rows.get_by_role("button", name="Hide").click()
    expect(page.locator("loom-windows h2")).to_have_text("Hidden")
    rows.get_by_role("button", name="Show").click()
    expect(page.locator("loom-windows h2")).to_have_text("Open")
    rows.get_by_role("button", name="Close").click()
    expect(rows).to_have_count(0)
    expect(page.locator("loom-windows")).to_contain_text("Nothing is open.")


def test_outline_text_and_three_windows_are_seen_at_once(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("At once", "Who is Marie?", "A clockmaker.", "Of Bern.")
    page = live(visit(f"/trees/{tree}", size={"width": 1280, "height": 800}))
    ids = page.locator("article.node").evaluate_all("all => all.map((one) => one.dataset.id)")
    for local_id in ids:
        heddle.line(tree, f"open {local_id} keep")
    tab(page, "Windows")
    rows = page.locator("loom-windows li")
    expect(rows).to_have_count(len(ids))
    for at in range(3):
        expect(rows.nth(at)).to_be_in_viewport()
    expect(page.locator("article.node").last).to_be_in_viewport()
    expect(page.locator(".pane.left")).to_be_in_viewport()


def test_a_selection_is_stashed_recalled_and_put_into_the_composer(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Stashed", "Who is Marie? A clockmaker of Bern.")
    page = live(visit(f"/trees/{tree}"))
    tab(page, "Windows")
    page.get_by_role("button", name="Stash the selection").click()
    expect(page.get_by_role("alert").first).to_have_text("Select some text first.")
    page.locator("article.node .text").first.select_text()
    page.get_by_role("button", name="Stash the selection").click()
    rows = page.locator("loom-windows li")
    expect(rows).to_contain_text('stash "Who is Marie? A clockmaker of"')
    expect(page.locator("loom-toast .toast")).to_have_text(
        "Stashed: “Who is Marie? A clockmaker of Bern.”"
    )
    page.locator("article.node .text").first.select_text()
    page.get_by_role("button", name="Stash the selection").click()
    expect(page.locator("loom-toast .toast")).to_contain_text("is stashed already")
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="Recall").click()
    expect(page.locator("loom-windows h2")).to_have_text("Open")
    rows.get_by_role("button", name="Insert into the composer").click()
    expect(page.get_by_label("Text of the next node")).to_have_value(
        "Who is Marie? A clockmaker of Bern."
    )
    rows.get_by_role("button", name="Drop").click()
    expect(rows).to_have_count(0)


def test_windows_are_put_in_an_order_by_drag_and_by_keys(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Order", "One.", "Two.", "Three.")
    for line in ("open here keep", "open parent keep"):
        heddle.line(tree, line)
    page = live(visit(f"/trees/{tree}"))
    tab(page, "Windows")
    rows = page.locator("loom-windows li")
    expect(rows).to_have_count(2)

    def listed() -> list[str]:
        return [row.get_attribute("data-number") or "" for row in rows.all()]

    first, second = listed()
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        rows.nth(1).locator(".grip").drag_to(rows.nth(0))
    assert listed() == [second, first]
    page.reload()
    tab(page, "Windows")
    expect(rows.first).to_have_attribute("data-number", second)
    grip = rows.nth(0).get_by_role("button", name=re.compile("^Move .* up or down$"))
    grip.focus()
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        page.keyboard.press("ArrowDown")
    assert listed() == [first, second]
    expect(grip.or_(rows.nth(1).locator(".grip")).last).to_be_focused()


def test_a_stash_is_recalled_into_a_buffer(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Stashed in a buffer", "The house stood empty.", mode="buffer")
    page = live(visit(f"/trees/{tree}"))
    heddle.line(tree, 'stash "rain" " It rained."')
    tab(page, "Windows")
    rows = page.locator("loom-windows li")
    rows.get_by_role("button", name="Recall").click()
    expect(page.locator("loom-windows h2")).to_have_text("Open")
    rows.get_by_role("button", name="Insert into the text").click()
    expect(page.locator(".cm-content")).to_contain_text("The house stood empty. It rained.")
    with page.expect_response(lambda response: "/drafts/" in response.url):
        page.locator(".cm-content").press_sequentially("!")
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("It rained.")


def test_a_summary_is_asked_for_and_again_after_a_failure(heddle: Heddle, visit: Open) -> None:
    model = heddle.post(
        "participants",
        {
            "name": "Summariser",
            "model_ref": "scripted:sum",
            "base_url": heddle.provider.url,
            "api_key": "sk-summaries",
        },
    )
    assert model["has_key"]
    tree = heddle.tree("Summaries", "Marie walks down to the river and does not come back. " * 20)
    page = live(visit(f"/trees/{tree}"))
    tab(page, "Node")
    heddle.provider.script(fails(401, "no"), says("Marie stays at the river."))
    shown = page.locator("loom-summary").first
    shown.get_by_role("button", name="Summarise").click()
    expect(shown.get_by_role("status")).to_contain_text("It failed")
    shown.get_by_role("button", name="Summarise").click()
    expect(shown.locator("[data-shown]")).to_have_text("Marie stays at the river.")
    expect(shown.get_by_role("button", name="Summarise again")).to_be_visible()
    page.get_by_role("link", name="Documents", exact=True).click()
    expect(page.get_by_role("region", name="Documents of this tree")).to_be_visible()


def test_links_and_provenance_have_their_places(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Linked", "One.", "Two.")
    heddle.line(tree, "link here to parent as:supports")
    page = live(visit(f"/trees/{tree}"))
    tab(page, "Node")
    hash_ = page.locator(".details .hash").first
    expect(hash_).to_be_attached()
    expect(hash_).not_to_be_visible()
    page.locator(".provenance summary").click()
    expect(hash_).to_be_visible()
    tab(page, "Links")
    links = page.locator("[data-fold=links]")
    expect(links).to_contain_text("supports")
    links.get_by_role("link", name="One.").click()
    expect(page).to_have_url(re.compile("node="))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tabs_are_accessible_and_fit_on_a_phone(
    heddle: Heddle, visit: Open, theme: str
) -> None:
    tree = heddle.tree("Tabs", "Who is Marie?", "A clockmaker.")
    heddle.line(tree, "open here keep")
    heddle.line(tree, 'stash "Words" "Some words."')
    page = live(visit(f"/trees/{tree}", theme=theme, size=PHONE, bypass_csp=True))
    page.get_by_role("button", name="Details").click()
    expect(page.locator(".sections")).to_contain_text("Path")
    assert violations(page) == []
    for name in ("Memory", "Windows", "Links", "Trace", "Participants"):
        tab(page, name)
        expect(page.get_by_role("tabpanel", name=PARTS[name][0])).to_be_visible()
        assert violations(page) == []
    wide = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert wide


def test_the_page_of_an_agent_shows_what_it_is_taught(heddle: Heddle, visit: Open) -> None:
    given = {
        "name": "Taught",
        "model_ref": "scripted:taught",
        "base_url": heddle.provider.url,
        "permissions": ["loom_aware", "loom_write"],
        "context_limit": 50_000,
    }
    agent = heddle.post("participants", given)
    page = visit(f"/groves/{agent['grove']}/participants/{agent['id']}")
    page.get_by_text("Instructions that come with every request").click()
    expect(page.locator(".taught pre")).to_contain_text("→ annotate REF")
    page.locator(".taught select").select_option("buffer")
    expect(page.locator(".taught pre")).to_contain_text("︱")
    heddle.archive(agent)


@pytest.mark.parametrize("size", [DESK, {"width": 1200, "height": 800}, PHONE])
def test_the_tabs_are_in_one_row_in_which_the_chosen_one_is_seen(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    tree = heddle.tree("One row", "Who is Marie?")
    page = live(visit(f"/trees/{tree}", size=size))
    if size == PHONE:
        page.get_by_role("button", name="Details").click()
    tabs = page.locator(".right [role=tab]")
    tops = tabs.evaluate_all("tabs => tabs.map(one => one.getBoundingClientRect().top)")
    assert len(tops) == 3
    assert len(set(tops)) == 1
    row = page.locator(".right loom-tabs")
    if size == DESK:
        assert row.evaluate("row => row.scrollWidth <= row.clientWidth")
    tabs.first.press("ArrowLeft")  # to the last one
    last = page.get_by_role("tab", name="Desk")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport(ratio=1)
    edge = "one => one.getBoundingClientRect().right"
    assert last.evaluate(edge) <= row.evaluate(edge)
