"""Where nodes are in a tree: what is above, beside and below one, what is hidden there, and the
settings that are pinned to its branch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from loom.access import Actor
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.models import BranchSettings, Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import (
    NEWEST,
    UP,
    WALKED,
    below_pruned,
    by_id,
    counted_sql,
    end_of,
    fetch,
    listed,
    marked_below,
    selected_version,
    selected_version_sql,
    selected_versions,
    step_down,
    walked_up,
    with_tree,
)

# Depth is not asked, so that little but the index is read.
_COUNT_BELOW = """
    WITH RECURSIVE down(id) AS (
        SELECT id FROM trees_node WHERE id = %s
        UNION ALL
        SELECT n.id FROM down {below}
    ) SELECT COUNT(*) - 1 FROM (SELECT 1 FROM down {limit}) counted
"""
# As far down from a slot as there is only one way to go: the slot and so many steps.
ONLY_WAY = f"""down(id, steps) AS (
        SELECT CAST(%s AS BIGINT), 0
        UNION ALL
        SELECT (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(x.id) END FROM (
            SELECT n.id FROM trees_node n WHERE {lookup.seen_below("down.id")} LIMIT 2
        ) x), down.steps + 1
        FROM down WHERE down.id IS NOT NULL AND down.steps < %s
    )"""
_ONLY_WAY = f"""WITH RECURSIVE {ONLY_WAY}
    SELECT down.id, CASE WHEN s.sandbox THEN 1 ELSE 0 END
    FROM down JOIN trees_node s ON s.id = down.id ORDER BY down.steps
"""
_PINS = PreparedQuery(
    lambda: BranchSettings.objects.filter(tree=Given("tree")).select_related("slot")
)

MOST_NOTES = 20  # replies that are followed up to a text


def places_of(ids: Sequence[int], workspace: Workspace | None) -> dict[int, list[str]]:
    """Where each of the nodes is, in words, by row id: `below x2a3 → r2v9`, the notes it answers
    up to the first text above; and `pruned`, `version pruned` or `below pruned [a7x2]`.

    One query, three for each step up, one for what is hidden, and two for each node that is.
    """
    nodes = list(Node.objects.filter(pk__in=ids).defer("text"))
    above: dict[int, tuple[str, int | None]] = {}
    asked = {node.parent_slot_id for node in nodes if node.parent_slot_id is not None}
    names: dict[int, str] = {}
    for _ in range(MOST_NOTES):
        if not asked:
            break
        rows = Node.objects.filter(pk__in=asked).values_list("pk", "kind", "parent_slot_id")
        parents = {key: (kind, parent) for key, kind, parent in rows}
        above |= parents
        names |= {slot: name for slot, (_, name) in selected_versions(parents, workspace).items()}
        asked = {
            parent
            for kind, parent in parents.values()
            if kind != "text" and parent is not None and parent not in above
        }
    slots = {node.slot_id for node in nodes}
    hidden = hidden_among(slots) if len(slots) > 1 else slots
    return {
        node.pk: [*_chain_of(node, above, names), *_hiding(node, is_hidden=node.slot_id in hidden)]
        for node in nodes
    }


def _chain_of(
    node: Node, above: dict[int, tuple[str, int | None]], names: dict[int, str]
) -> list[str]:
    chain: list[str] = []
    slot = node.parent_slot_id
    while slot is not None and slot in names and len(chain) < MOST_NOTES:
        chain.append(names[slot])
        kind, parent = above[slot]
        slot = None if kind == "text" else parent
    return [f"below {' → '.join(chain)}"] if chain else []


def _hiding(node: Node, *, is_hidden: bool) -> list[str]:
    words = ["version pruned"] if node.version_pruned else []
    hiding = lookup.hidden_by(node) if is_hidden else None
    if hiding is not None:
        own = hiding.pk == node.slot_id
        words.append("pruned" if own else f"below pruned [{hiding.local_id}]")
    return words


def versions_of(node: Node) -> QuerySet[Node]:
    """All versions of the node's slot, oldest first."""
    return lookup.rows().filter(slot=node.slot_id)


