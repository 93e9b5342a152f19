"""A scripted session, and every byte that the agent is sent in it. See docs/model.md §6.1."""

import re
from typing import Any

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from tests.agents.acting import asked, step, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
COUNTED = re.compile(r"tokens [\d.]+k?/200k · \d:\d\d/5:00")


@pytest.fixture
def agent(agent: Participant, tree: Tree) -> Participant:
    """The agent behind the other shape of API, in a tree with words of its own."""
    agent.model_ref, agent.persona = "anthropic:marie", "You are Marie."
    agent.permissions = ["loom_aware", "loom_write"]
    agent.save()
    Tree.objects.filter(pk=tree.pk).update(title="Marie Character Study", system_context="A study.")
    tree.refresh_from_db()
    return agent


def texts(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(role, text) of all blocks; without clocks and counted tokens."""
    return [
        (message["role"], COUNTED.sub("tokens 0/200k · 0:00/5:00", part["text"]))
        for message in body["messages"]
        for part in message["content"]
    ]


def at(local_id: str, form: str = "%Y-%m-%d %H:%M") -> str:
    return f"{Node.objects.get(local_id=local_id).created_at:{form}}Z"


def test_a_session_is_sent_to_the_byte(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("Cold."))
    first = went(asked(actor, tree, agent, node=opening)).node
    assert first is not None
    execute_line(actor, tree, Request(f'annotate {first.local_id} "Too cold?"'))
    execute_line(actor, tree, Request(f'bookmark {opening} "begin"'))
    provider.script(says(f"Let me look.\n→ list {opening}\n", "x" * 12), says("She waits."))
    turn = went(asked(actor, tree, agent, node=first.local_id, input="And now?"))
    assert turn.input_node is not None
    root = tree.nodes.get(depth=0).local_id
    a, b, c = opening, first.local_id, turn.input_node.local_id
    one, two, three = (seen.json for seen in provider.seen)

    assert one["system"] == two["system"] == three["system"]
    (system,) = one["system"]
    assert system["text"].startswith("You are Marie.\n\n---INSTRUCTIONS\nYou take part")
    assert system["cache_control"] == {"type": "ephemeral"}
    owner = actor.participant.name
    closing = f"{owner} asks in [{c}]: And now?"
    path = [
        ("user", f"[{a}] {owner} (human) · {at(a)}\nWho is Marie?"),
        ("assistant", "Cold."),
        ("user", f"[{b}] you · {at(b, '%H:%M')} (above)"),
        ("user", f"---REQUEST from {owner} (human) in [{c}]\nAnd now?\n---REQUEST_END"),
    ]
    revision = node_writer.workspace_of(agent, tree).revision  # each line and the end made one more
    workspace = f"""\
---WORKSPACE revision {{revision}}
---STATUS
{{status}}
{{used}} · tokens 0/200k · 0:00/5:00
request: [{c}] from {owner}
---STATUS_END
---OUTLINE
- [{root}]
└─ - [{a}] "Who is Marie?"
   └─ - [{b}] "Cold."
      └─ · [{c}]* "And now?"
---OUTLINE_END
---PATH
[{a}] {owner} (human) · now · 1 continuation · bookmarked
[{b}] Marie (model) · now · 1 continuation · 1 annotation
[{c}] {owner} (human) · now
---PATH_END
{{memory}}---NOTIFICATIONS
✓ {owner} annotated [{b}]: "Too cold?"
---NOTIFICATIONS_END
---LOOM
Tree: "Marie Character Study" (dialogue mode)
5 nodes · 1 branch · depth: 3
Position: … → [{b}] → [{c}]*
Permissions: loom_aware, loom_write
Human active at [{b}], depth:2
---LOOM_END
---WORKSPACE_END"""
    used = "steps {0}/100 · depth 0/10 · items {0}/50 · rounds {0}/12"
    blocks = texts(two)
    sizes = blocks[4][1].split("\n")[2]
    assert re.fullmatch(r"PROMPT \d(\.\d)?k \| PATH \d\d \| REQUEST \d\d \| \d(\.\d)?k/49k", sizes)
    assert blocks == [
        *path,
        (
            "user",
            workspace.format(revision=revision - 2, status=sizes, used=used.format(0), memory=""),
        ),
        ("user", closing),
    ]
    blocks = texts(three)
    sizes = blocks[-2][1].split("\n")[2]
    assert " | RESULTS 0" in sizes
    shown = step(turn, "1.1")
    changed = f"""\
---WORKSPACE revision {revision - 1} · only what changed
---STATUS
{sizes}
steps 1/100 · depth 0/10 · items 1/50 · rounds 1/12 · tokens 0/200k · 0:00/5:00
request: [{c}] from {owner}
---STATUS_END
---MEMORY
Recent actions: listed {a}
---MEMORY_END
---WORKSPACE_END"""
    assert blocks == [
        *texts(two),  # the request of round 1 to the byte, and what came after it
        ("assistant", f"Let me look.\n→ list {a}"),
        (
            "user",
            f"---RESULTS\n---RESULT #{shown.seq} list {a}\n{shown.message}\n"
            f"---RESULT_END #{shown.seq}\n(12 characters after your commands were dropped: "
            "results come first)\n---RESULTS_END",
        ),
        ("user", changed),
        ("user", closing),
    ]
    marked = [
        part["text"]
        for body in (two, three)
        for message in body["messages"]
        for part in message["content"]
        if "cache_control" in part
    ]
    assert marked == [path[1][1], closing] * 2


def test_path_shows_the_last_twelve_nodes_and_every_marked_one_and_says_what_is_between(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    ids = [opening]
    for number in range(20):
        ids += execute_line(actor, tree, Request(f'respond {ids[-1]} "{number}"')).body["refs"]
    execute_line(actor, tree, Request(f"tag {ids[3]} #turning"))
    provider.script(says("Ok."))
    went(asked(actor, tree, agent, node=ids[-1]))
    workspace = texts(provider.seen[-1].json)[-2][1]
    section = workspace.partition("---PATH\n")[2].partition("\n---PATH_END")[0].split("\n")
    assert section[0] == f"… [{ids[0]}]–[{ids[2]}], 3 nodes"
    assert section[2] == f"… [{ids[4]}]–[{ids[8]}], 5 nodes"
    assert [line[1:5] for line in (section[1], *section[3:])] == [ids[3], *ids[-12:]]
    assert section[1].endswith("(human) · now · 1 continuation · #turning")
