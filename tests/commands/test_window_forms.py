"""Windows of every kind and form: ranges, versions, branches, what is linked, limits."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.errors import CommandError
from loom.people.commands import groves
from loom.people.models import Grove, User
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.workspace.models import Window
from tests.commands.conftest import untold

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "\n".join(f"line {n}" for n in range(1, 21))
Say = Callable[[str], str]


class View:
    """One person's lines and windows in a tree."""

    def __init__(self, actor: Actor, tree: Tree, client: APIClient) -> None:
        self.actor, self.tree, self.client = actor, tree, client

    def say(self, line: str) -> str:
        """The reply to a line."""
        return untold(execute_line(self.actor, self.tree, Request(line)).reply)

    def add(self, line: str) -> str:
        """The local id of what a line makes."""
        return str(execute_line(self.actor, self.tree, Request(line)).body["refs"][-1])

    def refusal(self, line: str) -> CommandError:
        """Why a line was refused."""
        with pytest.raises(CommandError) as caught:
            self.say(line)
        return caught.value

    def windows(self) -> dict[int, dict[str, Any]]:
        """The visible windows by number, over the API."""
        workspace = node_writer.workspace_of(self.actor.participant, self.tree)
        body = self.client.get(f"/api/workspaces/{workspace.uid}/windows").json()
        return {window["number"]: window for window in body["results"] if window["visible"]}


@pytest.fixture
def view(actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]) -> View:
    return View(actor, tree, api(owner))


@pytest.fixture
def other(writer: User, tree: Tree, api: Callable[..., APIClient]) -> View:
    """Somebody else in the same tree."""
    return View(get_actor(writer, tree.grove), tree, api(writer))


@pytest.fixture
def node(view: View) -> str:
    return view.add(f"respond root\n{TEXT}\n←")


def newest() -> str:
    return str(Node.objects.latest("id").local_id)


def test_a_range_is_inclusive_and_clipped_which_is_reported(view: View, node: str) -> None:
    reply = view.say(f"open {node} lines:18-99")
    assert reply == f"✓ opened #2 [{node}] lines 18–20 (clipped: there are 20 lines)"
    window = view.windows()[2]
    assert (window["lines"], window["count"], window["of"]) == ([18, 20], 3, 20)
    assert window["text"] == "line 18\nline 19\nline 20"
    assert view.refusal(f"open {node} lines:9-3").code == "INVALID_SYNTAX"


def test_resizing_reads_the_current_version_again(view: View, node: str, other: View) -> None:
    view.say(f"open {node} lines:3-4")
    other.say(f'edit {node} replace:"line 4" with:"LINE FOUR" as:version')
    assert (view.windows()[2]["text"], view.windows()[2]["stale"]) == ("line 3\nline 4", True)
    assert view.say("resize #2 lines:4-6") == "✓ #2 lines 4–6"
    window = view.windows()[2]
    assert window["text"] == "LINE FOUR\nline 5\nline 6"
    seen = Node.objects.get(local_id=newest())
    assert (window["stale"], window["revision"], window["version_seen"]) == (False, 2, seen.hash)
    assert view.refusal("resize #2").code == "INVALID_SYNTAX"
    assert view.refusal("resize #9 lines:1-2").code == "NOT_FOUND"


def test_resizing_over_another_window_takes_it_in(view: View, node: str) -> None:
    view.say(f"open {node} lines:3-4")
    view.say(f"open {node} lines:8-9")
    assert view.say("resize #2 lines:3-8") == "✓ #2 lines 3–9"
    assert list(view.windows()) == [2]


