"""An agent that explores: it follows links without being stopped, its answer carries the way, and
somebody else walks it again."""

import re

import pytest
from django.test import Client

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.links.models import Trail
from loom.people.models import Participant, User
from loom.trees.models import Tree
from loom.turns import loops
from loom.turns.loops import Past
from tests.agents.acting import outcomes
from tests.agents.test_windows import Talk
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Talk:
    return Talk(actor, tree, agent, provider, opening)


@pytest.fixture
def ids(talk: Talk) -> list[str]:
    """Five texts, each linked to the next, over three types."""
    ids = [talk.node]
    for number, kind in enumerate(("uses", "supports", "evidence", "supports")):
        line = f'respond {ids[-1]} "Part {number}."'
        ids.append(str(execute_line(talk.actor, talk.tree, Request(line)).body["refs"][0]))
        line = f"link {ids[-2]} to {ids[-1]} as:{kind}"
        execute_line(talk.actor, talk.tree, Request(line))
    return ids


def test_an_agent_follows_links_goes_back_and_its_answer_carries_the_trail(
    talk: Talk, ids: list[str], tree: Tree, owner: User, writer: User, client: Client
) -> None:
    execute_line(talk.actor, tree, Request(f"link {ids[4]} to {ids[0]} as:uses"))
    turn = talk.turn(
        f'→ expand uses of {ids[0]} because:"who pays for the lamp"\n',
        f"→ expand supports of {ids[1]}\n",
        f"→ expand evidence of {ids[2]}\n",
        f"→ expand supports of {ids[3]}\n",
        f"→ expand uses of {ids[4]}\n",
        "→ back\n",
        "The will pays for the lamp.",
    )
    assert [outcome for _, outcome in outcomes(turn)] == ["ok"] * 6
    assert "Next time it is not run" not in str(turn.rounds)
    client.force_login(owner)
    assert turn.node is not None
    # Its node says where it came from: four links, because the fifth was taken back.
    node = client.get(f"/trees/{tree.uid}/nodes/{turn.node.local_id}").content.decode()
    assert f"/trees/{tree.uid}/turns/{turn.uid}/trail" in node
    part = client.get(f"/trees/{tree.uid}/turns/{turn.uid}/trail").content.decode()
    assert [f"[{local_id}]" in part for local_id in ids] == [False, True, True, True, True]
    assert "because who pays for the lamp" in part
    kept = client.post(f"/trees/{tree.uid}/turns/{turn.uid}/trail", {"name": "who pays"})
    trail = Trail.objects.get()
    assert kept["Location"] == f"/trails/{trail.uid}"
    assert len(trail.steps) == 4
    assert {step["type"] for step in trail.steps} == {"uses", "supports", "evidence"}
    # A second person walks it.
    execute_line(talk.actor, tree, Request('trail share "who pays"'))
    other = get_actor(writer, tree.grove)
    reply = str(execute_line(other, tree, Request('trail replay "who pays"')).body["reply"])
    assert "4 steps as #" in reply and f"now at [{ids[4]}]" in reply


def test_a_model_is_told_from_where_each_window_was_opened(talk: Talk, ids: list[str]) -> None:
    talk.turn(
        f"→ open {ids[0]}\n",
        f"→ expand uses of {ids[0]}\n",
        f"→ collapse uses of {ids[0]}\n",
        f"→ expand uses of {ids[0]}\n",
        "Seen.",
    )
    opened = talk.sent(-4)
    assert f"▶ [uses] ──→ [{ids[1]}]" in opened and "▼" not in opened
    nested = talk.sent(-3)
    first, second = re.findall(r"---WINDOW #(\d+)", nested)
    assert f"▼ [uses] ──→ [{ids[1]}] #{second}" in nested
    assert f"via uses from #{first}\n" in nested
    assert f"▶ [supports] ──→ [{ids[2]}]" in nested
    assert f"hidden #{second}" in talk.sent(-2)
    assert f"▶ [uses] ──→ [{ids[1]}]" in talk.sent(-2)
    assert f"▼ [uses] ──→ [{ids[1]}] #{second}" in talk.sent(-1)


def test_the_trail_of_a_turn_is_for_those_who_may_read_its_tree(
    talk: Talk, ids: list[str], tree: Tree, outsider: User, client: Client
) -> None:
    turn = talk.turn(f"→ expand uses of {ids[0]}\n", "Done.")
    client.force_login(outsider)
    address = f"/trees/{tree.uid}/turns/{turn.uid}/trail"
    assert client.get(address).status_code == 404
    assert client.post(address, {"name": "mine"}).status_code == 404
    assert not Trail.objects.exists()


def test_a_turn_that_looked_at_nothing_has_no_trail(
    talk: Talk, tree: Tree, owner: User, client: Client
) -> None:
    turn = talk.turn("→ memory\n", "Done.")
    client.force_login(owner)
    part = client.get(f"/trees/{tree.uid}/turns/{turn.uid}/trail").content.decode()
    assert "No step of this turn led anywhere." in part
    client.post(f"/trees/{tree.uid}/turns/{turn.uid}/trail", {"name": "none"})
    assert not Trail.objects.exists()


def test_abcabc_over_unchanged_things_is_a_loop_and_over_changing_views_is_none() -> None:
    def steps(views: list[str]) -> list[Past]:
        return [
            Past(at, f"view {'abc'[at % 3]}", "a7x2", (("view", view),), moved=len(set(views)) > 1)
            for at, view in enumerate(views)
        ]

    same = steps(["v"] * 9)
    assert loops.look(same[:-1], same[-1]).decision != "run"
    walked = steps([f"v{at}" for at in range(9)])
    assert loops.look(walked[:-1], walked[-1]).decision == "run"
