"""The workspace of a line, which is its participant's view of the tree: its lock, where it is
afterwards, and the event that says what has changed in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from loom.engine import streams
from loom.engine.effects import Effect, stores
from loom.engine.event_kinds import Payload, event
from loom.errors import not_found
from loom.platform.inserts import update_row
from loom.platform.prepared_queries import Given, PreparedQuery, lock_rows
from loom.trees.models import Node, Workspace
from loom.trees.queries import lookup

if TYPE_CHECKING:
    from loom.engine.attempt import Attempt
    from loom.engine.context import Context
    from loom.engine.storing import Storing

_NOW = PreparedQuery(lambda: Workspace.objects.select_related("position").filter(pk=Given("pk")))


def stored(workspace: Workspace) -> Workspace:
    """The workspace, stored if it was not yet."""
    if workspace.pk:
        return workspace
    stored_row, _ = Workspace.objects.get_or_create(
        participant=workspace.participant,
        tree=workspace.tree,
        defaults={"position_id": workspace.position_id, "uid": workspace.uid},
    )
    return stored_row


def locked(workspace: Workspace) -> Workspace:
    """The current state of the workspace, locked so that its steps can be numbered."""
    lock_rows(Workspace, pk=workspace.pk)
    current = _NOW.first(pk=workspace.pk)
    if current is None:  # its tree was erased in the meantime
        raise not_found("This workspace")
    return current


# What a line changes in the view. All of it is one event, `view.changed`.


@event("view.changed", stream="workspace")
class ViewChanged(Payload):
    """The workspace has another position or other versions; the line of a step was answered, maybe
    in a turn; events of the tree up to the checkpoint are no longer news."""

    revision: int
    position: str = ""
    versions: dict[str, str] = {}
    step: int = 0
    turn: str = ""
    checkpoint: int = 0


class ViewEffect(Effect):
    """Changes fields of the workspace. `leads`: it says where the workspace is afterwards."""

    leads: ClassVar[bool] = False

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence[Any]) -> dict[str, Any]:
        """Changes the row as all effects of this class say; returns what the event says of it, an
        empty dict if nothing has changed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Moved(ViewEffect):
    """The workspace has its position at a node. The last one counts."""

    node: Node
    leads: ClassVar[bool] = True

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence["Moved"]) -> dict[str, Any]:
        """The position, and no other choice of versions."""
        node = effects[-1].node
        if workspace.position_id == node.pk:
            return {}
        workspace.position = node
        return {"position": lookup.node_ref(node, workspace.tree_id), "versions": {}}


@dataclass(frozen=True)
class Hidden(Effect):
    """A slot (its row id) is pruned, or restored if not `value`: the position that the answer
    names avoids it. In a dry run its row is not written."""

    slot: int
    value: bool


@stores(ViewEffect)
def _store_view(storing: "Storing", effects: list[ViewEffect]) -> None:
    """Changes the workspace, first its position, and writes one event for everything."""
    changed: dict[str, Any] = {}
    kinds: dict[type[ViewEffect], None] = {type(effect): None for effect in effects}
    for kind in sorted(kinds, key=lambda kind: kind is not Moved):
        changed |= kind.change(
            storing.workspace, [effect for effect in effects if type(effect) is kind]
        )
    if changed:
        storing.announce("view.changed", changed)


def position_after(workspace: Workspace, context: "Context") -> Node:
    """The position of the workspace after a line."""
    moved = context.effects.last(Moved)
    if moved is not None:
        return moved.node
    return context.here if context.at else workspace.position


def is_led(workspace: Workspace, context: "Context") -> bool:
    """Whether a line led somewhere and has hidden nothing since, so that its position is known to
    be visible. To be asked before its effects are stored."""
    leads = any(type(effect).leads for effect in context.effects.of(ViewEffect))
    moves = leads or position_after(workspace, context).pk != workspace.position_id
    last = next(
        (effect for effect in context.effects.newest() if isinstance(effect, Hidden | Moved)), None
    )
    return moves and not isinstance(last, Hidden)


def write_view_event(
    attempt: "Attempt", workspace: Workspace, kind: str, changed: dict[str, Any]
) -> None:
    """Stores what changed in the view and writes its event."""
    workspace.revision += 1
    update_row(workspace, "position", "outline", "augments", "scratchpad", "revision")
    writer = streams.lock(workspace, actor=attempt.actor.participant.uid)
    writer.append(kind, {**changed, "revision": workspace.revision})
    writer.flush()


# Changes of a workspace outside of a line: a turn begins, moves back or ends; a late answer.


def answered(workspace: Workspace, seq: int, *, turn: str) -> None:
    """Writes the event that the answer of a step arrived later, in a turn (its uid) or outside of
    one (""). Needs a transaction in which the workspace is locked."""
    workspace.revision += 1
    update_row(workspace, "revision")
    writer = streams.lock(workspace, actor=workspace.participant.uid)
    values = {"step": seq, **({"turn": turn} if turn else {})}
    writer.append("view.changed", {**values, "revision": workspace.revision})
    writer.flush()