def test_a_window_keeps_what_was_seen_until_it_is_refreshed(
    view: View, node: str, other: View
) -> None:
    view.say(f"open {node} lines:10-12")
    other.say(f"edit {node} lines:2 as:version\nnew 2\nnew 2b\nnew 2c\n←")
    window = view.windows()[2]
    assert (window["text"], window["current"]) == ("line 10\nline 11\nline 12", newest())
    assert "stale, now [" in view.say("memory windows")
    assert view.say("refresh #2") == "✓ refreshed #2"
    window = view.windows()[2]
    assert (window["lines"], window["stale"]) == ([12, 14], False)
    assert window["text"] == "line 10\nline 11\nline 12"
    view.say(f"open {newest()} lines:1 keep")
    other.say(f'edit {newest()} replace:"line 11" with:"eleven" as:version')
    assert view.say("refresh all").startswith("✓ refreshed #2 #")
    assert view.windows()[2]["text"] == "line 10\neleven\nline 12"


def test_a_live_window_follows_the_current_version(view: View, node: str, other: View) -> None:
    view.say(f"open {node} lines:5-6 live")
    assert "· live" in view.say("memory windows")
    other.say(f'edit {node} replace:"line 5" with:"LINE\\nFIVE" as:version')
    window = view.windows()[2]
    assert (window["text"], window["lines"]) == ("LINE\nFIVE\nline 6", [5, 7])
    assert (window["live"], window["stale"], window["revision"]) == (True, False, 2)
    view.say(f"open {newest()} lines:7-8")
    assert [shown["lines"] for shown in view.windows().values()] == [[5, 8]]


def test_padding_is_shown_and_not_owned(view: View, node: str) -> None:
    assert view.say(f"open {node} lines:5-6 pad:2").endswith("lines 5–6 · pad 2")
    window = view.windows()[2]
    assert (window["before"], window["text"], window["after"]) == (
        ["line 3", "line 4"],
        "line 5\nline 6",
        ["line 7", "line 8"],
    )
    assert window["count"] == 2
    reply = view.say('edit #2 "changed" as:version')
    assert reply.startswith(f"✓ created version [{newest()}] from [{node}], line 5; #2 now 5\n")
    expected = [*TEXT.split("\n")[:4], "changed", *TEXT.split("\n")[6:]]
    assert Node.objects.get(local_id=newest()).text.split("\n") == expected
    assert view.refusal(f"open {node} pad:11").code == "LIMIT_EXCEEDED"


def test_a_difference_shows_what_has_changed(view: View, node: str, other: View) -> None:
    assert view.say(f"open {node} as:diff") == f"✓ opened #2 [{node}] as:diff"
    assert view.windows()[2]["text"] == "(no change)"
    other.say(f'edit {node} replace:"line 5" with:"five" as:version')
    text = view.windows()[2]["text"]
    assert "-line 5\n+five" in text
    assert view.say(f"open {node} as:diff").startswith("✓ opened #2 ")
    assert view.refusal('edit #2 "x"').code == "REJECTED"
    view.say("refresh #2")  # of the current version: against what it was edited from
    assert (view.windows()[2]["stale"], view.windows()[2]["text"]) == (False, text)


def test_the_text_of_one_node_is_its_prose_and_its_nodes(view: View, node: str) -> None:
    reply = view.say(f"open {node}")
    for form in ("prose", "nodes"):
        assert view.say(f"open {node} as:{form}") == reply
    assert (view.windows()[2]["as"], view.windows()[2]["text"]) == (None, TEXT)
    assert view.say("open #2 as:prose") == reply
    refused = view.refusal("open #2 as:diff")
    assert refused.message == "#2 shows a text."
    assert refused.hint.startswith(f"→ open {node} as:diff opens")
    view.say(f"open {node} as:diff")
    difference = max(view.windows())
    refused = view.refusal(f"open #{difference} as:prose")
    assert refused.message == f"#{difference} shows what has changed in a text."
    assert refused.hint.startswith(f"→ open {node} opens")


