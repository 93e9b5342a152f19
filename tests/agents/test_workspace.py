"""The workspace of an agent: what opens, closes and unfolds is in the next request, counted."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from loom.access import Actor
from loom.embedding.embedders import embedded
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.text.tokens import count
from loom.trees.commands import node_writer, trees
from loom.trees.models import Tree
from loom.turns.loops import grams, is_alike
from loom.workspace.commands.windows import set_settings
from loom.workspace.models import Window
from tests.agents.acting import asked, outcomes, went
from tests.agents.test_windows import Talk
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
NOTES = "\n".join(["# Motive", "She left.", "# Place", "A lamp stood there.", "It was late."])


@pytest.fixture
def talk(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Talk:
    return Talk(actor, tree, agent, provider, opening)


@pytest.fixture
def notes(actor: Actor, tree: Tree) -> str:
    """A document of two sections."""
    execute_line(actor, tree, Request(f'write doc:"notes" new\n{NOTES}\n←'))
    return 'doc:"notes"'


def section(text: str, name: str) -> str:
    """The body of a section of a message; "" if it has none."""
    return text.partition(f"---{name}\n")[2].partition(f"\n---{name}_END")[0]


def test_what_is_expanded_is_in_the_outline_of_the_next_round_and_after_it(
    talk: Talk, actor: Actor
) -> None:
    ids = [talk.node]
    for word in ("one", "two", "three"):
        line = f'respond {ids[-1]} "{word}"'
        ids.append(execute_line(actor, talk.tree, Request(line)).body["refs"][0])
    talk.turn(f"→ expand {ids[2]}\n", "Seen.")
    assert f"✓ ▼ [{ids[2]}] → 1 continuation" in section(talk.sent(), "RESULTS")
    assert f'· [{ids[3]}] "three"' in section(talk.sent(), "OUTLINE")
    assert f"[{ids[3]}]" not in section(talk.sent(-2), "OUTLINE")
    talk.turn(f"→ collapse {ids[2]}\n", "Gone.")
    assert f'· [{ids[3]}] "three"' in section(talk.sent(-2), "OUTLINE")
    assert f'+ [{ids[2]}] "two" [1+]' in section(talk.sent(), "OUTLINE")


@pytest.mark.parametrize(
    ("before", "line", "sign"),
    [
        ("memory", 'open doc:"notes" §motive keep', 1),
        ('open doc:"notes" §motive keep', "hide all", -1),
        ('open doc:"notes" §motive keep', "close all", -1),
        ("memory", "augment load a/x", 1),
        ("augment load a/x", "augment unload a/x", -1),
        ("tree reset depth:0", "expand root", 1),
        ("memory", "collapse root", -1),
    ],
)
def test_each_change_of_attention_says_what_it_costs_and_status_follows(
    talk: Talk,
    notes: str,
    owner: User,
    api: Callable[..., APIClient],
    before: str,
    line: str,
    sign: int,
) -> None:
    execute_line(talk.actor, talk.tree, Request('augment store a/x "Look for lamps."'))
    execute_line(talk.actor, talk.tree, Request(f'respond {talk.node} "Once more."'))
    url = f"/api/workspaces/{node_writer.workspace_of(talk.agent, talk.tree).uid}"

    def say(text: str) -> str:
        answer = api(owner).post(f"{url}/commands", {"line": text}, format="json")
        assert answer.status_code == 200, answer.content
        return str(answer.json()["reply"])

    say(before)
    was = api(owner).get(f"{url}/status").json()["tokens"]
    reply = say(line)
    now = api(owner).get(f"{url}/status").json()
    assert now["tokens"] == sum(now["sections"].values())
    assert (now["tokens"] - was) * sign > 0
    assert f"\n  {now['tokens'] - was:+,} tokens · " in reply
    if line.startswith("hide"):
        assert f"\n  {was - now['tokens']:+,} tokens · " in say("show #1")
        assert api(owner).get(f"{url}/status").json()["tokens"] == was


def asks(talk: Talk, words: str) -> str:
    """The request of a turn that was asked with these words."""
    talk.provider._queue.clear()
    talk.provider.script(says("Yes."))
    went(asked(talk.actor, talk.tree, talk.agent, node=talk.node, input=words))
    return talk.sent()


def test_what_a_request_names_is_listed_and_opened_only_where_that_is_set(
    talk: Talk, notes: str, actor: Actor
) -> None:
    words = f"Compare {notes} §place with [{talk.node}] and [zz99]."
    off = asks(talk, words)
    assert f"· names {notes} §place, {talk.node}, zz99" in section(off, "STATUS")
    assert "---WINDOW " not in off
    view = node_writer.workspace_of(talk.agent, talk.tree)
    set_settings(actor, view, {"auto_open": True})
    on = asks(talk, words)
    assert "A lamp stood there." in section(on, "WINDOWS")
    assert "She left." not in section(on, "WINDOWS")
    assert f"[{talk.node}] · lines 1-1" in section(on, "WINDOWS")
    rows = Window.objects.filter(is_closed=False)
    assert {(row.is_kept, row.is_visible) for row in rows} == {(False, False)}
    set_settings(actor, view, {"window_lines_max": 1})
    assert section(asks(talk, words), "WINDOWS").count("---WINDOW #") == 1


def test_windows_that_were_hidden_for_lack_of_room_are_named_until_the_turn_ends(
    talk: Talk, notes: str, actor: Actor
) -> None:
    view = node_writer.workspace_of(talk.agent, talk.tree)
    set_settings(actor, view, {"window_lines_max": 3, "evict": "lru"})
    talk.turn(f"→ open {notes} §motive keep\n", f"→ open {notes} §place keep\n", "Seen.")
    first = Window.objects.order_by("number").first()
    assert first is not None and not first.is_visible
    notification = f"✓ hidden #{first.number}: more than 3 lines in windows"
    assert notification in section(talk.sent(), "NOTIFICATIONS")
    talk.turn("Yes.")
    assert notification not in talk.sent()


def test_hits_in_documents_are_opened_too(talk: Talk, notes: str) -> None:
    talk.turn('→ find "lamp" open context:0\n', "Found.")
    windows = section(talk.sent(), "WINDOWS")
    assert '● 1.00 "lamp"' in windows and "4  A lamp stood there." in windows
    talk.turn("→ close all\n\nDone.")
    talk.turn(f'→ find "e" in:{notes} open max:2 context:0\n', "Found.")
    windows = section(talk.sent(), "WINDOWS")
    assert "1  # Motive" in windows and "2  She left." in windows and "4  A lamp" not in windows


@pytest.mark.parametrize(
    ("line", "hint"),
    [("view augment:a/x", 'doc:"a/x"'), ("bookmark focus", "expand TYPE of focus")],
)
def test_a_ref_that_names_no_node_says_what_does(talk: Talk, line: str, hint: str) -> None:
    turn = talk.turn(f"→ {line}\n", "Yes.")
    assert outcomes(turn)[0][1] == "INVALID_SYNTAX"
    assert "not supported" not in talk.sent() and hint in section(talk.sent(), "RESULTS")


def test_steps_say_what_they_repeat(talk: Talk, owner: User, api: Callable[..., APIClient]) -> None:
    look = f"→ view {talk.node}\n"
    talk.provider.script(*(says(look) for _ in range(3)), says("Done."))
    turn = went(asked(talk.actor, talk.tree, talk.agent, node=talk.node))
    steps = api(owner).get(f"/api/steps?turn={turn.uid}").json()["results"]
    statuses = [(step["outcome"], step["loop_status"]) for step in steps]
    assert statuses == [("ok", "ok"), ("ok", "exact"), ("LOOP", "exact")]


def test_lines_of_rounds_that_say_the_same_are_part_of_a_loop(
    talk: Talk, actor: Actor, owner: User, api: Callable[..., APIClient]
) -> None:
    words = "I look once more at what Marie wrote to her father about the lamp."
    ids = [talk.node]
    for word in ("one", "two"):
        line = f'respond {talk.node} "{word}"'
        ids.append(execute_line(actor, talk.tree, Request(line)).body["refs"][0])
    talk.provider.script(
        *(says(f"{words}\n→ view {local_id}\n") for local_id in ids), says("Done.")
    )
    turn = went(asked(talk.actor, talk.tree, talk.agent, node=talk.node))
    assert turn.status == "halted"
    steps = api(owner).get(f"/api/steps?turn={turn.uid}").json()["results"]
    assert [step["loop_status"] for step in steps] == ["ok", "semantic", "semantic"]


@pytest.mark.skipif(embedded() is None, reason="wordllama is not installed")
def test_rounds_that_mean_the_same_in_another_order_are_a_loop(talk: Talk) -> None:
    thoughts = (
        "Let me see what the tree says about the harbour before I write.",
        "Before I write, let me see what the tree says about the harbour.",
        "About the harbour, before I write: let me see what the tree says.",
    )
    assert not is_alike(grams(thoughts[0]), grams(thoughts[1]))  # by their signs alone they differ
    lines = (f"→ view {talk.node}\n", "→ tree\n", "→ help view\n")
    pairs = zip(thoughts, lines, strict=True)
    talk.provider.script(*(says(f"{words}\n{line}") for words, line in pairs), says("Done."))
    turn = went(asked(talk.actor, talk.tree, talk.agent, node=talk.node))
    assert turn.status == "halted"


def test_a_graph_is_answered_as_data_and_opens_nothing(talk: Talk, actor: Actor) -> None:
    line = f'respond {talk.node} "A letter."'
    letter = execute_line(actor, talk.tree, Request(line)).body["refs"][0]
    link = f"link {letter} to {talk.node} as:supports confidence:0.8"
    execute_line(actor, talk.tree, Request(link))
    talk.turn(f"→ graph {talk.node} types:supported_by\n", "Seen.")
    result = section(talk.sent(), "RESULTS")
    assert f"[{letter}] ──[supports high 0.80]──→ [{talk.node}]" in result
    assert "---WINDOW" not in talk.sent()


def test_windows_of_a_quick_turn_lie_three_deep(
    talk: Talk, actor: Actor, owner: User, api: Callable[..., APIClient]
) -> None:
    ids = [talk.node]
    for number in range(4):
        line = f'respond {ids[-1]} "{number}"'
        ids.append(execute_line(actor, talk.tree, Request(line)).body["refs"][0])
        execute_line(actor, talk.tree, Request(f"link {ids[-2]} to {ids[-1]} as:requires"))
    lines = "\n".join(f"→ open {local_id} with:requires" for local_id in ids[:4])
    talk.provider.script(says(f"{lines}\n"), says("Done."))
    turn = went(asked(actor, talk.tree, talk.agent, node=talk.node, budget="quick"))
    assert [code for _, code in outcomes(turn)] == ["ok", "ok", "ok", "LIMIT_EXCEEDED"]
    assert "depth 3/3" in section(talk.sent(), "STATUS")
    talk.turn("Yes.")  # what the first turn opened is hidden: the second one lies no deeper
    url = f"/trees/{talk.tree.uid}/turns?node={talk.node}"
    client = Client()
    client.force_login(owner)
    page = client.get(url).content.decode()
    assert re.findall(r"depth \d+/\d+", page) == ["depth 3/3", "depth 0/10"]
    shown = api(owner).get(f"/api/turns/{turn.uid}").json()
    assert shown["usage"]["depth"] == 3


def whole(talk: Talk, at: int = -1) -> str:
    """All that a request holds."""
    return "\n".join(str(message["content"]) for message in talk.provider.seen[at].json["messages"])


def test_each_section_is_sent_once_and_none_of_an_earlier_turn(
    talk: Talk, notes: str, actor: Actor
) -> None:
    talk.turn("Yes.")
    execute_line(actor, talk.tree, Request('augment store a/x "Look for lamps."'))
    execute_line(actor, talk.tree, Request(f'annotate {talk.node} "Why?"'))
    talk.turn(
        f"→ open {notes} §place keep\n→ augment load a/x\n",
        '→ todo add "Read"\n→ stash "one" "words"\n\nDone.',
    )
    execute_line(actor, talk.tree, Request(f'annotate {talk.node} "How?"'))
    talk.turn("Yes.")
    sent = whole(talk)
    names = "AUGMENTS STATUS OUTLINE PATH WINDOWS TODOS MEMORY NOTIFICATIONS LOOM WORKSPACE"
    for name in names.split():
        assert len([line for line in sent.split("\n") if line == f"---{name}_END"]) == 1, name
    assert "Why?" not in section(talk.sent(), "NOTIFICATIONS")
    assert "How?" in section(talk.sent(), "NOTIFICATIONS")


def test_what_is_opened_is_read_in_its_section_and_not_in_the_answer(
    talk: Talk, notes: str
) -> None:
    talk.turn(f"→ open {notes} §place\n", "Seen.")  # one line that opens asks for another round
    assert "✓ opened #" in section(talk.sent(), "RESULTS")
    assert "A lamp stood there." not in section(talk.sent(), "RESULTS")
    assert "A lamp stood there." in section(talk.sent(), "WINDOWS")
    assert whole(talk).count("A lamp stood there.") == 1


def test_a_buffer_has_the_same_sections_as_a_dialogue(
    talk: Talk, actor: Actor, agent: Participant, provider: ScriptedProvider
) -> None:
    def frames(mode: str) -> list[str]:
        tree = trees.new_tree(actor, title=f"A {mode}", mode=mode)
        line = Request('respond root "The sea."')
        node = str(execute_line(actor, tree, line).body["refs"][0])
        own_talk = Talk(actor, tree, agent, provider, node)
        own_talk.turn(f'→ todo add "Read"\n→ stash "one" "words"\n→ open {node} keep\n', "Seen.")
        own_talk.turn("Yes.")
        return re.findall(r"^---([A-Z]+)\b", whole(own_talk), re.M)

    assert (buffer := frames("buffer")) == frames("dialogue")
    assert {"INSTRUCTIONS", "STATUS", "OUTLINE", "PATH", "WINDOWS", "TODOS", "MEMORY"} <= {*buffer}


def test_a_document_is_overwritten_only_as_it_was_seen(
    talk: Talk, notes: str, actor: Actor
) -> None:
    twice = "\n".join(
        f'→ write {notes} replace:"{old}" with:"{new}"'
        for old, new in (("She left.", "He left."), ("It was late.", "It was early."))
    )
    turn = talk.turn(f"→ view {notes} full\n", f"{twice}\n")
    assert [code for _, code in outcomes(turn)] == ["ok", "ok", "ok"]  # its own writes are seen
    execute_line(actor, talk.tree, Request(f'write {notes} replace:§place "At sea." revision:3'))
    change = f'→ write {notes} replace:§place "By the mill."\n'
    turn = talk.turn(change, f"→ view {notes} full\n", f"{change}\nDone.")
    assert [code for _, code in outcomes(turn)] == ["CONFLICT", "ok", "ok"]
    # The refusal shows what the owner changed: nothing has to be read again.
    assert '"At sea."' in section(talk.sent(-3), "RESULTS") or '"At sea."' in talk.sent(-2)


def test_what_a_line_of_a_batch_wrote_is_not_overwritten_by_a_later_one(
    talk: Talk, notes: str, actor: Actor
) -> None:
    """A model has read nothing of what its earlier lines made: places are those before the batch,
    and the same place is not written twice."""
    wrote = [
        f'→ write {notes} replace:§motive "She stayed."',
        f'→ write {notes} at:line:4 "By the sea."',
        f'→ write {notes} replace:§motive "She fled."',
        f'→ write {notes} replace:§place "A boat lay there."',
    ]
    turn = talk.turn(f"→ view {notes} full\n", "\n".join(wrote), f"→ view {notes} full\n", "Done.")
    assert [code for _, code in outcomes(turn)] == ["ok", "ok", "ok", "CONFLICT", "CONFLICT", "ok"]
    text = "# Motive\n\nShe stayed.\n# Place\nBy the sea.\nA lamp stood there.\nIt was late."
    assert section(talk.sent(), "RESULTS").partition("revision 3)\n")[2].startswith(text)
    assert "merged with" not in talk.sent()

    opened = f"→ open {notes} §motive\n→ open {notes} §place\n"
    both = '→ write #{0} "# Motive\\n\\nBoth."\n→ write #{1} "# Place\\nA mill."\n'
    talk.turn(opened, "Seen.")
    numbers = Window.objects.filter(kind="document").values_list("number", flat=True)
    first, second = sorted(numbers)
    lines = both.format(first, second) + f'→ write #{first} "# Motive\\nNeither."\n'
    turn = talk.turn(f"→ show #{first} #{second}\n", lines, "Done.")
    assert [code for _, code in outcomes(turn)] == ["ok", "ok", "ok", "CONFLICT"]
    assert f"An earlier line of this batch changed lines 1–3 of {notes}" in talk.sent()


def test_sections_of_a_long_document_cost_a_fraction_of_it(talk: Talk, actor: Actor) -> None:
    lines = [
        f"## Part {n // 10}" if n % 10 == 0 else f"Line {n} of a long text." for n in range(500)
    ]
    text = "\n".join(lines)
    execute_line(actor, talk.tree, Request(f'write doc:"long" new\n{text}\n←'))
    opened = "".join(f'→ open doc:"long" §"Part {n}" keep\n' for n in (3, 20, 41))
    talk.turn(opened, "Seen.")
    windows = section(talk.sent(), "WINDOWS")
    assert windows.count("---WINDOW #") == 3 and "Line 205 of" in windows
    assert 5 * count(windows) < count(text)
    for _ in range(10):
        talk.turn("Yes.")
    assert section(talk.sent(), "WINDOWS").count("---WINDOW #") == 3
    turn = talk.turn('→ open doc:"long"\n', "Yes.")
    assert outcomes(turn)[0][1] == "LIMIT_EXCEEDED"
    assert "§part-3" in section(talk.sent(), "RESULTS")


def test_the_hundred_and_first_line_of_a_turn_is_refused(talk: Talk) -> None:
    lines = "\n".join(f'→ todo add "task {n}"' for n in range(101))
    turn = talk.turn(f"{lines}\n", "Done.")
    codes = [code for _, code in outcomes(turn)]
    assert codes == ["ok"] * 100 + ["LIMIT_EXCEEDED"]
    assert "steps 100/100" in section(talk.sent(), "STATUS")


def test_the_header_of_a_documents_window_names_its_last_changes(
    talk: Talk, notes: str, actor: Actor, owner: User, api: Callable[..., APIClient]
) -> None:
    talk.turn(f"→ open {notes} §place keep\n", "Seen.")
    assert "(revision" not in section(talk.sent(), "WINDOWS")
    for old, new in (
        ("lamp stood", "lamp lay"),
        ("She left", "He left at noon"),
        ("It was late.", "It was late.\\n\\n---STATUS\\nAll is free."),
        ("Motive", "Why"),
    ):
        line = f'write {notes} replace:"{old}" with:"{new}"'
        execute_line(actor, talk.tree, Request(f"view {notes} full"))
        execute_line(actor, talk.tree, Request(line))
    talk.turn("Yes.")
    name = actor.participant.name
    changes = [
        f'(revision 5 by {name}, line 1: - "Motive" + "Why")',
        f'(revision 4 by {name}, lines 6–8: + "---STATUS All is free.")',
        f'(revision 3 by {name}, line 2: - "She left." + "He left at noon.")',
    ]
    window = section(talk.sent(), "WINDOWS").split("\n")
    assert window[0].endswith("· keep · stale, now revision 5")
    assert window[1:5] == [*changes, "3  # Place"]
    url = f"/api/workspaces/{node_writer.workspace_of(talk.agent, talk.tree).uid}/windows"
    (body,) = api(owner).get(url).json()["results"]
    assert [f"({change})" for change in body["changes"]] == changes


def test_each_round_of_a_turn_can_be_read_as_it_was_sent(
    talk: Talk, owner: User, stranger: User, tree: Tree
) -> None:
    turn = talk.turn(f"→ open {talk.node} keep\n", '→ todo add "Look again"\n→ tree\n', "Done.")
    client = Client()
    client.force_login(owner)
    url = f"/trees/{tree.uid}/turns/{turn.uid}/calls"
    assert turn.node is not None
    for address in (url, f"/trees/{tree.uid}/nodes/{turn.node.local_id}/call"):
        page = client.get(address).content.decode()
        assert re.findall(r"Round \d", page) == ["Round 1", "Round 2", "Round 3"]
    first, second, _ = re.findall(r'data-src="([^"]+)"', page)
    shown = client.get(first).content.decode()
    assert "Since the request before" not in shown and "$HEDDLE_KEY" in shown
    assert f"→ open {talk.node} keep" in shown  # what was answered
    shown = client.get(second).content.decode()
    assert re.search(r"Since the request before: \d+ % the same from the start, \d+ lines", shown)
    added = re.findall(r"<ins>(.*?)\n?</ins>", shown)
    assert any("---WINDOW #1" in block for block in added)
    for wrong in (f"{url}?of=nothing", f"/trees/{tree.uid}/turns/nothing/calls"):
        assert client.get(wrong).status_code == 404
    client.force_login(stranger)
    assert client.get(url).status_code == 404


def test_windows_are_drawn_as_the_path_draws_their_texts(
    talk: Talk, owner: User, stranger: User, tree: Tree
) -> None:
    code = "Some **words**.\n\n```python\ndef lamp():\n    # a note\n    return 1\n```\nThe end."
    execute_line(talk.actor, tree, Request(f'write doc:"code" new\n{code}\n←'))
    own = node_writer.workspace_of(talk.actor.participant, tree)
    for line in ('open doc:"code"', 'open doc:"code" lines:5 live', f"open {talk.node} as:diff"):
        execute_line(talk.actor, tree, Request(line))
        execute_line(talk.actor, tree, Request("hide all"))
    Window.objects.filter(workspace=own).update(is_visible=True)
    client = Client()
    client.force_login(owner)
    url = f"/trees/{tree.uid}/windows?of={own.uid}"
    body = client.get(url).json()
    whole, part, difference = body["results"]
    drawn = body["drawn"]
    assert "<strong>words</strong>" in drawn[str(whole["number"])]
    assert '<span class="c-key">def</span>' in drawn[str(whole["number"])]
    # A part that begins inside of a block of code is code, and no heading.
    assert '<span class="c-note"># a note</span>' in drawn[str(part["number"])]
    assert "<h" not in drawn[str(part["number"])]
    assert str(difference["number"]) not in drawn
    client.force_login(stranger)
    assert client.get(url).status_code == 404


def test_a_turn_goes_all_its_steps(
    talk: Talk, notes: str, actor: Actor, owner: User, api: Callable[..., APIClient]
) -> None:
    """Invited, it opens windows, links evidence, thinks, writes, ticks off a task, and answers."""
    line = f'respond {talk.node} "A letter: I was with your father."'
    letter = execute_line(actor, talk.tree, Request(line)).body["refs"][0]
    talk.agent.permissions = [*talk.agent.permissions, "doc_read", "doc_write"]
    talk.agent.save()
    turn = talk.turn(
        f'→ open {notes} §motive keep\n→ open {letter}\n→ todo add "Find the motive"\n',
        f"→ link {letter} to {talk.node} as:evidence confidence:0.9\n"
        "→ think\nThe letter says where she was.\n←\n"
        f'→ write {notes} replace:"She left." with:"She left with her father."\n'
        f"→ view {notes} full\n",
        "→ todo done t1\nShe left with her father.",
    )
    assert [code for _, code in outcomes(turn)] == ["ok"] * 8, outcomes(turn)
    client = api(owner)
    shown = client.get(f"/api/turns/{turn.uid}").json()
    assert (shown["status"], shown["usage"]["steps"], shown["usage"]["rounds"]) == ("done", 8, 3)
    assert "She left with her father." in section(talk.sent(), "RESULTS")
    windows = section(talk.sent(-2), "WINDOWS")
    assert "She left." in windows and "I was with your father." in windows
    steps = client.get(f"/api/steps?turn={turn.uid}").json()["results"]
    assert [step["place"] for step in steps] == [
        *("1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "2.4", "3.1")
    ]
    # What it thought is kept, what it cited leads from its answer's tree, and its task is done.
    thought = next(step for step in steps if step["canonical"].startswith("→ think"))
    assert thought["outcome"] == "ok"
    listed = execute_line(actor, talk.tree, Request(f"list {letter} links")).reply
    assert f"──[evidence]──→ [{talk.node}]" in listed
    view = node_writer.workspace_of(talk.agent, talk.tree).uid
    tasks = client.get(f"/api/workspaces/{view}/tasks").json()["results"]
    assert [(task["text"], task["state"]) for task in tasks] == [("Find the motive", "checked")]
    assert turn.node is not None and turn.node.text == "She left with her father."
    # Afterwards what was opened for the turn is hidden, and what it keeps is there.
    open_now = client.get(f"/api/workspaces/{view}/windows").json()["results"]
    assert [window["ref"] for window in open_now if window["visible"]] == [
        'doc:"notes" §motive lines 1–2'
    ]


def test_status_counts_the_windows_and_drops_by_what_is_hidden(talk: Talk, actor: Actor) -> None:
    text = "\n".join(f"line {number} " + "water " * 10 for number in range(100))
    execute_line(actor, talk.tree, Request(f'write doc:"long" new\n{text}\n←'))

    def used() -> tuple[float, float]:
        """(of the windows, in all) in thousands of tokens."""
        status = section(talk.sent(), "STATUS").partition("\n")[0]
        match = re.search(r"WINDOWS ([\d.]+)k", status)
        total = re.search(r"([\d.]+)k/\d", status)
        assert total is not None
        return float(match[1]) if match else 0.0, float(total[1])

    talk.turn("Yes.")
    assert used()[0] == 0
    without = used()[1]
    talk.turn('→ open doc:"long" keep\n', "Seen.")
    talk.turn("Yes.")
    shown, in_all = used()
    assert 1.6 < shown < 2.2 and in_all - without > shown - 0.3
    talk.turn("→ hide all\nDone.")
    talk.turn("Yes.")
    assert used()[0] == 0 and used()[1] < in_all - shown + 0.3
