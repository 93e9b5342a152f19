"""Nodes: their rows as tuples, single nodes by id and place, selected versions, what is hidden, and
the path from the root to a node as one participant reads it.

Long paths are read as tuples: model instances cost six times as much. Every column costs
too (2,000 nodes: 0.2 ms each, measured), so what most nodes leave empty comes as one.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BigIntegerField, ExpressionWrapper, F, QuerySet

from loom.access import Actor
from loom.language.ids import ORDINAL_BITS, PLACE_BITS, ids_in, looks_like_id
from loom.permissions import CROSS_TREE, READ_DOCUMENTS
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.counts import MOST_COUNTED
from loom.trees.grove_texts import grove_texts
from loom.trees.models import ORDER, Node, Tree, VersionChoice, Workspace

PRUNED, EXCLUDED, SANDBOX, VERSION_PRUNED, RESOLVED = 1, 2, 4, 8, 16
IMPORTED = 32  # only in rows: skeletons and events do not have it
GONE = EXCLUDED | PRUNED | VERSION_PRUNED  # flags of texts that models are not sent


class RareColumns(NamedTuple):
    """The columns that most nodes leave empty. `blocks` is JSON (None: one block with `text`)."""

    form: str = ""
    blocks: str | None = None
    edited_from_id: int | None = None
    configuration: str = ""
    call_uid: str = ""
    generation_uid: str = ""
    finish: str = "complete"
    proof_author: str = ""
    summary: str = ""


ASK = "ask"  # the form of a text that asked for a turn in a buffer
PARTS = "parts"  # the form of a text that was put together from parts of others


class NodeRow(NamedTuple):
    """One version of one slot. `at` is RFC 3339 in UTC with microseconds, as in the API; `flags`
    are bits, those of the slot except VERSION_PRUNED; `rest` is a JSON array or None."""

    id: int
    local_id: str
    slot_id: int
    parent_slot_id: int | None
    depth: int
    kind: str
    text: str
    author_uid: str
    author_name: str
    author_kind: str
    at: str
    parent_hash: str
    hash: str
    flags: int
    rest: str | None

    @property
    def more(self) -> RareColumns:
        """The columns that are mostly empty; read this once where several are needed."""
        return NO_REST if self.rest is None else RareColumns._make(json.loads(self.rest))

    @property
    def created_at(self) -> datetime:
        """When the node was created."""
        return datetime.fromisoformat(self.at)

    @property
    def length(self) -> int:
        """The length of the text in code points."""
        return len(self.text)

    @property
    def is_ask(self) -> bool:
        """Whether it holds what a turn was asked for in a buffer, which is no part of the story."""
        rest = self.rest
        return rest is not None and f'"{ASK}"' in rest and self.more.form == ASK

    @property
    def is_of_parts(self) -> bool:
        """Whether it was put together from parts of other texts, and is no edit of such a text."""
        rest = self.rest
        if rest is None or f'"{PARTS}"' not in rest:
            return False
        return self.more.form == PARTS and self.more.edited_from_id is None

    @property
    def pruned(self) -> bool:
        """Whether its slot is pruned."""
        return bool(self.flags & PRUNED)

    @property
    def version_pruned(self) -> bool:
        """Whether this version is pruned."""
        return bool(self.flags & VERSION_PRUNED)

    @property
    def excluded(self) -> bool:
        """Whether its slot is left out of requests to models."""
        return bool(self.flags & EXCLUDED)

    @property
    def sandbox(self) -> bool:
        """Whether its slot starts a sandbox."""
        return bool(self.flags & SANDBOX)

    @property
    def resolved(self) -> bool:
        """Whether it is an annotation that was resolved."""
        return bool(self.flags & RESOLVED)

    @property
    def imported(self) -> bool:
        """Whether it was imported from a file."""
        return bool(self.flags & IMPORTED)

    @property
    def form(self) -> str:
        """The form of an annotation: note, question, suggestion, warning, objection."""
        return self.more.form

    @property
    def finish(self) -> str:
        """`complete`, or `interrupted:reason`."""
        return self.more.finish

    @property
    def generation_uid(self) -> str:
        """The generation it came from, or empty."""
        return self.more.generation_uid

    @property
    def call_uid(self) -> str:
        """The call that produced it, or empty."""
        return self.more.call_uid

    @property
    def summary(self) -> str:
        """Its summary, or empty."""
        return self.more.summary

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks."""
        blocks = self.more.blocks
        return [{"type": "text", "text": self.text}] if blocks is None else json.loads(blocks)