def test_what_cannot_be_shown_so_is_named_with_the_line_that_can(view: View, node: str) -> None:
    for line, instead in (
        (f"open {node} as:diff pad:2", f"open {node} as:diff"),
        (f"open {node} as:diff live keep", f"open {node} as:diff keep"),
        (f"open branch:{node} as:diff", f"open branch:{node}"),
        (f"open branch:{node} pad:2", f"open branch:{node}"),
        (f"open tree:{view.tree.uid} live", f"open tree:{view.tree.uid}"),
    ):
        refused = view.refusal(line)
        assert "#" not in refused.message  # no window was opened
        assert refused.hint == f"→ {instead}"
        assert view.say(instead).startswith("✓ opened")


def test_a_window_on_several_texts_is_viewed_and_names_one_to_edit(view: View, node: str) -> None:
    below = view.add(f'respond {node} "The end."')
    view.say(f"open {node}-{below}")
    (number,) = view.windows()
    refused = view.refusal(f'write #{number} "x"')
    assert refused.hint == f"→ edit {below} changes one of the texts that it shows"
    refused = view.refusal(f'edit #{number} "x"')
    assert (refused.code, refused.message) == ("REJECTED", f"#{number} shows several texts.")
    assert refused.hint == f"name one of them, such as {below}"
    shown = view.say(f"view #{number}").splitlines()
    assert shown[:3] == [f"{node}-{below}", f"[{node}] Owner (human)", "line 1"]
    assert shown[-2:] == [f"[{below}] Owner (human)", "The end."]
    view.say(f"open tree:{view.tree.uid}")
    tree = max(view.windows())
    assert view.refusal(f'edit #{tree} "x"').hint == f"→ view #{tree}"
    assert f"[{below}]" in view.say(f"view #{tree}")


def test_head_and_tail_are_read_only(view: View) -> None:
    long = view.add("respond root\n" + "\n".join(f"row {n}" for n in range(1, 813)) + "\n←")
    reply = view.say(f"open {long}")
    assert f"812 lines in all; → open {long} head:200" in reply
    view.say("close #2")
    view.say(f"open {long} tail:200")
    window = next(iter(view.windows().values()))
    assert (window["lines"], window["of"], window["read_only"]) == ([613, 812], 812, True)
    assert "tail:200" in window["ref"]
    number = window["number"]
    for line in (f'edit #{number} "x"', f'suggest #{number} "x"'):
        assert view.refusal(line).code == "REJECTED"
    assert view.say(f"resize #{number} lines:700-701") == f"✓ #{number} lines 700–701"
    assert view.say(f'edit #{number} "x" as:version').startswith("✓ created version")


def test_a_branch_and_a_range_are_windows(view: View, node: str, other: View) -> None:
    below = view.add(f"respond {node}\nThen.\nAnd.\n←")
    last = view.add(f'respond {below} "End."')
    assert view.say(f"open branch:{last} keep") == f"✓ opened #4 branch:{last} · keep"
    assert view.say(f"open branch:{last}") == f"✓ opened #4 branch:{last} · keep"
    assert view.say(f"open {below}-{last}") == f"✓ opened #6 {below}-{last}"
    window = view.windows()[6]
    lines = [f"[{below}] Owner (human)", "(in #4)", f"[{last}] Owner (human)", "(in #4)"]
    assert (window["kind"], window["text"].split("\n")) == ("range", lines)
    view.say("hide #4")
    lines = [f"[{below}] Owner (human)", "Then.", "And.", f"[{last}] Owner (human)", "End."]
    assert view.windows()[6]["text"].split("\n") == lines
    view.say("show #4")
    assert view.say(f"open {below}-{last} as:prose").startswith("✓ opened #6")
    assert view.windows()[6]["text"] == "Then.\nAnd.End."
    other.say(f'edit {below} "Later." as:version')
    assert [shown["stale"] for shown in view.windows().values()] == [True, True]
    assert "Later." not in view.windows()[4]["text"]
    view.say("refresh #4")
    assert "Later." in view.windows()[4]["text"]
    assert view.refusal('edit #4 "x"').code == "REJECTED"
    beside = view.add('respond root "Beside."')
    assert view.refusal(f"open {beside}-{last}").code == "INVALID_SYNTAX"
    assert view.refusal(f"open branch:{last} pad:3").code == "INVALID_SYNTAX"


