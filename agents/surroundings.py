"""What lies around an agent, from rows to plain values: its outline, path, deeds and news."""

from collections.abc import Collection, Sequence
from datetime import datetime

from agents.context.view import Deed, Near, Twig
from loom.access import Actor
from loom.grammar.shown import age, quote
from loom.models import Event, Mark, Node, Participant, Step, Tree, Workspace
from loom.queries import lookup
from loom.queries.hiding import withheld_from_models
from loom.queries.margins import Spot, margins_of
from loom.queries.outline import outline
from loom.queries.rows import NodeRow, rows_of
from loom.queries.workspaces import outline_of
from loom.rules import addresses
from loom.rules.framing import plain

LINES = 30  # of the outline
WORDS = 8  # of a node there, and of a text in the news
STOPS = 12  # nodes at the end of the path; those with a mark are told wherever they are
DEEDS = 10
NEWS = 10


def twigs(actor: Actor, tree: Tree, workspace: Workspace) -> tuple[Twig, ...]:
    """The outline of a workspace, as far as it is unfolded."""
    state = outline_of(workspace)
    root = lookup.root_of(tree)
    here = lookup.visible_at_or_above(workspace.position, workspace)
    drawn = outline(actor, tree, workspace, root, depth=state["depth"], limit=LINES)
    hits = set(state["hits"])
    withheld = withheld_from_models(line.row.id for line in drawn.lines)
    return tuple(
        Twig(
            line.row.local_id,
            quote(line.row.text, WORDS) if line.row.text and line.row.id not in withheld else "",
            line.level,
            line.is_last,
            line.children,
            line.shown,
            is_here=line.row.slot_id == here.slot_id,
            is_hit=line.row.local_id in hits,
        )
        for line in drawn.lines
    )


def near(
    tree: Tree, rows: Sequence[NodeRow], workspace: Workspace, now: datetime
) -> tuple[Near, ...]:
    """What may have changed about the last nodes of a path, and about those with a mark."""
    marked = _marked(tree)
    told = [row for at, row in enumerate(rows) if at >= len(rows) - STOPS or row.id in marked]
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in told])
    return tuple(
        Near(
            row.local_id,
            row.author_name,
            row.author_kind,
            age(now, row.created_at),
            margins[row.id].children,
            len(margins[row.id].notes),
            bool(margins[row.id].bookmarks),
            tuple(margins[row.id].tags),
        )
        for row in told
    )


def _marked(tree: Tree) -> set[int | None]:
    """The nodes of a tree that hold a bookmark or a tag."""
    found = Mark.objects.filter(tree=tree, kind__in=("bookmark", "tag"), removed_at__isnull=True)
    return {addresses.node_id(item) for item in found.values_list("item", flat=True).distinct()}


def deeds(workspace: Workspace) -> tuple[Deed, ...]:
    """The last lines that were given in a workspace, oldest first; thoughts are not told."""
    steps = list(workspace.steps.exclude(canonical__startswith="→ think").order_by("-seq")[:DEEDS])
    keys = {key for step in steps for one in step.items if (key := addresses.node_id(one))}
    names = dict(Node.objects.filter(pk__in=keys).values_list("id", "local_id"))
    return tuple(_deed(step, names) for step in reversed(steps))


def _deed(step: Step, names: dict[int, str]) -> Deed:
    said = (step.canonical or step.line).removeprefix("→").split()
    nodes = (names.get(addresses.node_id(one) or 0) for one in step.items)
    first = next((one for one in nodes if one), "")
    verb = said[0] if step.canonical and said else "an unread line"
    return Deed(verb, (first,) if first else (), step.outcome)


def news(actor: Actor, tree: Tree, workspace: Workspace) -> tuple[str, ...]:
    """What others wrote since the agent's last turn here ended, the last lines of it."""
    if not workspace.checkpoint:
        return ()
    events = Event.objects.filter(
        stream__name=f"tree:{tree.uid}", kind="node.added", seq__gt=workspace.checkpoint
    )
    own = actor.participant.uid
    found = events.exclude(actor=own).order_by("-seq").values_list("payload", "actor")[:NEWS]
    who = dict(
        Participant.objects.filter(uid__in={one for _, one in found}).values_list("uid", "name")
    )
    rows = _rows_named(tree, [payload["node"]["id"] for payload, _ in found])
    withheld = withheld_from_models(row.id for row in rows.values())
    told = [
        _told(rows[node["id"]], node["parent"], who.get(uid, "Somebody"), withheld)
        for node, uid in ((payload["node"], uid) for payload, uid in found)
        if node["id"] in rows
    ]
    return tuple(one for one in reversed(told) if one)


def _rows_named(tree: Tree, names: Sequence[str]) -> dict[str, NodeRow]:
    keys = tree.nodes.filter(local_id__in=names).values_list("pk", flat=True)
    return {row.local_id: row for row in rows_of(list(keys))}


def _told(row: NodeRow, parent: str, who: str, withheld: Collection[int]) -> str:
    """`✓ Ada annotated [b3k9]: "…"`; without the words of what no model is sent."""
    deed = {"text": "wrote", "annotation": "annotated"}.get(row.kind)
    at = parent if row.kind == "annotation" else row.local_id
    words = "" if row.id in withheld else f": {quote(row.text, WORDS)}"
    return f"✓ {plain(who)} {deed} [{at}]{words}" if deed else ""