def siblings_of(node: Node) -> QuerySet[Node]:
    """First versions of the text slots beside the node's own."""
    if node.parent_slot_id is None:
        return lookup.rows().none()
    return lookup.slots_below(node.parent_slot_id).exclude(pk=node.slot_id)


def count_below(slot_id: int, *, most: int | None = None) -> int:
    """The number of text slots below the slot that are not hidden by a prune further down. Reads
    each of them; with `most` it stops at that many."""
    limit = "" if most is None else f"LIMIT {most + 1}"
    sql = _COUNT_BELOW.format(below=step_down("down", slot="id", columns="n.id"), limit=limit)
    return int(fetch(sql, [slot_id])[0][0])


def newest_version(node: Node) -> Node:
    """The newest version of the node's slot that is not pruned, else the node itself."""
    return NEWEST.first(slot=node.slot_id) or node


def version_above(node: Node, workspace: Workspace | None) -> Node | None:
    """The selected version of the slot above; None for the root."""
    if node.parent_slot_id is None:
        return None
    return selected_version(node.parent_slot_id, workspace)


def first_fork(root: Node, *, most: int, sandboxes: bool = True) -> Node:
    """The node reached from the root by going down while there is only one way, at most `most`
    steps, and not into a sandbox unless `sandboxes`. The first version of the slot; two queries."""
    end = only_way(root.slot_id, most=most, sandboxes=sandboxes)
    return root if end == root.pk else with_tree(root.tree, by_id(end))


def only_way(slot_id: int, *, most: int, sandboxes: bool = True) -> int:
    """The slot reached by going down while there is only one way; one query."""
    end = slot_id
    for key, is_sandbox in fetch(_ONLY_WAY, [slot_id, most])[1:]:
        if is_sandbox and not sandboxes:
            break
        end = key
    return end


def place_of_author(tree: Tree, author_id: int) -> Node | None:
    """Where a participant is in a tree, without its text; None if they never were there."""
    workspaces = Workspace.objects.filter(tree=tree, participant=author_id)
    place = workspaces.select_related("position").defer("position__text").first()
    return place.position if place is not None else None


def slots_from(slot_id: int, *, most: int, kinds: str = "'text'") -> list[int]:
    """The slot and those of these kinds below it that are not pruned, the nearest first, at most
    `most`."""
    down = lookup.step_down("part", slot="slot", columns="n.id", kinds=kinds)
    sql = f"""WITH RECURSIVE part(slot) AS (
        SELECT id FROM trees_node WHERE id = %s UNION ALL SELECT n.id FROM part {down}
    ) SELECT slot FROM part LIMIT %s"""
    return [key for (key,) in lookup.fetch(sql, [slot_id, most])]


def is_below_pruned(slot: Node) -> bool:
    """Whether a slot above this one is pruned."""
    return bool(below_pruned(slot.tree_id, [slot.pk]))


def hidden_among(slots: Iterable[int]) -> set[int]:
    """Those of the slots, of any trees, that are pruned or below a pruned one; one query."""
    asked = set(slots)
    if not asked:
        return set()
    above, pruned, below = walked_up(asked)
    return marked_below(asked, above, pruned, below=below) | (asked & pruned)


# As lookup.walked_up, and whether a step of the walk is at or below one slot: it comes to that
# slot, or passes over it on its chain.
_STANDING = """
    WITH RECURSIVE up(slot, next, chain, depth, pruned) AS (
        SELECT id, COALESCE(parent_chain, parent_slot_id), parent_chain, depth, pruned
        FROM trees_node WHERE {asked}
        UNION
        SELECT n.id, COALESCE(n.parent_chain, n.parent_slot_id), n.parent_chain, n.depth, n.pruned
        FROM up {step} WHERE up.slot <> %s
    ) SELECT slot, next,
        CASE WHEN up.pruned OR EXISTS (SELECT 1 FROM trees_node p
            WHERE p.pruned_chain = up.chain AND p.depth < up.depth) THEN 1 ELSE 0 END,
        CASE WHEN up.slot = %s OR up.chain = %s AND up.depth > %s THEN 1 ELSE 0 END FROM up
"""


