"""What is told about nodes besides their own columns, read for a whole batch at once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loom.queries import hiding, items
from loom.queries.rows import NodeRow, fetch, listed
from loom.rules import addresses

Bodies = dict[int, list[dict[str, Any]]]


@dataclass
class Facts:
    """Of a batch: by node id, or by slot id where the name says so."""

    local_ids: dict[int, str] = field(default_factory=dict)  # first versions of slots
    versions: dict[int, list[str]] = field(default_factory=dict)  # by slot; one: left out
    edited: dict[int, tuple[str, str]] = field(default_factory=dict)  # id → local id, hash
    sources: Bodies = field(default_factory=dict)
    bookmarks: Bodies = field(default_factory=dict)
    tags: dict[int, list[str]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)  # slots below a pruned one


def facts_of(tree_id: int, rows: Sequence[NodeRow], hidden: set[int] | None = None) -> Facts:
    """The facts about nodes of one tree; six to nine queries, whatever their number.

    `hidden` are the slots among them below a pruned one, where the caller knows them.
    """
    facts = Facts()
    _names(facts, rows)
    _versions(facts, rows)
    _sources(facts, tree_id, rows)
    _marks(facts, rows)
    if hidden is None:
        hidden = hiding.below_pruned(tree_id, {row.slot_id for row in rows})
    facts.hidden = hidden
    return facts


def _names(facts: Facts, rows: Sequence[NodeRow]) -> None:
    """Local ids of the slots named by the rows, and what each was edited from."""
    facts.local_ids = {row.id: row.local_id for row in rows if row.id == row.slot_id}
    wanted = {row.slot_id for row in rows}
    wanted.update(row.parent_slot_id for row in rows if row.parent_slot_id is not None)
    edited = {one for row in rows if row.rest and (one := row.more.edited_from_id)}
    missing = (wanted - facts.local_ids.keys()) | edited
    if not missing:
        return
    sql = f"SELECT id, local_id, hash FROM loom_node WHERE id IN ({listed(missing)})"
    for key, local_id, digest in fetch(sql):
        if key in wanted:
            facts.local_ids[key] = local_id
        if key in edited:
            facts.edited[key] = (local_id, digest)


def _versions(facts: Facts, rows: Sequence[NodeRow]) -> None:
    """All versions of the slots that have more than one, oldest first."""
    slots = listed({row.slot_id for row in rows})
    sql = f"""SELECT slot_id, local_id FROM loom_node
        WHERE slot_id IN ({slots}) AND id <> slot_id ORDER BY slot_id, id"""
    later = defaultdict(list)
    for slot, local_id in fetch(sql):
        later[slot].append(local_id)
    facts.versions = {slot: [facts.local_ids[slot], *ids] for slot, ids in later.items()}


def _sources(facts: Facts, tree_id: int, rows: Sequence[NodeRow]) -> None:
    sql = f"""SELECT node_id, item, role FROM loom_nodesource
        WHERE node_id IN ({listed(row.id for row in rows)}) ORDER BY id"""
    found = fetch(sql)
    if not found:
        return
    shown = items.written((item for _, item, _ in found), tree_id)
    made: Bodies = defaultdict(list)
    for node_id, item, role in found:
        made[node_id].append({"item": shown[item], "role": role})
    facts.sources = made


def _marks(facts: Facts, rows: Sequence[NodeRow]) -> None:
    """Bookmarks and tags that are on, oldest first."""
    sql = f"""SELECT m.item, m.kind, m.label, p.uid FROM loom_mark m
        JOIN loom_participant p ON p.id = m.participant_id
        WHERE m.item IN ({quoted(rows)}) AND m.kind IN ('bookmark', 'tag')
            AND m.removed_at IS NULL ORDER BY m.id"""
    bookmarks: Bodies = defaultdict(list)
    tags: dict[int, list[str]] = defaultdict(list)
    for item, kind, label, uid in fetch(sql):
        key = addresses.node_id(item) or 0
        if kind == "bookmark":
            bookmarks[key].append({"label": label, "participant": uid})
        elif label not in tags[key]:
            tags[key].append(label)
    facts.bookmarks, facts.tags = bookmarks, tags


def quoted(rows: Sequence[NodeRow]) -> str:
    """The addresses of nodes as the inside of an SQL list; made of letters and digits only."""
    return ",".join([f"'{addresses.of_node(row.id)}'" for row in rows]) or "NULL"
