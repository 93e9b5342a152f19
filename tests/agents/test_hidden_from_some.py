"""What an agent read for one member in a tree that is hidden from another is not told to that one,
whatever line of the agent lists it later."""

import json
from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.people.models import Participant, User
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, Tree
from tests.agents.acting import asked, outcomes, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
LINES = (
    *("memory", "memory trace", "memory windows", "trail", "trail list", "trail show windows"),
    *("list tags in:grove", "list bookmarks in:grove", "list trees"),
)
LINKED = (
    *("list {0} links", "list {0} related", "expand related of {0} inline", "graph {0}"),
    *("expand related of {0}", "open {0} with:related", 'find "papers" in:grove'),
    *('trail show "kestrels"', 'view trail:"kestrels"', "digest", "since", "view {0}"),
)


@pytest.fixture
def far(actor: Actor) -> str:
    """A text of a tree that is hidden from writers, as lines name it."""
    hidden = trees.new_tree(actor, title="Papers of the kestrel")
    for line in (
        'respond root "a kestrel"',
        "tag here #kestrelish",
        "view here",
        'trail save "kestrels"',
        'trail share "kestrels"',
        "allow writers hidden",
    ):
        execute_line(actor, hidden, Request(line))
    node = Node.objects.filter(tree=hidden).latest("id")
    return f"tree:{hidden.uid} node:{node.local_id}"


def test_no_later_line_of_its_agent_tells_of_it(
    actor: Actor,
    writer: User,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    far: str,
    api: Callable[..., APIClient],
) -> None:
    own = far.partition(" node:")[2]
    reads = f'→ view {far} full\n→ open {far} keep\n→ link {opening} to {far} note:"a kestrel"'
    refused = f"→ view {own}"
    looks = "\n".join(f"→ {line}" for line in LINES)
    linked = "\n".join(f"→ {line.format(opening)}" for line in LINKED)
    for said in (reads, looks, linked, refused):
        provider.script(says(said))
    provider.script(says("Done."))
    turn = went(asked(actor, tree, agent))
    assert {outcome for line, outcome in outcomes(turn)} == {"ok", "CROSS_TREE"}
    assert "kestrel" in str(list(Step.objects.filter(turn_uid=turn.uid).values("message", "hint")))
    view = node_writer.workspace_of(agent, tree)
    rounds = [generation.uid for generation in turn.generations.order_by("round")]
    addresses = [
        f"steps?turn={turn.uid}",
        f"steps?workspace={view.uid}",
        *(f"workspaces/{view.uid}{rest}" for rest in ("", "/windows", "/context", "/status")),
        *(f"generations/{uid}" for uid in rounds),
    ]
    for user, is_told in ((actor.user, True), (writer, False)):
        client = api(user)
        told = [json.dumps(client.get(f"/api/{address}").json()) for address in addresses]
        told.append(client.get(f"/trees/{tree.uid}/turns").content.decode())
        named = [
            address
            for address, words in zip([*addresses, "turns"], told, strict=True)
            if "kestrel" in words
        ]
        assert bool(named) is is_told, named
    # Nor does the next turn, for the one who may not see it.
    before = len(provider.seen)
    provider.script(says("→ memory trace\n→ memory"), says("Done."))
    again = went(asked(get_actor(writer, tree.grove), tree, agent))
    sent = [request.body.decode() for request in provider.seen[before:]]
    assert sent and not any("kestrel" in words for words in sent)
    assert {outcome for _, outcome in outcomes(again)} == {"ok"}
