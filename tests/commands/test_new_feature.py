"""A feature that nothing else knows: all of it is in this file, as in a folder of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import pytest

from loom.access import Actor
from loom.engine import effects, event_kinds, registry, undo
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.effects import Effect, stores
from loom.engine.event_kinds import Payload, event
from loom.engine.models import Event
from loom.engine.registry import command
from loom.engine.storing import Storing
from loom.engine.undo import Own, conflict, undoes
from loom.permissions import LOOM
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import after_adding
from loom.trees.models import Node, Tree
from loom.trees.named_items import get_own_node
from tests.commands.conftest import Say

WATERED: set[str] = set()  # its table
SEEN: list[str] = []  # what it keeps for a workspace
GROWN: list[str] = []  # what it does with new nodes


def _grow() -> None:
    """Registers the feature."""

    @event("node.watered", stream="tree")
    class Watered(Payload):
        """A node has got water, or lost it."""

        node: str
        wet: bool

    @dataclass(frozen=True)
    class Noticed(Effect):
        node: str

    @stores(Noticed)
    def store(storing: Storing, some: list[Noticed]) -> None:
        SEEN.extend(effect.node for effect in some)

    def set_wet(context: Context, node: str, wet: bool) -> Op:
        (WATERED.add if wet else WATERED.discard)(node)
        context.world.append("node.watered", {"node": node, "wet": wet})
        return {"op": "watered", "node": node, "wet": not wet}

    @undoes("watered")
    def undo_it(context: Context, op: Op, own: Own) -> list[Op]:
        if (op["node"] in WATERED) == op["wet"]:
            raise conflict(f"[{op['node']}]")
        return [set_wet(context, op["node"], op["wet"])]

    @after_adding
    def grow(node: Node) -> None:
        GROWN.append(node.text)

    class Water(Args):
        """The node that gets water."""

        ref: Annotated[RefField, Written("ref")]

    @command("water", group="Make", klass="write", permissions={LOOM}, stream="tree")
    def water(context: Context, args: Water) -> Reply:
        """Waters a node."""
        node = get_own_node(context, args.ref)
        context.add(Noticed(node.local_id))
        return Reply("✓ watered", inverse=(set_wet(context, node.local_id, True),))


@pytest.fixture
def _feature(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The feature, until the end of the test."""
    for module, names in (
        (effects, ("_stores",)),
        (event_kinds, ("_kinds",)),
        (undo, ("_undoers",)),
        (registry, ("_commands", "_aliases", "_facts", "_by_function")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, dict(getattr(module, name)))
    monkeypatch.setattr(registry, "_commands", {k: [*v] for k, v in registry._commands.items()})
    monkeypatch.setattr(node_writer, "_hooks", [*node_writer._hooks])
    _grow()
    yield
    for cached in (registry.forms, registry.language, registry._silent, event_kinds._model_of):
        cached.cache_clear()
    for kept in (WATERED, SEEN, GROWN):
        kept.clear()


@pytest.mark.usefixtures("_feature")
def test_a_feature_needs_nothing_outside_of_its_folder(say: Say, actor: Actor, tree: Tree) -> None:
    node = str(say('respond root "a fern"').body["refs"][0])
    assert GROWN[-1] == "a fern"
    assert say(f"water {node}").reply == "✓ watered"
    assert {node} == WATERED and [node] == SEEN
    assert "water" in say("help").reply
    assert say("undo").reply == f"✓ undid → water {node}"
    assert not WATERED
    assert say("redo").reply == f"✓ redid → water {node}"
    events = Event.objects.filter(stream__name=f"tree:{tree.uid}", kind="node.watered")
    assert [watered.payload["wet"] for watered in events.order_by("seq")] == [True, False, True]
    WATERED.clear()
    with pytest.raises(Exception, match="has since been changed or built on by somebody"):
        say("undo")