def standing_among(slots: Iterable[int], *, below: Node | None = None) -> set[int]:
    """Those of the slots, of any trees, that are neither pruned nor below a pruned one; with
    `below` only those at or below the slot of that node. One query, two with `below`."""
    asked = set(slots)
    if not asked:
        return set()
    those, given = lookup.within("id", asked)
    branch, chain = (below.slot_id, lookup.chain_of(below.slot_id)) if below is not None else (0, 0)
    depth = below.depth if below is not None else 0
    # Above the branch it is the same for all: asked once, by `hidden_by`.
    params = [given, branch, branch, chain or 0, depth]
    if below is not None and lookup.hidden_by(below) is not None:
        return set()
    steps: dict[int, tuple[int | None, int, int]] = {}
    sql = _STANDING.format(asked=those, step=lookup.step_to("up", node="next", columns=WALKED))
    for slot, then, is_hidden, is_inside in fetch(sql, params):
        steps[slot] = (then, is_hidden, is_inside)
    verdicts: dict[int | None, bool] = {None: below is None}
    for asked_slot in asked:
        trail: list[int] = []
        at: int | None = asked_slot
        while at not in verdicts and at is not None and at in steps and len(trail) <= len(steps):
            trail.append(at)
            at = steps[at][0]
        for step in reversed(trail):
            then, is_hidden, is_inside = steps[step]
            above = verdicts.get(then, False) or bool(is_inside)
            verdicts[step] = above and not is_hidden
    return {asked_slot for asked_slot in asked if verdicts.get(asked_slot, False)}


def path_ids(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node | None = None,
    *,
    most: int | None = None,
) -> list[tuple[int, int]]:
    """The path to a node as (slot id, id of the selected version), root first; only the last `most`
    entries, which cost the same however deep the node is."""
    end = end_of(tree, workspace, node)
    selected, params = selected_version_sql(end, workspace)
    sql = f"{UP} SELECT up.slot, {selected} FROM up ORDER BY up.depth"
    top = 0 if most is None else max(0, end.depth - most + 1)
    rows: list[Any] = fetch(sql, [end.slot_id, top, *params])
    return rows


def hides(node: Node) -> bool:
    """Whether a slot on the path to `node`, its own included, is pruned or starts a sandbox. Reads
    no text."""
    sql = f"{UP} SELECT 1 FROM up WHERE pruned OR sandbox LIMIT 1"
    return bool(fetch(sql, [node.slot_id, 0]))


def pins_on(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> list[BranchSettings]:
    """The pins at a node and above it, the topmost first; one query if the tree has none, else
    two."""
    pins = {pin.slot_id: pin for pin in _PINS.all(tree=tree.pk) if pin.settings}
    if not pins:
        return []
    path = path_ids(actor, tree, workspace, node)
    return [pins[slot] for slot, _ in path if slot in pins]


def settings_at(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The settings that apply at a node: for each, the nearest pinned one above."""
    settings: dict[str, Any] = {}
    for pin in pins_on(actor, tree, workspace, node):
        settings |= pin.settings
    return settings


def in_chunks(
    sized: Iterable[tuple[int, int]], *, count: int = 500, characters: int = 4_000_000
) -> Iterator[list[int]]:
    """Row ids in order, from (id, length of its text), in chunks whose texts together have little
    more than `characters`."""
    chunk: list[int] = []
    size = 0
    for key, length in sized:
        if chunk and (len(chunk) == count or size + length > characters):
            yield chunk
            chunk, size = [], 0
        chunk.append(key)
        size += length
    if chunk:
        yield chunk


def count_directly_below(slot_id: int) -> int:
    """The number of visible texts directly below a slot; more than MOST_COUNTED are one more."""
    return int(fetch(f"SELECT {counted_sql('%s')}", [slot_id])[0][0])


def counted_below(slots: Iterable[int]) -> dict[tuple[int, str], int]:
    """Texts and annotations directly below that are not pruned, counted by slot above and kind;
    more than MOST_COUNTED are MOST_COUNTED + 1. One query."""
    sql = f"""SELECT s.id, {counted_sql("s.id")}, {counted_sql("s.id", kind="annotation")}
        FROM trees_node s WHERE s.id IN ({listed(slots)})"""
    counts = {}
    for slot, texts, notes in fetch(sql):
        counts[slot, "text"], counts[slot, "annotation"] = texts, notes
    return counts