def test_a_tree_is_a_window_on_its_outline(view: View, node: str) -> None:
    reply = view.say(f'open tree:"{view.tree.title}" keep')
    assert reply == f'✓ opened #2 tree:"{view.tree.title}" · keep'
    assert f"[{node}]" in view.windows()[2]["text"]
    view.add('respond root "Beside."')
    assert f"[{newest()}]" in view.windows()[2]["text"]


def test_what_is_linked_is_opened_along(view: View, node: str) -> None:
    first = view.add('respond root "A lamp."')
    view.say(f"link {node} to {first} as:requires")
    view.say(f"link {first} to {node} as:supports")
    reply = view.say(f"open {node} lines:1-2 with:requires")
    main, along = sorted(view.windows())
    assert reply.split("\n")[1] == f"  with requires: #{along} [{first}] line 1 · via requires"
    assert along == main + 1
    window = view.windows()[along]
    assert (window["via"], window["parent"], window["text"]) == ("requires", main, "A lamp.")
    step = Step.objects.get(workspace__tree=view.tree, seq=along)
    assert (step.canonical, step.outcome) == (f"→ open {first}", "ok")
    assert "with supported_by: #" in view.say(f"open {node} lines:1-2 with:supported_by")
    assert view.say(f"open {node} with:quotes").endswith("with quotes: nothing")
    below = view.add(f'respond {first} "Below the lamp, [{node}]."')
    assert f"[{below}]" in view.say(f"open {first} with:continuations").split("\n")[1]
    assert f"[{node}]" in view.say(f"open {below} with:mentions").split("\n")[1]
    assert view.say(f"open {below} with:siblings").endswith("with siblings: nothing")
    assert view.refusal(f"open {node} with:nonsense").code == "INVALID_SYNTAX"


def test_at_most_ten_linked_items_are_opened(view: View, node: str) -> None:
    for number in range(12):
        far = view.add(f'respond root "Text {number}."')
        view.say(f"link {node} to {far} as:requires")
    view.say(f"open {node} with:requires")
    assert len(view.windows()) == 11
    numbers = list(Window.objects.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(numbers[0], numbers[0] + 11))


def test_hidden_windows_are_listed_and_lines_are_summed(view: View, node: str) -> None:
    view.say(f"open {node} lines:1-3")
    view.say(f"open {node} lines:7-9 keep")
    assert view.say("memory windows").splitlines()[0] == "windows 2 (6 lines)"
    view.say("hide #2")
    assert view.say("memory windows").splitlines() == [
        "windows 1 (3 lines)",
        f"  #3 [{node}] lines 7–9 · keep",
        f"  #2 [{node}] lines 1–3 (hidden)",
    ]


def test_without_a_limit_anything_may_be_open(view: View) -> None:
    long = view.add("respond root\n" + "\n".join(f"row {n}" for n in range(2000)) + "\n←")
    assert view.say(f"open {long}").startswith("✓ opened")


def test_a_limit_refuses_or_hides_what_was_shown_longest_ago(
    view: View, node: str, grove: Grove
) -> None:
    groves.change_grove(view.actor, settings={"window_lines_max": 10})
    view = View(view.actor, Tree.objects.get(pk=view.tree.pk), view.client)
    view.say(f"open {node} lines:1-4")
    view.say(f"open {node} lines:6-9 keep")
    full = view.refusal(f"open {node} lines:15-18")
    assert (full.code, "12 lines" in full.message) == ("LIMIT_EXCEEDED", True)
    groves.change_grove(view.actor, settings={"evict": "lru"})
    view = View(view.actor, Tree.objects.get(pk=view.tree.pk), view.client)
    view.say("show #2")
    reply = view.say(f"open {node} lines:15-18")
    assert reply.endswith("\n  hidden #3: more than 10 lines")
    assert sorted(window["lines"][0] for window in view.windows().values()) == [1, 15]
    assert view.say("show #3").endswith("hidden #2: more than 10 lines")
    assert Window.objects.get(number=3).is_kept
    assert view.refusal(f"open {node}").code == "LIMIT_EXCEEDED"
    hides = Step.objects.filter(canonical__startswith="→ hide")
    assert [hide.because for hide in hides] == ["more than 10 lines in windows"] * 2
    assert all(hide.evicts for hide in hides)


