"""One person on the tree page: moving, writing, finding, undoing, by keyboard alone."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Cookies, Heddle, Open
from tests.browser.test_right_pane import tab
from tests.browser.test_two_people import live


def ids(page: Page) -> list[str]:
    """The path that is drawn."""
    local_ids: list[str] = page.locator("article.node").evaluate_all(
        "all => all.map(n => n.dataset.id)"
    )
    return local_ids


def test_arrows_walk_the_tree_and_back_leads_back(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Walk", "One.", "Two.", "Three.")
    page = live(visit(f"/trees/{tree}"))
    one, two, three = ids(page)
    other = heddle.line(tree, f'respond {two} "Three, otherwise."')["refs"][0]  # type: ignore[index]
    expect(page.locator("article .sib")).to_contain_text("1 / 2")
    page.locator("main").press("ArrowDown")
    expect(page.locator(f"#n-{other}")).to_be_visible()
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(2)
    page.locator("main").press("ArrowRight")
    expect(page.locator(f"#n-{other}")).to_be_visible()
    page.locator("main").press("Home")
    expect(page.locator("article.node")).to_have_count(0)
    page.locator("main").press("End")
    expect(page.locator(f"#n-{other}")).to_be_visible()
    page.go_back()
    expect(page.locator("article.node")).to_have_count(0)
    assert (one, three) != ("", "")


def test_a_move_while_typing_keeps_the_draft_with_its_node(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Drafts", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    field = page.get_by_label("Text of the next node")
    field.fill("half a thou")
    field.press("Alt+ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    expect(field).to_have_value("")
    # The browser's own meaning of Alt and the arrow, going back, did not happen.
    assert "/trees/" in page.url
    page.reload()
    page.locator(".card a").click()
    expect(field).to_have_value("half a thou")


def test_an_edit_as_version_keeps_what_follows_and_the_switch_chooses(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Versions", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").first
    first.get_by_role("button", name="Edit").click()
    form = page.get_by_role("form", name=re.compile("Text of"))
    form.get_by_role("combobox").select_option("version")
    form.get_by_role("textbox").fill("One, better.")
    form.get_by_role("button", name="Save").click()
    expect(first).to_contain_text("One, better.")
    expect(page.locator("article.node")).to_have_count(2)
    first.get_by_role("button", name="Older version").click()
    expect(first.locator(".text")).to_have_text("One.")
    page.reload()
    expect(first.locator(".text")).to_have_text("One.")
    expect(page.locator("article.node")).to_have_count(2)


def test_an_edit_as_fork_makes_a_branch(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Forks", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("e")
    form = page.get_by_role("form", name=re.compile("Text of"))
    form.get_by_role("combobox").select_option("fork")
    form.get_by_role("textbox").fill("Two, elsewhere.")
    form.get_by_role("textbox").press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("Two, elsewhere.")
    expect(page.locator("article.node").last.locator(".sib")).to_contain_text("2 / 2")


def test_notes_bookmarks_and_tags_are_put_and_taken_off(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Marks", "One.")
    page = live(visit(f"/trees/{tree}"))
    node = page.locator("article.node")
    page.locator("main").press("a")
    form = page.get_by_role("form", name=re.compile("Annotate"))
    form.get_by_role("textbox").fill("Look → here")
    form.get_by_role("button", name="Annotate").click()
    expect(node.locator(".note")).to_contain_text("Look → here")
    node.get_by_role("button", name="Resolve").click()
    page.get_by_role("form", name="Reason for resolving").get_by_role("textbox").press("Enter")
    expect(node.locator(".note .flag")).to_have_text("resolved")
    page.locator("main").press("b")
    expect(node.locator("footer")).to_contain_text("★")
    page.get_by_role("tab", name="Bookmarks").click()
    expect(page.locator("#panel-bookmarks")).to_contain_text("One.")
    page.locator("main").press("b")
    expect(node.locator("footer")).not_to_contain_text("★")
    expect(page.locator("#panel-bookmarks")).to_contain_text("are listed here")


def test_search_finds_and_goes_there(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Search", "The summer her father left.", "Nobody said the word.", "Gone.")
    page = live(visit(f"/trees/{tree}"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or command").fill("father")
    # What was offered before anything was typed may still be listed for a moment.
    option = page.get_by_role("listbox").get_by_role("option").filter(has_text="summer her father")
    expect(option).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("article.node")).to_have_count(1)


def test_a_command_is_completed_previewed_and_run(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Commands", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.keyboard.press("Control+k")
    bar = page.get_by_role("combobox", name="Search or command")
    bar.fill("→ bookm")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text(
        "bookmark [REF]"
    )
    bar.press("Tab")
    expect(bar).to_have_value("→ bookmark ")
    bar.press_sequentially("he")
    expect(
        page.get_by_role("listbox").get_by_role("option", name="here", exact=True)
    ).to_be_visible()
    bar.press("Tab")
    expect(bar).to_have_value("→ bookmark here ")
    bar.press_sequentially('"the end"')
    expect(page.locator(".command-answer")).to_contain_text("the end")
    assert "★" not in page.locator("article.node").last.inner_text()
    bar.press("Enter")
    expect(page.locator(".command-answer.done")).to_contain_text("✓ bookmarked")
    expect(page.locator("article.node").last).to_contain_text("★ the end")


def test_a_line_in_the_composer_is_a_command_and_a_wrong_one_stays(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Line width", "One.")
    page = live(visit(f"/trees/{tree}"))
    field = page.get_by_label("Text of the next node")
    field.fill("→ bokmark here")
    field.press("Enter")
    expect(page.locator("[data-answer]")).to_contain_text("INVALID_SYNTAX")
    expect(field).to_have_value("→ bokmark here")
    field.fill('→ bookmark here "x"')
    field.press("Enter")
    expect(page.locator("article.node")).to_contain_text("★ x")


def test_undo_and_redo_by_keys_with_words(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Undo", "One.", "Two.")
    page = live(visit(f"/trees/{tree}"))
    page.locator("main").press("b")
    expect(page.locator(".toast")).to_contain_text("bookmarked")
    page.locator("main").press("Control+z")
    expect(page.locator(".toast")).to_contain_text("undid")
    expect(page.locator("article.node").last.locator("footer")).not_to_contain_text("★")
    page.locator("main").press("Control+Shift+z")
    expect(page.locator("article.node").last.locator("footer")).to_contain_text("★")


def test_what_is_sent_offline_is_kept_and_goes_when_there_is_a_connection(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Offline", "One.")
    page = live(visit(f"/trees/{tree}"))
    page.context.set_offline(True)
    page.get_by_label("Text of the next node").fill("Written in a tunnel.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-live]")).to_contain_text("1 not sent yet")
    page.context.set_offline(False)
    expect(page.locator("article.node").last).to_contain_text("Written in a tunnel.")
    live(page)


def test_the_outline_is_a_tree_for_keyboard_and_screen_reader(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Outline", "One.", "Two.", "Three.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("tab", name="Outline").click()
    items = page.get_by_role("treeitem")
    expect(items).to_have_count(3)
    expect(items.last).to_have_attribute("aria-current", "true")
    expect(items.first).to_have_attribute("aria-expanded", "true")
    items.last.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("article.node")).to_have_count(2)


def test_the_continuations_without_a_card_are_reached_in_the_outline(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Many answers", "One.")
    point = heddle.get(f"trees/{tree}")["workspace"]["position"]  # type: ignore[index]
    for number in range(62):
        heddle.line(tree, f'respond {point} "Answer {number}."')
    page = live(visit(f"/trees/{tree}?node={point}", size=PHONE))
    expect(page.locator(".weave h2")).to_have_text("62 continuations")
    page.get_by_role("button", name="2 more; see the outline.").click()
    expect(page.get_by_role("treeitem", name=re.compile(r"One\."))).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("treeitem", name=re.compile(r"Answer 0\."))).to_be_focused()


def test_a_buffer_tree_is_one_text_character_for_character(
    heddle: Heddle, visit: Open, rhea: Cookies
) -> None:
    tree = heddle.tree(
        "Buffer", "The house", " stood  empty", ",\n\n  at <b>the</b> end.", mode="buffer"
    )
    page = live(visit(f"/trees/{tree}", who=rhea))
    expect(page.locator(".run")).to_have_count(3)
    drawn = page.locator(".stretch").evaluate("one => one.textContent.trim()")
    assert drawn == "The house stood  empty,\n\n  at <b>the</b> end."
    page.locator(".run").first.click()
    expect(page.locator(".details").first).to_contain_text("9 characters")


def test_on_a_phone_three_panes_are_three_tabs(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Phone", "One.", "Two.")
    page = live(visit(f"/trees/{tree}", size=PHONE))
    page.get_by_role("button", name="Map", exact=True).click()
    expect(page.locator("canvas")).to_be_visible()
    expect(page.locator("article.node").first).not_to_be_visible()
    page.get_by_role("button", name="Details").click()
    page.get_by_role("tab", name="Node").click()
    expect(page.locator(".details").first).to_contain_text("Provenance")
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("article.node").first).to_be_visible()
    wide: bool = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide
    sideways: int = page.locator("main").evaluate("main => main.scrollWidth - main.clientWidth")
    assert sideways == 0
    node = page.locator("article.node").last
    node.get_by_label("More for").click()
    node.get_by_role("button", name="Edit").click()
    expect(node.get_by_role("textbox")).to_have_value("Two.")


HOSTILE = "<img src=x onerror=alert(1)> <script>alert(2)</script> [x](javascript:alert(3)) \"'>"


def test_hostile_text_from_every_source_shows_as_text(heddle: Heddle, visit: Open) -> None:
    from tests.providers.scripts import says

    tree = heddle.tree(HOSTILE, HOSTILE)
    quoted = HOSTILE.replace('"', '\\"')
    for line in (f'annotate here "{quoted}"', f'bookmark here "{quoted}"'):
        heddle.line(tree, line)
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(says(HOSTILE))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("1")
    page.get_by_role("button", name="Continue").last.click()
    expect(page.locator(".card:not(.coming) .card-text")).to_contain_text("<script>alert(2)")
    page.get_by_role("tab", name="Outline").click()
    expect(page.get_by_role("treeitem").first).to_contain_text("<script>")
    page.get_by_role("tab", name="Bookmarks").click()
    expect(page.locator("#panel-bookmarks")).to_contain_text("<script>")
    tab(page, "Trace")
    expect(page.locator("[data-fold=trace]")).to_contain_text("<script>")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or command").fill("onerror")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text("<img")
    assert page.locator("main img, nav img, aside img, dialog img").count() == 0
    assert page.locator("a[href^=javascript]").count() == 0


def test_ids_on_a_phone_are_large_enough_for_a_finger(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Ids", "One.", "Two.")
    page = live(visit(f"/trees/{tree}", size=PHONE))
    sizes = "all => all.map(one => one.getBoundingClientRect()).map(one => [one.width, one.height])"
    boxes = page.locator("article.node > header a.id").evaluate_all(sizes)
    assert len(boxes) == 2
    assert min(min(box) for box in boxes) >= 24


def test_a_title_of_one_long_word_does_not_widen_a_page(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("W" * 200, "Text.")
    for path in (f"/trees/{tree}", *(f"/trees/{tree}/{part}" for part in ("share", "about"))):
        page = visit(path, size=PHONE)
        expect(page.locator("main")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path


def test_the_composer_leaves_the_ring_around_the_text_whole(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Ring", "Text.")
    page = live(visit(f"/trees/{tree}"))
    shadow = "one => getComputedStyle(one).boxShadow"
    assert page.locator(".composer").evaluate(shadow) == "none"
    page.locator("main").focus()
    page.keyboard.press("Shift")
    assert "inset" in page.locator(".composer").evaluate(shadow)


def test_a_refused_number_is_called_as_the_composer_calls_it(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Number", "Text.")
    page = live(visit(f"/trees/{tree}"))
    page.get_by_label("answers", exact=True).fill("99")
    page.get_by_label("Text of the next node").press("Control+Enter")
    expect(page.locator("[data-answer]")).to_have_text(
        "“answers” must be at most 10.\nUse 10 or less."
    )


def test_a_text_of_which_nothing_is_seen_is_named_by_its_id(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Unseen", "\u200b\u200b", "Seen.")
    page = live(visit(f"/trees/{tree}"))
    name = page.locator("article.node").first.get_attribute("data-id")
    page.get_by_role("tab", name="Outline").click()
    expect(page.get_by_role("treeitem").first.locator(".excerpt")).to_have_text(str(name))
