"""Single nodes by id and by position: the selected version, and what is above, beside and below."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection
from django.db.models import F, QuerySet

from loom.access import Actor
from loom.models import ORDINAL_BITS, Generation, Node, Tree, VersionChoice, Workspace
from loom.models.base import Given, Prepared
from loom.queries.node_rows import walked

_BELOW = """
    WITH RECURSIVE down(id, depth) AS (
        SELECT id, depth FROM loom_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.depth FROM down
        JOIN loom_node n ON n.parent_slot_id = down.id AND n.slot_id = n.id
            AND n.depth > down.depth
        WHERE {condition} AND {walked}
    ) SELECT {columns} FROM down WHERE id <> %s
"""


def count_below(slot_id: int) -> int:
    """The number of text slots below the slot that are not hidden by a prune further down."""
    sql = _BELOW.format(
        condition="n.kind = 'text' AND NOT n.pruned", columns="COUNT(*)", walked=walked("down.id")
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [slot_id, slot_id])
        return int(cursor.fetchone()[0])


def slots_below_all(slot_id: int) -> list[int]:
    """The ids of all slots below, of every kind, pruned ones too."""
    sql = _BELOW.format(condition="1 = 1", columns="id", walked=walked("down.id"))
    with connection.cursor() as cursor:
        cursor.execute(sql, [slot_id, slot_id])
        return [row[0] for row in cursor.fetchall()]


# Single nodes by id and by position: the selected version, and what is above and beside.


# Wider joins cost more than they save: building the SQL of six took 4 ms (measured).
RELATED = ("author", "slot")


def by_id(node_id: int) -> Node:
    """The node with this row id, which is known to exist."""
    found = _BY_ID.first(pk=node_id)
    if found is None:
        raise Node.DoesNotExist(f"no node {node_id}")
    return found


def node_ref(node: Node, tree_id: int) -> str:
    """How a node is referred to from a tree: its local id, with its tree where that is another."""
    if node.tree_id == tree_id:
        return node.local_id
    return f"tree:{node.tree.uid} node:{node.local_id}"


def rows() -> QuerySet[Node]:
    """Nodes with what is shown with them, in order of creation."""
    return Node.objects.select_related(*RELATED).order_by("id")


_BY_ID = Prepared(lambda: rows().filter(pk=Given("pk")))
_NAMED = Prepared(lambda: rows().filter(tree=Given("tree"), local_id=Given("local_id")))
_NEWEST = Prepared(
    lambda: rows().filter(slot=Given("slot"), version_pruned=False).order_by("-id")[:1]
)
_CHOSEN = Prepared(
    lambda: rows().filter(
        pk__in=VersionChoice.objects.filter(
            workspace=Given("workspace"), slot=Given("slot")
        ).values("node_id"),
        version_pruned=False,
    )
)
_PRUNED = Prepared(
    lambda: Node.objects.filter(tree=Given("tree"), pruned=True).values_list("id").order_by()
)


def root_of(tree: Tree) -> Node:
    """The tree's root: its first node."""
    return _of(tree, by_id((tree.pk << ORDINAL_BITS) + 1))


def find_node(tree: Tree, local_id: str) -> Node | None:
    """The node with that local id in the tree."""
    found = _NAMED.first(tree=tree.pk, local_id=local_id)
    return _of(tree, found) if found is not None else None


def _of(tree: Tree, node: Node) -> Node:
    node.tree = tree
    return node


def newest_version(node: Node) -> Node:
    """The newest version of the node's slot that is not pruned, else the node itself."""
    return _NEWEST.first(slot=node.slot_id) or node


def selected_version(slot_id: int, workspace: Workspace | None) -> Node | None:
    """The selected version of a slot: the workspace's choice, else the newest not pruned."""
    if workspace is not None:
        chosen = _CHOSEN.first(workspace=workspace.pk, slot=slot_id)
        if chosen is not None:
            return chosen
    return _NEWEST.first(slot=slot_id) or rows().filter(slot=slot_id).last()


def version_above(node: Node, workspace: Workspace | None) -> Node | None:
    """The selected version of the slot above; None for the root."""
    if node.parent_slot_id is None:
        return None
    return selected_version(node.parent_slot_id, workspace)


def slots_below(slot_id: int, *, pruned: bool = False) -> QuerySet[Node]:
    """First versions of the text slots below a slot; pruned ones only if asked for."""
    below = rows().filter(parent_slot=slot_id, kind="text", slot_id=F("id"))
    return below if pruned else below.filter(pruned=False)