@pytest.mark.parametrize(
    "settings",
    [{"window_lines_max": -1}, {"window_lines_max": True}, {"evict": "fifo"}, {"auto_open": 1}],
)
def test_settings_of_windows_are_checked(view: View, settings: dict[str, Any]) -> None:
    with pytest.raises(CommandError) as caught:
        groves.change_grove(view.actor, settings=settings)
    assert caught.value.code == "INVALID_SYNTAX"


def test_labels_group_windows_of_any_text(view: View, node: str) -> None:
    below = view.add(f'respond {node} "Then."')
    view.say(f'open {node} lines:1 label:"scene"')
    view.say(f'open branch:{below} label:"Scene"')
    assert view.say('hide label:"scene"') == "✓ hidden #3 #4"
    assert view.say('show label:"SCENE"') == "✓ shown #3 #4"
    assert view.say('close label:"scene"') == "✓ closed #3 #4"


def test_settings_of_a_workspace_come_before_those_of_its_grove(
    view: View, node: str, grove: Grove
) -> None:
    groves.change_grove(view.actor, settings={"window_lines_max": 10, "evict": "lru"})
    workspace = node_writer.workspace_of(view.actor.participant, view.tree)
    url = f"/api/workspaces/{workspace.uid}"

    def change(**settings: Any) -> dict[str, Any]:
        answer = view.client.patch(url, {"settings": settings}, format="json")
        return dict(answer.json()["settings"] if answer.status_code == 200 else answer.json())

    of_windows = {"window_lines_max": 3, "evict": "lru", "auto_open": False}
    assert change(window_lines_max=3) == {**of_windows, "truncation": "truncateMiddle"}
    assert view.refusal(f"open {node} lines:1-4").code == "LIMIT_EXCEEDED"
    assert change(window_lines_max=None)["window_lines_max"] == 10
    assert view.say(f"open {node} lines:1-4").startswith("✓")
    assert change(colour="red")["code"] == "INVALID_SYNTAX"
    assert change(evict="fifo")["code"] == "INVALID_SYNTAX"


@pytest.fixture
def lamps(view: View, node: str) -> list[str]:
    """Six texts with a lamp, each in the middle of eleven lines; the first has most of them."""
    ids = []
    for number in range(6):
        lines = [f"row {n} of {number}" for n in range(1, 12)]
        lines[5] = "a lamp " * (6 - number)
        text = "\n".join(lines)
        ids.append(view.add(f"respond {node}\n{text}\n←"))
    view.say("switch to root")
    return ids


def test_the_best_hits_are_opened_with_lines_around(view: View, lamps: list[str]) -> None:
    reply = view.say('find "lamp" open').splitlines()
    assert reply[0] == '✓ opened 5 of 6 hits for "lamp"'
    windows = view.windows()
    numbers = sorted(windows)
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    first = windows[numbers[0]]
    assert reply[1] == f"  #{numbers[0]} [{lamps[0]}] lines 3–9 · ● 1.00"
    assert (first["kind"], first["query"], first["score"]) == ("search", "lamp", 1.0)
    assert all(window["lines"] == [3, 9] for window in windows.values())
    assert [window["score"] for window in windows.values()] == sorted(
        (window["score"] for window in windows.values()), reverse=True
    )
    assert view.say('find "lamp" open').splitlines()[1:] == reply[1:]  # twice is once
    assert view.say('open "lamp" max:2 context:0').splitlines()[0].startswith("✓ opened 2 of 6")
    view.say("close all")
    view.say('find "lamp" open max:1 context:5')
    assert [window["lines"] for window in view.windows().values()] == [[1, 11]]


