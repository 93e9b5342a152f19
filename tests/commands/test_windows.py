"""Windows of a person: open, hide, show, close, stash, recall, memory."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.commands.groves import change_grove
from loom.people.models import User
from loom.trees.commands import node_writer, trees
from loom.trees.erasing import erase_rows
from loom.trees.models import Node, Tree
from loom.workspace.models import Window
from tests.commands.conftest import untold

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "\n".join(f"line {n}" for n in range(1, 21))
Say = Callable[[str], str]


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    return lambda line: untold(execute_line(actor, tree, Request(line)).reply)


@pytest.fixture
def node(say: Say) -> str:
    say(f"respond root\n{TEXT}\n←")
    return Node.objects.latest("id").local_id


def refusal(say: Say, line: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        say(line)
    return caught.value


def shown(actor: Actor, tree: Tree, client: APIClient) -> list[dict[str, Any]]:
    workspace = node_writer.workspace_of(actor.participant, tree)
    body = client.get(f"/api/workspaces/{workspace.uid}/windows").json()
    assert client.get(f"/api/workspaces/{workspace.uid}").json()["windows"] == body["results"]
    return list(body["results"])


def test_opening_twice_is_opening_once(say: Say, node: str) -> None:
    assert say(f"open {node} lines:2-4") == f"✓ opened #2 [{node}] lines 2–4"
    assert say(f"open {node} lines:2-4") == f"✓ opened #2 [{node}] lines 2–4"
    assert say("hide #2") == "✓ hidden #2"
    assert say(f"open {node} lines:2-4 keep") == f"✓ opened #2 [{node}] lines 2–4 · keep"
    assert Window.objects.count() == 1


def test_two_visible_windows_never_hold_the_same_line(say: Say, node: str) -> None:
    say(f"open {node} lines:2-4 keep")
    say(f"open {node} lines:8-9")
    assert say(f"open {node} lines:4-8") == (
        f"✓ opened #2 [{node}] lines 2–9 · keep\n  #2 showed lines 2–4; it shows both now\n"
        "  joined with #3, whose lines it shows now"
    )
    rows = Window.objects.values_list("number", "first", "last", "is_visible", "is_closed")
    assert list(rows) == [(2, 2, 9, True, False), (3, 8, 9, False, True)]
    say("hide #2")
    assert say(f"open {node} lines:1") == f"✓ opened #6 [{node}] line 1"
    assert say("show #2") == "✓ shown #2"
    say(f"open {node}")
    assert list(Window.objects.filter(is_visible=True).values_list("first", "last")) == [(1, 20)]


def test_the_number_of_a_closed_window_is_never_given_again(say: Say, node: str) -> None:
    numbers = []
    for _ in range(3):
        numbers.append(int(say(f"open {node} lines:2-4").split("#")[1].split()[0]))
        say(f"close #{numbers[-1]}")
    assert numbers[0] < numbers[1] < numbers[2]


def test_a_line_says_by_how_much_what_is_read_has_changed(
    node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    client, workspace = api(owner), node_writer.workspace_of(actor.participant, tree)

    def changed(line: str) -> int:
        """What the line says, which agrees with the status before and after it."""
        address = f"/api/workspaces/{workspace.uid}/status"
        before = client.get(address).json()["sections"]["WINDOWS"]
        reply = execute_line(actor, tree, Request(line)).reply
        after = client.get(address).json()["sections"]["WINDOWS"]
        match = re.search(r"  ([+-][\d,]+) tokens · windows ([\d,]+) tokens", reply)
        assert match is not None
        assert (int(match[1]), int(match[2])) == (after - before, after)
        return int(match[1])

    opened = changed(f"open {node} lines:2-9 keep")
    assert opened > 0
    assert changed(f"open {node} lines:2-9") == 0  # it was open
    assert changed("refresh #2") == 0
    assert -opened < changed("resize #2 lines:2-4") < 0
    assert changed("resize #2 lines:2-9") > 0
    assert changed(f"open {node} lines:12-14") > 0
    assert 0 < changed(f"open {node} lines:8-13") < opened  # the three become one
    assert changed("hide #2") < 0
    assert changed("show #2") > 0
    assert changed("close #2") < 0


def test_hiding_and_showing_restores_the_same_text(
    say: Say, node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    say(f"open {node} lines:3-4")
    before = shown(actor, tree, api(owner))
    assert [window["text"] for window in before] == ["line 3\nline 4"]
    say("hide #2")
    assert [window["visible"] for window in shown(actor, tree, api(owner))] == [False]
    say("show #2")
    assert shown(actor, tree, api(owner)) == before
    assert say("close #2") == "✓ closed #2"
    assert shown(actor, tree, api(owner)) == []
    for line in ("show #2", "hide #2", "close #2", "resize #2 lines:1-2", "open #2 keep"):
        refused = refusal(say, line)
        assert (refused.code, "#2 was closed" in refused.message) == ("REJECTED", True)
    say(f"open {node} lines:1-2")
    assert say("hide #11 #2") == "✓ hidden #11 · not found #2"


def test_what_is_not_found_is_named(say: Say, node: str) -> None:
    say(f"open {node}")
    assert say("hide #2 #9") == "✓ hidden #2 · not found #9"
    missing = refusal(say, "hide #8 #9")
    assert (missing.code, "#8 #9" in missing.message) == ("NOT_FOUND", True)
    say('todo add "Look again"')
    clean = refusal(say, "hide #5")  # the line of a task is answered by ✓ alone
    assert (clean.code, "has no window" in clean.hint) == ("NOT_FOUND", True)
    assert say("show #2 #5") == "✓ shown #2 · not found #5"


@pytest.mark.parametrize("verb", ["hide", "close", "refresh"])
def test_all_windows_are_changed_at_once_and_there_may_be_none(
    say: Say, node: str, verb: str
) -> None:
    none = "open" if verb == "close" else "visible"
    assert say(f"{verb} all") == f"✓ no window was {none}"
    say(f"open {node} lines:1")
    say(f"open {node} lines:3")
    words = {"hide": "hidden", "close": "closed", "refresh": "refreshed"}[verb]
    assert say(f"{verb} all").startswith(f"✓ {words} #3 #4")


def test_close_all_closes_hidden_windows_and_leaves_what_is_put_aside(
    say: Say, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say('stash "lab" "words"')
    for line in (1, 3, 5):
        say(f"open {node} lines:{line}")
    say("hide #3 #4")
    monkeypatch.setattr("loom.workspace.commands.keeping.MOST_CLOSED", 1)
    assert say("close all") == "✓ closed #4 #5\n  1 hidden window left: → close all"
    assert say("memory windows") == f"windows 0 (0 lines)\n  #3 [{node}] line 1 (hidden)"
    assert say("close all") == "✓ closed #3"
    assert say("memory windows") == "windows 0 (0 lines)"
    assert say('recall "lab"').startswith('✓ recalled "lab"')


def test_a_label_without_windows_is_not_found(say: Say, node: str) -> None:
    assert refusal(say, 'show label:"none"').code == "NOT_FOUND"


def test_a_label_names_windows(say: Say, node: str) -> None:
    assert say(f'open {node} lines:1 label:"scene"') == f"✓ opened #2 [{node}] line 1"
    assert say('hide label:"Scene"') == "✓ hidden #2"
    assert say('show label:"scene"') == "✓ shown #2"
    assert say('close label:"scene"') == "✓ closed #2"


def test_a_window_on_an_older_version_is_stale(
    say: Say, node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    say(f"open {node} lines:1")
    say(f'edit {node} replace:"line 1\\n" with:"first\\n" as:version')
    new = Node.objects.latest("id").local_id
    (window,) = shown(actor, tree, api(owner))
    assert (window["text"], window["current"]) == ("line 1", new)


def test_a_window_names_its_node_in_other_commands(say: Say, node: str) -> None:
    say(f"open {node} lines:2-3")
    assert "added to" in say('annotate #2 "Why?"')
    assert "line 2\nline 3" in say("view #2") and "line 4" not in say("view #2")
    say(f"open {node}")
    assert "line 20" in say("view #2 full")


def test_a_stash_is_put_aside_and_recalled(
    say: Say, node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    assert say('stash "idea" "A lamp."') == '✓ stashed "idea" (7 characters)'
    assert refusal(say, 'stash "Idea" "Another."').code == "CONFLICT"
    assert say('stash "Idea" "Two lamps." replace') == '✓ stashed "Idea" (10 characters)'
    assert say(f'stash "part" content-of:{node}') == f'✓ stashed "part" ({len(TEXT)} characters)'
    assert 'stashed "Idea" (10 characters, not in context)' in say("memory stashed")
    assert say('recall "idea"') == '✓ recalled "Idea" as #4'
    (window,) = [window for window in shown(actor, tree, api(owner)) if window["visible"]]
    assert (window["text"], window["keep"], window["kind"]) == ("Two lamps.", True, "stash")
    assert say('drop stash:"idea"') == '✓ dropped stash:"Idea"'
    assert refusal(say, 'recall "idea"').code == "NOT_FOUND"
    assert say('stash "idea" "Again."') == '✓ stashed "idea" (6 characters)'


def test_drop_closes_the_windows_on_a_node(say: Say, node: str) -> None:
    say(f"open {node} lines:1 keep")
    say(f"open {node} lines:5 keep")
    assert say(f"drop {node}") == "✓ closed #2 #3"


def test_memory_lists_what_is_there(say: Say, node: str) -> None:
    say(f"open {node} lines:1-2 keep")
    say('stash "idea" "A lamp."')
    refusal(say, "prune root")
    told = say("memory")
    head, *lines = told.splitlines()
    assert head == f"Position: [{node}] (depth 1)"
    assert lines[0] == "Trail: 1 step (→ trail)" and lines[1].startswith(f"  1 → [{node}] ")
    assert lines[2:] == [
        "windows 1 (2 lines)",
        f"  #2 [{node}] lines 1–2 · keep",
        '  stashed "idea" (7 characters, not in context)',
    ]
    assert "✗ REJECTED" in say("memory trace")
    assert say("status") == say("memory")


def test_a_window_needs_one_node_with_text(say: Say, node: str) -> None:
    assert refusal(say, "open branch:root").code == "REJECTED"
    assert refusal(say, "open root").code == "REJECTED"
    assert refusal(say, f"open {node} lines:90-99").code in ("NOT_FOUND", "INVALID_SYNTAX")
    assert refusal(say, "open #7").code == "NOT_FOUND"
    assert refusal(say, f'open {node} label:"{"x" * 201}"').code == "INVALID_SYNTAX"


def test_there_are_only_so_many_visible_windows(
    say: Say, node: str, actor: Actor, tree: Tree
) -> None:
    change_grove(actor, settings={"windows_visible": 2})
    tree.grove.refresh_from_db()
    say(f"open {node} lines:1")
    say(f"open {node} lines:3")
    full = refusal(say, f"open {node} lines:5")
    assert (full.code, "hide" in full.hint) == ("LIMIT_EXCEEDED", True)
    say("hide #2")
    say(f"open {node} lines:5")
    assert refusal(say, "show #2").code == "LIMIT_EXCEEDED"


def test_a_dry_run_opens_nothing(say: Say, node: str, actor: Actor, tree: Tree) -> None:
    for line in (f"open {node}", 'stash "idea" "A lamp."'):
        answer = execute_line(actor, tree, Request(line, dry_run=True))
        assert answer.reply.startswith("✓")
    assert not Window.objects.exists()


def test_every_change_of_a_window_is_an_event(
    say: Say, node: str, actor: Actor, tree: Tree
) -> None:
    say(f"open {node}")
    say("hide #2")
    say("close #2")
    workspace = node_writer.workspace_of(actor.participant, tree)
    events = Event.objects.filter(stream__name=f"workspace:{workspace.uid}", kind__startswith="win")
    told = [
        (event.kind, event.payload["windows"][0]["visible"]) for event in events.order_by("seq")
    ]
    assert told == [
        ("window.opened", True),
        ("window.changed", False),
        ("window.closed", False),
    ]


def test_the_event_of_a_window_says_which_link_led_there_and_from_where(
    say: Say, node: str, actor: Actor, tree: Tree
) -> None:
    say(f"open {node}")
    say(f'respond {node} "below"')
    say(f"expand continues of {node}")
    workspace = node_writer.workspace_of(actor.participant, tree)
    events = Event.objects.filter(stream__name=f"workspace:{workspace.uid}", kind="window.opened")
    told = [event.payload["windows"][0] for event in events.order_by("seq")]
    assert [(event["via"], event["parent"]) for event in told] == [
        (None, None),
        ("continuations", told[0]["number"]),
    ]


def test_others_do_not_see_a_persons_windows(
    say: Say,
    node: str,
    actor: Actor,
    tree: Tree,
    writer: User,
    outsider: User,
    api: Callable[..., APIClient],
) -> None:
    say(f"open {node}")
    workspace = node_writer.workspace_of(actor.participant, tree)
    for user in (writer, outsider):
        assert api(user).get(f"/api/workspaces/{workspace.uid}/windows").status_code == 404


def test_windows_go_with_their_tree_and_outlive_what_they_show(
    say: Say, node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    other = trees.new_tree(actor, title="Other")
    far = execute_line(actor, other, Request('respond root "Far."')).body["refs"][0]
    say(f"open tree:{other.uid} node:{far} keep")
    execute_line(actor, other, Request(f"open {far} keep"))
    Tree.objects.filter(pk=other.pk).update(erasing_at=timezone.now())
    erase_rows(other.uid)
    (window,) = shown(actor, tree, api(owner))
    assert (window["open"], "Far." in window["text"]) == (False, False)
    assert "a text that is gone" in say("memory")
    assert say(f"hide #{window['number']}").startswith("✓ hidden")
    Tree.objects.filter(pk=tree.pk).update(erasing_at=timezone.now())
    erase_rows(tree.uid)
    assert not Window.objects.exists() and not Tree.objects.exists()


def test_the_summaries_of_a_branch_or_range_are_stashed(
    say: Say, node: str, actor: Actor, tree: Tree
) -> None:
    words = "word " * 60
    answer = execute_line(actor, tree, Request(f'respond {node} "And then? {words}"'))
    below = str(answer.body["refs"][0])
    Node.objects.filter(tree=tree, local_id=below).update(summary="She goes on.")
    for ref in (f"branch:{below}", f"{node}-{below}"):
        reply = say(f'stash "so far" summary-of:{ref} replace')
        assert reply.startswith('✓ stashed "so far"')
        text = Window.objects.get(kind="stash", is_closed=False).text
        assert text.splitlines()[-1] == f"[{below}] summary: She goes on."
        assert text.splitlines()[0].startswith(f"[{node}] ")
    say(f'stash "one" summary-of:{below}')
    assert Window.objects.get(label="one").text == f"[{below}] summary: She goes on."
    assert refusal(say, 'stash "none" summary-of:root').code == "REJECTED"
    assert "She goes on" not in say("memory stashed")
    say('recall "so far"')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hide label:scene", 'label:"scene"'),
        ("close label:scene", 'label:"scene"'),
        ("refresh", "refresh #n"),
        ("hide a7x2", "windows by number, such as #4"),
        ("close", "close #n"),
    ],
)
def test_a_line_that_cannot_be_read_is_never_answered_with_all(
    say: Say, node: str, line: str, reason: str
) -> None:
    refused = refusal(say, line)
    assert refused.code == "INVALID_SYNTAX"
    assert reason in f"{refused.message} {refused.hint}" and "all" not in refused.hint.split()


def test_a_bare_number_after_hide_is_a_window(say: Say, node: str) -> None:
    say(f"open {node} lines:2-4")
    assert say("hide windows 2 and 3") == "✓ hidden #2 · not found #3"


def test_show_all_shows_what_is_hidden_and_full_all_of_a_text(
    say: Say, node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    assert say("show all") == "✓ no window was hidden"
    say(f"open {node} lines:2-4")
    say(f"open {node} lines:12-14")
    say("hide all")
    assert say("show all") == "✓ shown #3 #4"
    assert say("show #3 full") == "✓ shown #3"
    texts = [window["text"] for window in shown(actor, tree, api(owner)) if window["visible"]]
    assert texts == [TEXT]


def test_hits_may_be_opened_to_be_kept(
    say: Say, node: str, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    say('find "line 7" open keep')
    assert [window["keep"] for window in shown(actor, tree, api(owner))] == [True]


def test_labels_of_hidden_windows_are_listed(say: Say, node: str) -> None:
    say(f'open {node} lines:2-4 label:"scene"')
    say("hide #2")
    assert say("memory windows").splitlines()[-1] == (
        f'  #2 [{node}] lines 2–4 (hidden) · label "scene"'
    )


def test_what_is_linked_and_not_opened_is_named(say: Say, node: str) -> None:
    ids = [say(f'respond {node} "text {n}"').split("[")[1][:4] for n in range(14)]
    for local_id in ids:
        say(f"link {node} to {local_id} as:supports")
    reply = say(f"open {node} with:supports")
    opened = reply.partition("with supports: ")[2].partition("\n")[0].count("line 1")
    left = reply.partition("not opened: ")[2].split("\n")[0]
    assert opened == 10 and sorted(left.split()) == sorted(f"[{local_id}]" for local_id in ids[10:])
    say("hide all")
    reply = say(f"expand supports of {node} max:12")
    assert "→ 12 items as" in reply
    assert reply.partition("not opened: ")[2].split("\n")[0].split() == [
        f"[{local_id}]" for local_id in ids[12:]
    ]


def test_a_list_that_is_cut_names_the_rest(say: Say, node: str) -> None:
    ids = [say(f'respond {node} "text {n}"').split("[")[1][:4] for n in range(56)]
    for local_id in ids:
        say(f"link {node} to {local_id} as:supports")
    for kind in ("continuations", "supports"):
        reply = say(f"list {node} {kind}")
        assert "→ 56 " in reply.split("\n")[0]
        assert all(f"[{local_id}]" in reply for local_id in ids)
        assert reply.split("\n")[-1].startswith("  … and [") and reply.count("\n") == 51


def test_a_branch_leaves_out_the_lines_that_other_windows_hold(
    actor: Actor, tree: Tree, say: Say, owner: User, api: Callable[..., APIClient]
) -> None:
    names: list[str] = []
    for text in (r"one\ntwo\nthree", "four", "five", "six"):
        below = names[-1] if names else "root"
        answer = execute_line(actor, tree, Request(f'respond {below} "{text}"'))
        names += answer.body["refs"]
    for opened in (f"{names[0]} lines:2-3", names[1], f"branch:{names[2]}", f"branch:{names[3]}"):
        say(f"open {opened}")
    numbers = list(Window.objects.order_by("number").values_list("number", flat=True))

    def lines_of(place: int) -> list[str]:
        texts = {row["number"]: row["text"] for row in shown(actor, tree, api(owner))}
        return str(texts[numbers[place]]).split("\n")

    heads = [f"[{name}] Owner (human)" for name in names]
    in_first, in_second, in_third = (f"in #{number})" for number in numbers[:3])
    assert (lines_of(0), lines_of(1)) == (["two", "three"], ["four"])
    first = [heads[0], "one", f"(lines 2–3 {in_first}"]
    assert lines_of(2) == [*first, heads[1], f"({in_second}", heads[2], "five"]
    known = [heads[0], f"({in_third}", first[2], heads[1], f"({in_second}"]
    assert lines_of(3) == [*known, heads[2], f"({in_third}", heads[3], "six"]
    say(f"close #{numbers[1]}")
    assert lines_of(2) == [*first, heads[1], "four", heads[2], "five"]
    assert "one\ntwo\nthree" in say(f"view #{numbers[2]}")  # asked for by itself, it is whole