_ONLY_WAY = """
    WITH RECURSIVE down(id, steps) AS (
        SELECT CAST(%s AS BIGINT), 0
        UNION ALL
        SELECT (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(x.id) END FROM (
            SELECT n.id FROM loom_node n WHERE n.parent_slot_id = down.id AND n.kind = 'text'
                AND n.slot_id = n.id AND NOT n.pruned LIMIT 2
        ) x), down.steps + 1
        FROM down WHERE down.id IS NOT NULL AND down.steps < %s
    ) SELECT down.id, CASE WHEN s.sandbox THEN 1 ELSE 0 END
    FROM down JOIN loom_node s ON s.id = down.id ORDER BY down.steps
"""


def first_fork(root: Node, *, most: int, sandboxes: bool = True) -> Node:
    """As far down from the root as there is only one way to go, at most so many steps, and not
    into a sandbox where those are not read. The first version of the slot; two queries."""
    end = root.slot_id
    with connection.cursor() as cursor:
        cursor.execute(_ONLY_WAY, [root.slot_id, most])
        for key, is_sandbox in cursor.fetchall()[1:]:
            if is_sandbox and not sandboxes:
                break
            end = key
    return root if end == root.pk else _of(root.tree, by_id(end))


def hidden_by(node: Node, changed: Mapping[int, bool] | None = None) -> Node | None:
    """The highest pruned slot at or above the node, which hides it; None if it is visible.
    `changed` overrides which slots are pruned."""
    pruned = pruned_slots(node.tree_id)
    for slot, is_pruned in (changed or {}).items():
        (pruned.add if is_pruned else pruned.discard)(slot)
    hiding = next((slot for slot in slots_above(node) if slot in pruned), None) if pruned else None
    return by_id(hiding) if hiding else None


def pruned_slots(tree_id: int) -> set[int]:
    """The slots of a tree that are pruned themselves, from the partial index."""
    return {row[0] for row in _PRUNED.all(tree=tree_id)}


def slots_above(node: Node) -> list[int]:
    """The slot ids from the root down to the node's own, by one recursive query."""
    sql = """
        WITH RECURSIVE up(slot, parent, depth) AS (
            SELECT id, parent_slot_id, depth FROM loom_node WHERE id = %s
            UNION ALL
            SELECT n.id, n.parent_slot_id, n.depth FROM up
            JOIN loom_node n ON n.id = up.parent AND n.depth < up.depth
        ) SELECT slot FROM up ORDER BY depth
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [node.slot_id])
        return [row[0] for row in cursor.fetchall()]


def visible_at_or_above(
    node: Node, workspace: Workspace | None, changed: Mapping[int, bool] | None = None
) -> Node:
    """The node, or if it is hidden the nearest node above that is not: there the version selected
    in the workspace."""
    hiding = hidden_by(node, changed)
    if hiding is None or hiding.parent_slot_id is None:
        return node
    return selected_version(hiding.parent_slot_id, workspace) or node


# Which participants somebody asked last on a path, to offer the same again.


AT_ONCE = timedelta(seconds=5)  # generations of one command are started within this time
NEAREST = 200
MOST_ASKED = 400  # candidates that are looked at for one go


@dataclass(frozen=True)
class Asked:
    """How many candidates one participant was asked for, and with which settings."""

    n: int
    tokens: int | None
    temperature: float | None


def asked_on(actor: Actor, tree: Tree, path: Sequence[int]) -> tuple[int | None, dict[str, Asked]]:
    """(where, what by participant name) of the candidates that the actor asked for last, at the
    deepest node of a path (row ids, root first) where they asked for any; (None, {}) if nowhere.
    Rounds of turns do not count."""
    own = Generation.objects.filter(
        tree=tree,
        asked_by=actor.participant,
        point__in=path[-NEAREST:],
        participant__archived_at__isnull=True,
        turn__isnull=True,
    )
    columns = ("point_id", "created_at", "participant__name", "batch", "tokens", "temperature")
    rows = list(own.order_by("-point__depth", "-id").values_list(*columns)[:MOST_ASKED])
    if not rows:
        return None, {}
    point, last_at = rows[0][:2]
    go = [row[2:] for row in rows if row[0] == point and row[1] >= last_at - AT_ONCE]
    # One line asks each of them: who failed and was asked again at once is counted once.
    newest = {name: rest for name, *rest in reversed(go)}
    many = Counter(name for name, batch, *_ in reversed(go) if newest[name][0] == batch)
    return point, {name: Asked(count, *newest[name][1:]) for name, count in many.items()}