NO_REST = RareColumns()
# Takes a third of the time of NodeRow._make; there must be as many columns below as fields.
as_row: Callable[[tuple[Any, ...]], NodeRow] = partial(tuple.__new__, NodeRow)
_IN_UTC = {
    "sqlite": """replace({0}, ' ', 'T') || CASE length({0}) WHEN 26 THEN 'Z' ELSE '.000000Z' END""",
    "postgresql": """to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
}
_REST = """CASE WHEN v.form = '' AND v.blocks IS NULL AND v.edited_from_id IS NULL
        AND v.configuration = '' AND v.call_uid = '' AND v.generation_uid = ''
        AND v.finish = 'complete' AND v.proof_author = '' AND v.summary = '' THEN NULL
    ELSE {array}(v.form, {blocks}, v.edited_from_id, v.configuration, v.call_uid,
        v.generation_uid, v.finish, v.proof_author, v.summary){cast} END"""


def columns(slot: str = "s") -> str:
    """The SELECT list of a NodeRow: versions as `v`, authors as `a`, first versions of
    slots as `slot`."""
    postgres = connection.vendor == "postgresql"
    rest = _REST.format(
        array="json_build_array" if postgres else "json_array",
        blocks="v.blocks::text" if postgres else "v.blocks",
        cast="::text" if postgres else "",
    )
    return f"""v.id, v.local_id, v.slot_id, v.parent_slot_id, v.depth, v.kind, v.text,
        a.uid, a.name, a.kind, {in_utc("v.created_at")}, v.parent_hash, v.hash,
        {flag_bits(slot)} + CASE WHEN v.imported IS NULL THEN 0 ELSE {IMPORTED} END, {rest}"""


def in_utc(column: str) -> str:
    """SQL for a time as in the API: RFC 3339 in UTC with microseconds."""
    return _IN_UTC[connection.vendor].format(column)


def flag_bits(slot: str) -> str:
    """SQL for the flags as one number."""
    return f"""CAST({slot}.pruned AS INTEGER) + 2 * CAST({slot}.excluded AS INTEGER)
        + 4 * CAST({slot}.sandbox AS INTEGER) + 8 * CAST(v.version_pruned AS INTEGER)
        + CASE WHEN {slot}.resolved_at IS NULL THEN 0 ELSE 16 END"""


def fetch(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def walked(slot: str) -> str:
    """A condition that is always true and tells SQLite that a walk visits few slots. It expects a
    million rows otherwise, and scans the node table to build a Bloom filter. Of a sum, because
    SQLite would apply a condition on the column alone to the column that is joined with it as
    well, and then scan half of an index for each slot (measured, once it has statistics)."""
    if connection.vendor == "sqlite":
        return f"likelihood({slot} + 0 > 0, 0.0001)"
    return f"{slot} IS NOT NULL"


def step_down(walk: str, *, slot: str, columns: str, kinds: str = "'text'") -> str:
    """The join of a recursive query `walk`, which goes down, with the slots directly below its
    column `slot` that are not pruned, as `n`. For these the databases are forced to look up each
    slot by itself: PostgreSQL otherwise reads the whole index once for each level."""
    below = f"""{{0}}.parent_slot_id = {walk}.{slot} AND {{0}}.kind IN ({kinds})
        AND {{0}}.slot_id = {{0}}.id AND NOT {{0}}.pruned"""
    if connection.vendor == "postgresql":
        return f"""CROSS JOIN LATERAL (
            SELECT {columns} FROM trees_node n WHERE {below.format("n")} OFFSET 0) n"""
    return f"JOIN trees_node n ON {below.format('n')} WHERE {walked(f'{walk}.{slot}')}"


def step_to(walk: str, *, node: str, columns: str) -> str:
    """The join of a recursive query `walk` with the node of its column `node`, as `n`, of which
    `columns` are read. PostgreSQL takes a walk from some hundred nodes for thousands of rows at
    each step, and would read the whole table to join them: here it is forced to look up each."""
    if connection.vendor == "postgresql":
        return f"""CROSS JOIN LATERAL (
            SELECT {columns} FROM trees_node n WHERE n.id = {walk}.{node} OFFSET 0) n"""
    return f"JOIN trees_node n ON n.id = {walk}.{node}"


def listed(ids: Iterable[int]) -> str:
    """Row ids as the inside of an SQL list; never empty. Only integers, so nothing to escape."""
    return ",".join([str(int(number)) for number in ids]) or "NULL"


def within(column: str, ids: Iterable[int]) -> tuple[str, Any]:
    """A condition that a column is one of these row ids, and its one parameter: the statement is
    the same however many there are, so that its plan can be used again."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s)", list(ids)
    return f"{column} IN (SELECT value FROM json_each(%s))", json.dumps(list(ids))


def rows_of(ids: Sequence[int]) -> list[NodeRow]:
    """The nodes with these row ids, in the order given; unknown ones are left out."""
    if not ids:
        return []
    those, given = within("v.id", ids)
    sql = f"""SELECT {columns()} FROM trees_node v
        JOIN trees_node s ON s.id = v.slot_id JOIN people_participant a ON a.id = v.author_id
        WHERE {those}"""
    rows = {row[0]: as_row(row) for row in fetch(sql, [given])}
    return [rows[key] for key in ids if key in rows]


# Single nodes.

# Wider joins cost more than they save: building the SQL of six took 4 ms (measured).
RELATED = ("author", "slot")


def by_id(node_id: int) -> Node:
    """The node with this row id, which is known to exist."""
    node = _BY_ID.first(pk=node_id)
    if node is None:
        raise Node.DoesNotExist(f"no node {node_id}")
    return node


def node_ref(node: Node, tree_id: int) -> str:
    """How a node is referred to from a tree: its local id, with its tree where that is another."""
    if node.tree_id == tree_id:
        return node.local_id
    return f"tree:{node.tree.uid} node:{node.local_id}"


def nodes_in(tree: int, *, after: int = 0, last: int | None = None) -> QuerySet[Node]:
    """The nodes of a tree behind the id `after`, up to `last`, by the range of their ids: for who
    knows ids, or reads in their order. With `tree=` SQLite, where it has no statistics, reads and
    sorts all of the tree each time; and of two lower bounds it may use the wrong one."""
    first, end = ids_in(tree)
    return Node.objects.filter(pk__range=(max(first, after + 1), end if last is None else last))


def compared(column: str) -> "ExpressionWrapper[Any]":
    """A column of numbers that rows are only compared by. SQLite, where it has no statistics, would
    look rows up by it where another column leaves fewer."""
    return ExpressionWrapper(F(column) + 0, output_field=BigIntegerField())


def rows() -> QuerySet[Node]:
    """Nodes with the related rows that are shown with them, in order of creation."""
    return Node.objects.select_related(*RELATED).order_by("id")


_BY_ID = PreparedQuery(lambda: rows().filter(pk=Given("pk")))
_NAMED = PreparedQuery(lambda: rows().filter(tree=Given("tree"), local_id=Given("local_id")))
NEWEST = PreparedQuery(
    lambda: rows().filter(slot=Given("slot"), version_pruned=False).order_by("-id")[:1]
)
_CHOSEN = PreparedQuery(
    lambda: rows().filter(
        pk__in=VersionChoice.objects.filter(
            workspace=Given("workspace"), slot=Given("slot")
        ).values("node_id"),
        version_pruned=False,
    )
)


def root_of(tree: Tree) -> Node:
    """The tree's root: its first node."""
    return with_tree(tree, by_id((tree.pk << ORDINAL_BITS) + 1))


def find_node(tree: Tree, local_id: str) -> Node | None:
    """The node with that local id in the tree."""
    node = _NAMED.first(tree=tree.pk, local_id=local_id)
    return with_tree(tree, node) if node is not None else None


def find_named(tree: Tree, name: str) -> Node | None:
    """The node with that local id, in any case, or the root, as `root`; None if there is none."""
    wanted = name.lower()
    if wanted == "root":
        return root_of(tree)
    return find_node(tree, wanted) if looks_like_id(wanted) else None


def with_tree(tree: Tree, node: Node) -> Node:
    """The node with its tree, which is loaded already."""
    node.tree = tree
    return node


def slots_below(slot_id: int | Given, *, pruned: bool = False) -> QuerySet[Node]:
    """First versions of the text slots below a slot, in the order of siblings; pruned ones only
    with `pruned`."""
    below = rows().filter(parent_slot=slot_id, kind="text", slot_id__gte=F("id"))
    below = below.annotate(order=ORDER).order_by("order", "id")
    return below if pruned else below.filter(pruned=False)


def order_sql(alias: str) -> str:
    """SQL for the order of siblings, as `loom.trees.models.ORDER` writes it for the index."""
    ordinal = f"{alias}.id & {(1 << ORDINAL_BITS) - 1}"
    return f"COALESCE({alias}.place, {ordinal} << {PLACE_BITS})"


def seen_below(above: str, alias: str = "n", *, kind: str = "text") -> str:
    """SQL for the visible texts below a slot, with the conditions of the index node_seen_below."""
    return (
        f"{alias}.parent_slot_id = {above} AND {alias}.kind = '{kind}'"
        f" AND {alias}.slot_id >= {alias}.id AND NOT {alias}.pruned"
    )


def counted_sql(above: str, where: str = "", *, kind: str = "text") -> str:
    """SQL for the number of visible slots `n` directly below a slot, of which no more than
    MOST_COUNTED + 1 are read; `where` may ask for some of them."""
    below = seen_below(above, kind=kind)
    rows = f"SELECT 1 FROM trees_node n WHERE {below} {where} LIMIT {MOST_COUNTED + 1}"
    return f"(SELECT COUNT(*) FROM ({rows}) counted)"


# Hidden slots: those at or below a pruned one. Computed, never stored.


# What is above a slot is a few chains (`loom.trees.models.Chain`): those of one are asked together,
# by the index of its pruned slots. Where the chain of the slot above is not known, which is so for
# annotations and thoughts, the walk goes up by that one slot.
CHAINS_UP = """
    WITH RECURSIVE up(slot, above, chain, depth, pruned) AS (
        SELECT id, parent_slot_id, parent_chain, depth, pruned FROM trees_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id, n.parent_chain, n.depth, n.pruned FROM up
        JOIN trees_node n ON n.id = COALESCE(up.chain, up.above) AND n.depth < up.depth
    )
"""
_HIDING = f"""{CHAINS_UP} SELECT COALESCE(
        (SELECT p.id FROM trees_node p
            WHERE p.pruned_chain = up.chain AND p.depth < up.depth {{kept}}
            ORDER BY p.depth LIMIT 1),
        CASE WHEN up.pruned {{own}} THEN up.slot END
    ) AS hiding, up.depth FROM up ORDER BY up.depth
"""
_IS_ABOVE = f"""{CHAINS_UP} SELECT 1 FROM up WHERE up.slot = %s
    OR (up.chain = (SELECT c.parent_chain FROM trees_node c WHERE c.parent_slot_id = %s
        AND c.kind = 'text' AND c.parent_chain IS NOT NULL ORDER BY c.id LIMIT 1)
        AND up.depth > %s)
    LIMIT 1"""


def hidden_by(node: Node, changed: Mapping[int, bool] | None = None) -> Node | None:
    """The highest pruned slot at or above the node, which hides it; None if it is visible.
    `changed` overrides which slots are pruned. Reads two rows for each chain above the node."""
    changed = changed or {}
    restored = [slot for slot, is_pruned in changed.items() if not is_pruned]
    condition = f"NOT IN ({listed(restored)})" if restored else ""
    sql = _HIDING.format(
        kept=condition and f"AND p.id {condition}", own=condition and f"AND up.slot {condition}"
    )
    hiding = next((slot for slot, _ in fetch(sql, [node.slot_id]) if slot is not None), None)
    highest = by_id(hiding) if hiding is not None else None
    for slot, is_pruned in changed.items():
        would_be = by_id(slot)
        is_higher = highest is None or would_be.depth < highest.depth
        if is_pruned and is_higher and is_at_or_above(would_be, node):
            highest = would_be
    return highest


def is_at_or_above(slot: Node, node: Node) -> bool:
    """Whether a slot is the node's own or above it."""
    return bool(fetch(_IS_ABOVE, [node.slot_id, slot.pk, slot.pk, slot.depth]))


def chain_of(slot_id: int) -> int | None:
    """The chain that a slot is on; None if no text is below it."""
    below = Node.objects.filter(parent_slot=slot_id, kind="text", parent_chain__isnull=False)
    return below.order_by("id").values_list("parent_chain", flat=True).first()


def visible_at_or_above(
    node: Node, workspace: Workspace | None, changed: Mapping[int, bool] | None = None
) -> Node:
    """The node, or if it is hidden the nearest node above that is not: there the version selected
    in the workspace."""
    hiding = hidden_by(node, changed)
    if hiding is None or hiding.parent_slot_id is None:
        return node
    return selected_version(hiding.parent_slot_id, workspace) or node


def withheld_from_models(ids: Iterable[int]) -> set[int]:
    """Those of the nodes whose text is sent to no model; at most three queries per tree."""
    sql = f"""SELECT v.id, v.slot_id, v.tree_id,
        CASE WHEN v.version_pruned OR s.pruned OR s.excluded THEN 1 ELSE 0 END
        FROM trees_node v JOIN trees_node s ON s.id = v.slot_id WHERE v.id IN ({listed(ids)})"""
    slots: dict[int, dict[int, int]] = {}
    gone = set()
    for key, slot, tree, is_gone in fetch(sql):
        slots.setdefault(tree, {})[key] = slot
        if is_gone:
            gone.add(key)
    for tree, of_tree in slots.items():
        hidden = below_pruned(tree, of_tree.values())
        gone.update(key for key, slot in of_tree.items() if slot in hidden)
    return gone


def withheld(actor: Actor, ids: Iterable[int]) -> set[int]:
    """Those of the nodes whose text the actor is not shown: none for a person; for a model the
    excluded, the pruned, those below a pruned one (docs/model.md §2.1), and notes on documents that
    it may not read, which quote them. One query more for who may not read all documents."""
    if actor.participant.kind != "model":
        return set()
    every = list(ids)
    return withheld_from_models(every) | _on_unread_texts(actor, every)


def _on_unread_texts(actor: Actor, ids: Iterable[int]) -> set[int]:
    """Those of the nodes that are notes on texts outside of trees, such as documents, that the
    actor may not read where the note is."""
    if {READ_DOCUMENTS, CROSS_TREE} <= actor.permissions:
        return set()
    sql = f"""SELECT v.id, v.tree_id, s.item_id FROM trees_node v
        JOIN trees_nodesource s ON s.node_id = v.slot_id AND s.role = 'primary' AND s.item_id < 0
        WHERE v.kind = 'annotation' AND v.id IN ({listed(ids)})"""
    notes = fetch(sql)
    if READ_DOCUMENTS not in actor.permissions:
        return {key for key, *_ in notes}
    unread = set()
    for tree in Tree.objects.filter(pk__in={tree for _, tree, _ in notes}) if notes else ():
        on = {key: item for key, home, item in notes if home == tree.pk}
        seen = grove_texts().seen(actor, tree, on.values())
        unread |= {key for key, item in on.items() if item not in seen}
    return unread


def below_pruned(tree_id: int, slots: Iterable[int]) -> set[int]:
    """Those of `slots` that are below a pruned slot (their own flag does not count). One query
    upward from all of them together."""
    asked = set(slots)
    if not asked:
        return set()
    above, pruned, below = walked_up(asked)
    return marked_below(asked, above, pruned, below=below)


WALKED = "n.id, n.parent_chain, n.parent_slot_id, n.depth, n.pruned"  # what walks up read of a slot
# UNION, not UNION ALL: a slot reached twice is walked once, and a ring ends the walk.
_ABOVE = """
    WITH RECURSIVE up(slot, next, chain, depth, pruned) AS (
        SELECT id, COALESCE(parent_chain, parent_slot_id), parent_chain, depth, pruned
        FROM trees_node WHERE id IN ({slots})
        UNION
        SELECT n.id, COALESCE(n.parent_chain, n.parent_slot_id), n.parent_chain, n.depth, n.pruned
        FROM up {step}
    ) SELECT slot, next, pruned, EXISTS (SELECT 1 FROM trees_node p
        WHERE p.pruned_chain = up.chain AND p.depth < up.depth) FROM up
"""


def walked_up(slots: set[int]) -> tuple[dict[int, int | None], set[int], set[int]]:
    """For the slots and all that the walk up from them visits: the slot visited next, which is the
    one above or the highest of its chain; those that are pruned; and those that are below a pruned
    slot of the chain that the walk passes over. One query."""
    above: dict[int, int | None] = {}
    pruned, below = set(), set()
    step = step_to("up", node="next", columns=WALKED)
    for slot, then, is_pruned, is_below in fetch(_ABOVE.format(slots=listed(slots), step=step)):
        above[slot] = then
        if is_pruned:
            pruned.add(slot)
        if is_below:
            below.add(slot)
    return above, pruned, below


def marked_below(
    asked: set[int], above: dict[int, int | None], pruned: set[int], *, below: set[int]
) -> set[int]:
    """The given slots with a pruned one above; each slot is decided once, without recursion."""
    hidden: dict[int, bool] = dict.fromkeys(below, True)
    for slot in asked:
        trail: list[int] = []
        at: int | None = slot
        while at is not None and at not in hidden and len(trail) <= len(above):
            trail.append(at)
            at = above.get(at)
        verdict = at is not None and (hidden.get(at, False) or at in pruned)
        for passed in reversed(trail):
            hidden[passed] = verdict
            verdict = verdict or passed in pruned
    return {slot for slot in asked if hidden[slot]}


# The selected versions of slots.


def selected_versions(
    slots: Iterable[int], workspace: Workspace | None
) -> dict[int, tuple[int, str]]:
    """(row id, local id) of the selected version, by slot id; two queries.

    The workspace's choice, else the newest not pruned, else (all are pruned) the newest.
    """
    return selected_in(slots, [workspace])


def selected_in(
    slots: Iterable[int], workspaces: Iterable[Workspace | None]
) -> dict[int, tuple[int, str]]:
    """As `selected_versions`, for slots of several trees and the workspaces of one reader there;
    two queries."""
    wanted = set(slots)
    if not wanted:
        return {}
    chosen = _choices(wanted, [row.pk for row in workspaces if row is not None and row.pk])
    selected: dict[int, tuple[int, str]] = {}
    decided: set[int] = set()
    sql = f"""SELECT id, local_id, slot_id, version_pruned FROM trees_node
        WHERE slot_id IN ({listed(wanted)}) ORDER BY id"""
    for node, local_id, slot, gone in fetch(sql):
        if slot in decided or (gone and slot in selected):
            continue
        selected[slot] = (node, local_id)
        if node == chosen.get(slot) and not gone:
            decided.add(slot)
    return selected


def _choices(slots: set[int], workspaces: Sequence[int]) -> dict[int, int]:
    if not workspaces:
        return {}
    sql = f"""SELECT slot_id, node_id FROM trees_versionchoice
        WHERE workspace_id IN ({listed(workspaces)}) AND slot_id IN ({listed(slots)})"""
    return dict(fetch(sql))


def selected_version(slot_id: int, workspace: Workspace | None) -> Node | None:
    """The selected version of a slot: the workspace's choice, else the newest not pruned."""
    if workspace is not None:
        chosen = _CHOSEN.first(workspace=workspace.pk, slot=slot_id)
        if chosen is not None:
            return chosen
    return NEWEST.first(slot=slot_id) or rows().filter(slot=slot_id).last()


# The path from the root to a node, as one participant reads it.


# Depth falls with every step, so that the walk ends on a corrupt tree too. Flags of a slot are
# picked up on the way, since its first version is visited anyhow. Every condition on `s` names
# `up` as well: for one on `s` alone SQLite, once it has statistics, scans the whole table to
# build a Bloom filter.
UP = """
    WITH RECURSIVE up(slot, above, depth, pruned, excluded, sandbox, resolved_at) AS (
        SELECT s.id, s.parent_slot_id, s.depth, s.pruned, s.excluded, s.sandbox, s.resolved_at
        FROM trees_node s WHERE s.id = %s
        UNION ALL
        SELECT s.id, s.parent_slot_id, s.depth, s.pruned, s.excluded, s.sandbox, s.resolved_at
        FROM up JOIN trees_node s ON s.id = up.above AND s.depth < up.depth WHERE up.depth > %s
    )
"""
_DEPTH = NodeRow._fields.index("depth")
# Only later versions are looked for: most slots have none, which the index alone shows.
_NEWEST_SQL = """(SELECT x.id FROM trees_node x WHERE x.slot_id = up.slot AND x.id > up.slot
    AND NOT x.version_pruned ORDER BY x.id DESC LIMIT 1)"""
_CHOSEN_SQL = """(SELECT c.node_id
    FROM trees_versionchoice c JOIN trees_node x ON x.id = c.node_id
    WHERE c.workspace_id = %s AND c.slot_id = up.slot AND NOT x.version_pruned)"""


def selected_sql(workspace: Workspace | None) -> tuple[str, list[int]]:
    """SQL for the selected version of `up.slot`, and its parameters."""
    chosen = f"{_CHOSEN_SQL}, " if workspace is not None else ""
    params = [workspace.pk] if workspace is not None else []
    return f"COALESCE({chosen}{_NEWEST_SQL}, up.slot)", params


def selected_version_sql(node: Node, workspace: Workspace | None) -> tuple[str, list[int]]:
    """SQL for the selected version of `up.slot`, for the slot of `node` that node itself."""
    selected, params = selected_sql(workspace)
    return f"CASE WHEN up.slot = %s THEN %s ELSE {selected} END", [node.slot_id, node.pk, *params]


def path_of(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node | None = None
) -> list[NodeRow]:
    """The path to `node` (None: the workspace's position, else the root), root first.

    In each slot the version that the workspace chose, else the newest not pruned; `node` itself in
    its own slot, pruned or not. One query.
    """
    end = end_of(tree, workspace, node)
    selected, params = selected_version_sql(end, workspace)
    sql = f"""{UP} SELECT {columns("up")} FROM up JOIN trees_node v ON v.id = {selected}
        JOIN people_participant a ON a.id = v.author_id"""
    # Sorted here: ORDER BY would carry every text through the sorter.
    rows = fetch(sql, [end.slot_id, 0, *params])
    rows.sort(key=itemgetter(_DEPTH))
    return list(map(as_row, rows))


def slots_up(node: Node, top: int) -> list[int]:
    """The slots from the depth `top` down to that of the node. One query, which reads no text."""
    rows = fetch(f"{UP} SELECT up.slot FROM up ORDER BY up.depth", [node.slot_id, top])
    return [slot for (slot,) in rows]


def end_of(tree: Tree, workspace: Workspace | None, node: Node | None) -> Node:
    """The end of a path: `node`, else the position of the workspace, else the root."""
    if node is not None:
        return node
    if workspace is not None and workspace.position.tree_id == tree.pk:
        return workspace.position
    return root_of(tree)


# Settings that are pinned to a branch: they apply to the slot and everything below it.
