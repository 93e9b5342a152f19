"""The workspace beside the tree: tasks, augments, what it takes, arrangements, an agent's live."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_accessible import violations, violations_in_both_themes
from tests.browser.test_right_pane import tab
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, Script, holds, says

PATIENT = 30_000  # ms: the first task of a worker has to import what it runs
SHOTS = os.environ.get("HEDDLE_SHOTS", "")


@pytest.fixture(scope="module", autouse=True)
def _watcher(heddle: Heddle) -> Iterator[None]:
    """A loom-aware agent behind the scripted provider, for these journeys only."""
    agent = heddle.post(
        "participants",
        {
            "name": "Watcher",
            "model_ref": "scripted:watcher",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write", "loom_generate", "doc_read"],
            "context_limit": 50_000,
        },
    )
    yield
    with heddle.client() as client:
        assert client.delete(f"/api/participants/{agent['id']}").is_success


def panel(page: Page) -> Locator:
    """What is below the windows, in sight."""
    tab(page, "Windows")
    return page.locator("loom-workspace")


def part(page: Page, name: str) -> Locator:
    """One of its lists."""
    return page.locator(f"loom-workspace [data-list={name}]")


def turn(heddle: Heddle, tree: str, agent: str = "Watcher") -> str:
    """The id of a turn that was asked for."""
    with heddle.client() as client:
        every = client.get("/api/participants").json()["results"]
    uid = next(participant["id"] for participant in every if participant["name"] == agent)
    return str(heddle.post(f"trees/{tree}/turns", {"participant": uid})["id"])


def test_tasks_are_clicked_and_augments_loaded_by_keyboard_alone(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Tasks", "Who is Marie?")
    heddle.line(tree, "augment store panel/base\nLook twice.\n←")
    heddle.line(tree, "augment store panel/slow\n---\nrequires: panel/base\n---\nRead slowly.\n←")
    page = live(visit(f"/trees/{tree}"))
    box = panel(page)
    box.get_by_label("New task").fill('Read "all" of it')
    page.keyboard.press("Enter")
    task = part(page, "tasks").get_by_role("checkbox", name='Read "all" of it')
    expect(task).not_to_be_checked()
    expect(box.get_by_label("New task")).to_have_value("")
    task.focus()
    page.keyboard.press("Space")
    expect(part(page, "tasks").locator("li.checked")).to_have_count(1)
    expect(task).to_be_checked()
    expect(task).to_be_focused()
    load = box.get_by_role("button", name="Load panel/slow")
    load.focus()
    page.keyboard.press("Enter")
    rows = part(page, "augments").locator("li")
    slow = rows.filter(has=page.locator("b", has_text="panel/slow"))
    expect(slow).to_contain_text("loaded")
    expect(rows.filter(has_text="needed by panel/slow")).to_contain_text("panel/base")
    expect(box.get_by_role("button", name="Unload panel/slow")).to_be_focused()
    expect(box.get_by_role("button", name="Load panel/base")).to_have_count(0)
    expect(part(page, "sizes")).to_contain_text("Augments")
    box.get_by_role("button", name="Pin panel/slow").click()
    expect(slow).to_contain_text("pinned")
    box.get_by_role("button", name="Unload panel/slow").click()
    expect(slow).not_to_contain_text("pinned")
    expect(slow).not_to_contain_text("loaded")
    box.get_by_role("button", name="Remove the task").click()
    expect(part(page, "tasks")).to_contain_text("No tasks.")
    expect(part(page, "steps").locator("li").first).to_contain_text("Changed the tasks")


def test_the_scratchpad_of_an_agent_is_read_and_changed_beside_its_windows(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Scratchpad", "Who is Marie?")
    page = live(visit(f"/trees/{tree}"))
    box = panel(page)
    page.get_by_label("Whose windows").select_option(label="Watcher")
    field = box.get_by_label("Scratchpad")
    expect(field).to_have_value("")
    heddle.provider.script(says('→ scratchpad "Marie counts boats."'))
    turn(heddle, tree)
    expect(field).to_have_value("Marie counts boats.", timeout=PATIENT)
    field.fill('Marie counts\n"boats".')
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(part(page, "steps").locator("li").first).to_contain_text("Wrote on the scratchpad")
    expect(part(page, "sizes")).to_contain_text("Scratchpad")
    expect(field).to_have_value('Marie counts\n"boats".')
    field.fill("")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    cleared = part(page, "steps").locator("li").first.locator(".line")
    expect(cleared).to_have_attribute("title", re.compile("→ scratchpad clear$"))


def test_a_question_of_an_agent_is_shown_with_a_field_and_answered_in_it(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Asked", "Who is Marie?")
    page = live(visit(f"/trees/{tree}"))
    with heddle.client() as client:
        me = client.get("/api/me").json()
        every = client.get("/api/participants").json()["results"]
    name = next(participant["name"] for participant in every if participant["kind"] == "human")
    assert me
    heddle.provider.script(says(f'→ ask "{name}" "Which end?" wait\n'), says("Then the dark one."))
    turn(heddle, tree)
    told = page.locator("loom-toast")
    expect(told).to_contain_text("Watcher asks: Which end?", timeout=PATIENT)
    told.get_by_role("button", name="Answer").click()
    field = page.locator("loom-answer textarea").first
    expect(field).to_be_focused()
    field.fill("The dark one.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("aside.note .reply").first).to_contain_text("The dark one.")
    expect(page.locator("loom-answer")).to_have_count(0)
    expect(page.locator("article.node").last).to_contain_text("Then the dark one.", timeout=PATIENT)


def test_what_an_agent_opens_and_hides_is_seen_while_it_does(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Seen live", "Who is Marie?")
    page = live(visit(f"/trees/{tree}"))
    panel(page)
    at = page.locator("article.node").get_attribute("data-id")
    page.get_by_label("Whose windows").select_option(label="Watcher")
    expect(part(page, "steps")).to_contain_text("Nothing has been done yet.")
    heddle.provider.script(
        says(f'→ open {at} keep\n→ todo add "Look again"\n'),
        holds("I see.\n", HOLD, f"→ hide #1\n→ view {at} full\n"),
        says("Done."),
    )
    turn(heddle, tree)
    windows = page.locator("loom-windows")
    expect(windows.get_by_role("heading", name="Open")).to_be_visible()
    expect(windows.locator("li")).to_contain_text("Who is Marie?")
    expect(part(page, "tasks")).to_contain_text("Look again")
    expect(part(page, "budget")).to_contain_text("steps 2/100")
    heddle.provider.release()
    expect(windows.get_by_role("heading", name="Hidden")).to_be_visible()
    result = windows.locator("li", has_text=f"view {at} full").first
    expect(result.get_by_role("button", name="Show").locator("svg.eye")).to_be_visible()
    expect(part(page, "steps")).to_contain_text("Hid a window")
    box = page.locator("loom-workspace")
    expect(box.locator("[data-mine]")).to_be_hidden()
    box.get_by_role("checkbox", name="Look again").check()
    expect(part(page, "tasks").locator("li.checked")).to_have_count(1)


def test_what_becomes_of_a_search_is_seen_where_it_was_not_asked_for(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Searched", "Who is Marie?")
    listed: Any = heddle.get("groves")["results"]
    with heddle.client() as client:
        where = f"/api/groves/{listed[0]['id']}/web-search"
        body = {"kind": "searxng", "base_url": f"http://{heddle.provider.entry}"}
        assert client.put(where, json=body).is_success
    page = live(visit(f"/trees/{tree}"))
    panel(page)
    expect(part(page, "steps")).to_contain_text("Wrote a text")
    heddle.provider.script(Script(status=429, body=b"{}"))
    with heddle.client() as client:
        line = {"line": 'search "clock towers"'}
        client.post(f"/api/trees/{tree}/commands", json=line, timeout=60)  # answered, or 202
        refused = part(page, "steps").locator("[title=LIMIT_EXCEEDED]")
        expect(refused).to_contain_text("not done", timeout=PATIENT)
        assert client.delete(where).is_success


def test_a_turn_that_asks_for_steps_is_given_them(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("More steps", "Who is Marie?")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(
        says('→ budget extend steps:7 why:"two more letters"\n'), holds("I ", HOLD, "wait.")
    )
    turn(heddle, tree)
    wants = page.locator(".turn-wants")
    expect(wants).to_contain_text("Watcher asks for 7 more steps.")
    expect(wants.locator("q")).to_have_text("two more letters")
    wants.get_by_role("button", name="Grant").click()
    expect(wants).to_have_count(0)
    expect(page.locator(".turn footer")).to_contain_text("/107")
    heddle.provider.release()
    expect(page.locator(".turn [data-state]")).to_have_text("done")


def test_a_past_call_is_read_beside_the_tree_and_copied_without_its_key(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Called", "Who is Marie angry at?")
    heddle.provider.script(says("Her father."))
    answer = heddle.line(tree, 'continue n:1 using agent:"Watcher"')
    with heddle.client() as client:
        uid = answer["generations"][0]  # type: ignore[index]
        wait = "/api/generations/" + str(uid)
        page = live(visit(f"/trees/{tree}"))
        expect(page.locator(".card")).to_contain_text("Her father.")
        node = client.get(wait).json()["node"]
    page = live(visit(f"/trees/{tree}?node={node}"))
    page.get_by_role("tab", name="Node").click()
    call = page.locator("#panel-node .details .provenance", has_text="The call that wrote this")
    call.locator("summary").first.click()
    expect(call.locator("pre").first).to_contain_text("Who is Marie angry at?")
    call.get_by_text("The answer").click()
    expect(call.locator("loom-panel")).to_contain_text("Her father.")
    call.get_by_text("The same request with curl").click()
    curl = call.locator("[data-secret]")
    expect(curl).to_contain_text("$HEDDLE_KEY")
    expect(curl).to_contain_text("Who is Marie angry at?")
    call.get_by_role("button", name="Copy").click()
    expect(call.locator("[data-copy]")).not_to_have_text("Copy")


def test_an_arrangement_is_kept_renamed_opened_in_another_tree_and_deleted(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Arranged", "A lamp stood there.", "It was late.")
    heddle.line(tree, 'write doc:"Arranged notes" new "The lamp is brass."')
    heddle.line(tree, 'open doc:"Arranged notes" keep')
    heddle.line(tree, 'find "late" open')
    heddle.line(tree, 'open parent keep label:"scene"')
    page = live(visit(f"/trees/{tree}"))
    box = panel(page)
    expect(page.locator("loom-windows li")).to_have_count(3)
    box.get_by_label("Name of the arrangement").fill("Lamps")
    box.get_by_role("button", name="Save what is open").click()
    rows = part(page, "arrangements").locator("li")
    expect(rows).to_contain_text("Lamps 3 windows")
    rows.get_by_role("button", name="Rename").click()
    form = page.get_by_role("form", name="Name of the arrangement")
    form.get_by_role("textbox").fill("Lights")
    # What happens meanwhile leaves the form as it is.
    heddle.line(tree, 'todo add "Look up"')
    expect(part(page, "tasks")).to_contain_text("Look up")
    expect(form.get_by_role("textbox")).to_have_value("Lights")
    form.get_by_role("button", name="Rename").click()
    expect(rows.get_by_text("Lights")).to_be_visible()
    other = heddle.tree("Elsewhere", "Another story.")
    page = live(visit(f"/trees/{other}"))
    panel(page)
    expect(page.locator("loom-windows")).to_contain_text("Nothing is open.")
    rows = part(page, "arrangements").locator("li")
    rows.get_by_role("button", name="Open").click()
    windows = page.locator("loom-windows li")
    expect(windows).to_have_count(3)
    for text in ("The lamp is brass.", "It was late.", "A lamp stood there."):
        expect(page.locator("loom-windows")).to_contain_text(text)
    rows.get_by_role("button", name="Delete").click()
    expect(part(page, "arrangements")).to_contain_text("Save what is open under a name")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_documents_searches_and_texts_of_other_trees_are_opened_without_a_command(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    other = heddle.tree("Far away", "A ferry crossed.")
    tree = heddle.tree("Opened by words", "A lamp stood there.", "It was late.")
    name = f"Lamps of {tree}"
    heddle.line(tree, f'write doc:"{name}" new "It is brass."')
    page = live(visit(f"/trees/{tree}", size=size))
    if size == PHONE:
        page.get_by_role("button", name="Details").click()
    tab(page, "Windows")
    field = page.get_by_role("combobox", name="Open beside the text")
    windows, shown = page.locator("loom-windows li"), page.locator("loom-windows")
    field.fill(name.lower())
    field.press("Enter")
    expect(shown).to_contain_text("It is brass.")
    expect(field).to_have_value("")
    field.fill("late")
    field.press("Enter")
    expect(shown).to_contain_text("It was late.")
    node = heddle.get(f"trees/{other}/nodes?limit=9")["results"][1]["id"]  # type: ignore[index]
    field.fill(f"{heddle.url}/trees/{other}?node={node}")
    field.press("Enter")
    expect(shown).to_contain_text("A ferry crossed.")
    expect(windows).to_have_count(3)
    field.fill("no such word anywhere")
    field.press("Enter")
    expect(shown.get_by_role("alert")).to_contain_text("Nothing was found.")
    field.fill('doc:"Not there"')
    field.press("Enter")
    expect(shown.get_by_role("alert")).to_contain_text("was not found")
    expect(windows).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.get_by_label("Whose windows").select_option(label="Watcher")
    expect(windows).to_have_count(0)
    field.fill(name)
    field.press("Enter")
    expect(shown).to_contain_text("It is brass.")
    expect(windows).to_have_count(1)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_panel_is_accessible_and_fits(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    tree = heddle.tree("Panel", "Who is Marie?", "A clockmaker of Bern.")
    for line in (
        f"augment store panel/plain-{size['width']}\nWrite plainly.\n←",
        f"augment load panel/plain-{size['width']}",
        "open here keep",
        "open parent keep",
        'todo add "Read the letters" "Ask the clockmaker"',
        "todo done t1",
        "expand root",
    ):
        heddle.line(tree, line)
    page = live(visit(f"/trees/{tree}", size=size, bypass_csp=True))
    if size == PHONE:
        page.get_by_role("button", name="Details").click()
    box = panel(page)
    expect(part(page, "tasks")).to_contain_text("Ask the clockmaker")
    assert violations_in_both_themes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if SHOTS:
        for at, element in enumerate((page.locator("loom-windows"), box)):
            element.scroll_into_view_if_needed()
            page.screenshot(path=Path(SHOTS) / f"panel-{size['width']}-{at}.png")


def test_windows_show_differences_and_what_is_around_and_are_hidden_at_once(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Differences", "one\ntwo\nthree\nfour")
    heddle.line(tree, 'edit here lines:2 replace:"two" with:"zwei" as:version')
    heddle.line(tree, "open here as:diff keep")
    heddle.line(tree, "open here lines:3 pad:1 keep")
    page = live(visit(f"/trees/{tree}", bypass_csp=True))
    box = panel(page)
    rows = page.locator("loom-windows li")
    expect(rows.first.locator("ins")).to_contain_text(["+++", "+zwei"])
    expect(rows.first.locator("del")).to_contain_text(["---", "-two"])
    expect(rows.last.locator(".around")).to_have_text(["zwei", "four"])
    hide = box.get_by_role("button", name="Hide all windows")
    hide.click()
    expect(page.locator("loom-windows h2")).to_have_text("Hidden")
    expect(hide).to_be_focused()
    page.locator("main").focus()
    expect(hide).to_be_hidden()
    assert violations(page) == []


def test_a_window_leads_to_what_it_shows_and_says_what_changed_last(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Leading", "one", "two")
    heddle.line(tree, 'write doc:"Plan" new "A lamp burns."')
    heddle.line(tree, 'open doc:"Plan" keep')
    heddle.line(tree, 'write doc:"Plan" replace:"lamp" with:"candle"')
    first = str(heddle.line(tree, 'respond root "beside"')["refs"][0])  # type: ignore[index]
    heddle.line(tree, 'respond root "elsewhere"')
    heddle.line(tree, f"open {first} keep")
    page = live(visit(f"/trees/{tree}", bypass_csp=True))
    panel(page)
    rows = page.locator("loom-windows li[data-number]")
    plan = rows.filter(has_text='doc:"Plan"')
    expect(plan.locator(".window-head")).to_contain_text("an older version")
    plan.get_by_text("Last changes").click()
    change = plan.locator(".change").first
    expect(change.locator("del")).to_have_text("lamp")
    expect(change.locator("ins")).to_have_text("candle")
    expect(plan.get_by_role("link", name='doc:"Plan"')).to_have_attribute(
        "href", re.compile("^/documents/")
    )
    assert violations(page) == []
    rows.filter(has_text="beside").get_by_role("link", name="“beside”").click()
    expect(page.locator(f'.node[data-id="{first}"]')).to_be_in_viewport()
    expect(page).to_have_url(f"{heddle.url}/trees/{tree}?node={first}")


def test_hits_are_marked_in_the_outline_and_branches_stay_as_lines_left_them(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Outlined", "one", "two", "three", "a brass lamp")
    heddle.line(tree, "switch to root")
    root = str(heddle.get(f"trees/{tree}/path")["nodes"][0]["id"])  # type: ignore[index]
    heddle.line(tree, 'find "brass lamp"')
    page = live(visit(f"/trees/{tree}?node={root}"))
    tab(page, "Outline")
    rows = page.locator("loom-outline [role=treeitem]")
    expect(rows).to_have_count(4)
    expect(rows.last.locator(".hit")).to_have_text("● 1.00")
    expect(page.get_by_role("treeitem", name="found, 1.00")).to_have_count(1)
    page.get_by_label("Text of the next node").fill("→ find clear")
    page.keyboard.press("Control+Enter")
    expect(page.locator("loom-outline .hit")).to_have_count(0)
    expect(rows).to_have_count(4)


def test_each_round_of_a_turn_is_read_on_its_card_and_beside_its_answer(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Rounds", "Who is Marie?")
    page = live(visit(f"/trees/{tree}", bypass_csp=True))
    at = page.locator("article.node").get_attribute("data-id")
    heddle.provider.script(says(f"→ open {at} keep\n"), holds("Her ", HOLD, "father."))
    turn(heddle, tree)
    card = page.locator(".turn")
    expect(card.locator(".turn-said")).to_contain_text(f"[{at}]")
    expect(card.locator(".turn-refs a")).to_have_text(f"[{at}]")
    sent = card.locator(".turn-calls")
    sent.locator("summary").first.focus()
    page.keyboard.press("Enter")
    first = sent.locator("details", has_text="Round 1").first
    first.locator("summary").first.click()
    shown = first.locator("loom-panel > details[open] > pre")
    expect(shown).to_contain_text("Who is Marie?")
    expect(first.get_by_text("Since the request before")).to_have_count(0)
    # What is open stays so while the turn goes on.
    heddle.provider.release()
    expect(card.locator("[data-state]")).to_have_text("done")
    expect(shown).to_be_visible()
    assert violations(page) == []
    expect(page.locator("article.node")).to_have_count(2)
    page.get_by_role("tab", name="Node").click()
    call = page.locator("#panel-node .details .provenance", has_text="The call that wrote this")
    call.locator("summary").first.click()
    second = call.locator("details.fold", has_text="Round 2").first
    second.locator("summary").first.click()
    second.get_by_text("Since the request before").click()
    expect(second.locator("ins", has_text="---WINDOW #1")).to_be_visible()
    second.get_by_text("The same request with curl").click()
    expect(second.locator("[data-secret]")).to_contain_text("$HEDDLE_KEY")
    second.get_by_text("The answer", exact=True).click()
    expect(second.locator("loom-panel")).to_contain_text("father.")


def test_refs_of_answers_are_opened_where_they_are_read(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Refs", "A brass lamp.", "two", "three")
    first = str(heddle.get(f"trees/{tree}/path")["nodes"][1]["id"])  # type: ignore[index]
    heddle.line(tree, 'write doc:"Refs" new "The lamp is of brass."')
    heddle.line(tree, 'link here to doc:"Refs" as:supports')
    page = live(visit(f"/trees/{tree}", bypass_csp=True))
    heddle.provider.script(says("→ tree root depth:2\n"), says("Seen."))
    turn(heddle, tree)
    expect(page.locator(".turn [data-state]")).to_have_text("done")
    page.locator(".turn-did > summary").click()
    line = page.locator(".turn-lines details")
    line.locator("summary").click()
    line.locator(f'a[data-go="{first}"]').first.click()
    expect(page).to_have_url(f"{heddle.url}/trees/{tree}?node={first}")
    page.go_back()
    answer = page.locator(".command-answer.done")

    def send(line: str) -> None:
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search or command").fill(line)
        page.keyboard.press("Enter")

    send('→ find "brass"')
    expect(answer.get_by_role("link", name=f"[{first}]")).to_be_visible()
    assert violations(page) == []
    answer.get_by_role("button", name='doc:"Refs"').first.click()
    window = page.locator("loom-windows li[data-number]")
    expect(window).to_contain_text("The lamp is of brass.")
    send('→ find "brass"')
    answer.get_by_role("link", name=f"[{first}]").click()
    expect(page).to_have_url(f"{heddle.url}/trees/{tree}?node={first}")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_windows_colour_code_and_markdown_as_the_path_does(heddle: Heddle, visit: Open) -> None:
    code = "Some **words**.\n\n```python\ndef lamp():\n    # a note\n    return 1\n```"
    tree = heddle.tree("Coloured", code)
    heddle.line(tree, f'write doc:"Coloured" new\n{code}\n←')
    heddle.line(tree, 'open doc:"Coloured" lines:5 keep')
    heddle.line(tree, "open here keep")
    page = live(visit(f"/trees/{tree}", bypass_csp=True))
    panel(page)
    rows = page.locator("loom-windows li[data-number]")
    expect(rows.last.locator("strong")).to_have_text("words")
    expect(rows.last.locator(".c-key")).to_have_text(["def", "return"])
    drawn = page.locator(".node .text").last.inner_html()
    assert rows.last.locator(".text").inner_html() == drawn
    expect(rows.first.locator(".c-note")).to_have_text("# a note")
    assert violations(page) == []


def test_a_task_that_is_too_long_is_refused_and_not_cut(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Long task", "The gate.")
    page = live(visit(f"/trees/{tree}"))
    panel(page)
    field = page.get_by_role("textbox", name="New task")
    field.click()
    page.keyboard.insert_text("x" * 2001)
    field.press("Enter")
    expect(page.locator("loom-workspace [data-refused]")).to_contain_text("1 to 2,000 characters")
    expect(field).to_have_value("x" * 2001)