def test_finding_opens_nothing_by_itself(view: View, lamps: list[str]) -> None:
    assert view.say('find "lamp"').startswith("6 hits")
    assert view.windows() == {}
    assert view.say('find "nothing of it" open') == '✓ opened 0 of 0 hits for "nothing of it"'


def test_a_hit_in_an_open_window_makes_that_larger(view: View, lamps: list[str]) -> None:
    view.say(f"open {lamps[0]} lines:1-4 keep")
    view.say('find "lamp" open max:1')
    ((number, window),) = view.windows().items()
    assert (window["kind"], window["lines"], window["keep"]) == ("node", [1, 9], True)
    view.say(f"close #{number}")
    view.say('find "lamp" open max:1')
    assert [shown["lines"] for shown in view.windows().values()] == [[3, 9]]


def test_hits_are_edited_through_their_windows(view: View, lamps: list[str]) -> None:
    view.say('find "lamp" open max:1 context:0')
    (number,) = view.windows()
    reply = view.say(f'edit #{number} "no light" as:version')
    assert f"line 6; #{number} now 6" in reply
    assert Node.objects.get(local_id=newest()).text.split("\n")[5] == "no light"


def test_the_outline_keeps_what_was_found_and_is_unmarked(view: View, lamps: list[str]) -> None:
    view.say('find "lamp" open max:2')
    workspace = node_writer.workspace_of(view.actor.participant, view.tree)
    url = f"/api/workspaces/{workspace.uid}/outline"
    outline = view.client.get(url).json()
    assert (outline["query"], outline["hits"]) == ("lamp", lamps[:2])
    assert outline["scores"][lamps[0]] == 1.0 > outline["scores"][lamps[1]]
    view.say("find clear")
    assert view.client.get(url).json()["scores"] == {}
    assert len(view.windows()) == 2


def test_a_report_lists_what_is_wrong_with_a_view(
    view: View, node: str, other: View, tree: Tree
) -> None:
    def report() -> dict[str, list[dict[str, Any]]]:
        answer = view.client.get(f"/api/trees/{tree.uid}/verify?what=view").json()
        workspace = node_writer.workspace_of(view.actor.participant, tree)
        assert view.client.get(f"/api/workspaces/{workspace.uid}/verify").json() == answer
        assert (answer["status"] == "valid") == (not answer["violations"])
        by_rule: dict[str, list[dict[str, Any]]] = {}
        for violation in answer["violations"]:
            by_rule.setdefault(violation["kind"], []).append(violation)
        return by_rule

    first_node, two, three = (view.add(f'respond {node} "Text {n}."') for n in range(3))
    view.say(f"open {node} lines:1-4")
    view.say(f"open {node} lines:6-8")
    view.say(f"link {first_node} to {two} as:requires")
    view.say(f"link {two} to {three} as:supports")
    view.say(f"link {node} to {two} as:evidence")
    assert report() == {}
    first, second = view.windows()
    view.say(f"link {three} to {first_node} as:requires")
    other.say(f"prune {two}")
    other.say(f'edit {node} replace:"line 3" with:"three" as:version')
    Window.objects.filter(number=second).update(first=4)  # as no line could
    violations = report()
    assert [violation["windows"] for violation in violations["OverlappingLenses"]] == [
        [first, second]
    ]
    assert [violation["windows"] for violation in violations["StaleLens"]] == [[first], [second]]
    assert [violation["items"] for violation in violations["OrphanEvidence"]] == [[node, two]]
    assert violations["OrphanEvidence"][0]["says"] == f"{two} is pruned; it is evidence for {node}."
    assert [violation["items"] for violation in violations["CircularThinking"]] == [
        [first_node, two, three]
    ]
    assert view.client.get(f"/api/trees/{tree.uid}/verify?what=else").status_code == 400
