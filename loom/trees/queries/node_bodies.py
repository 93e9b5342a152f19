"""Nodes as their events have them (docs/model.md §14.3.8), and the facts that their bodies need."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loom.text.hashes import instant
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries.item_names import item_names
from loom.trees.queries.lookup import (
    EXCLUDED,
    NO_REST,
    PRUNED,
    RESOLVED,
    SANDBOX,
    VERSION_PRUNED,
    NodeRow,
    RareColumns,
    fetch,
    listed,
)

# Facts about nodes besides their own columns, read for a whole batch at once.


Bodies = dict[int, list[dict[str, Any]]]


@dataclass
class Facts:
    """The facts of a batch: by node id, or by slot id where the name says so."""

    local_ids: dict[int, str] = field(default_factory=dict)  # first versions of slots
    versions: dict[int, list[str]] = field(
        default_factory=dict
    )  # by slot; slots with one version are left out
    edited: dict[int, tuple[str, str]] = field(default_factory=dict)  # id → local id, hash
    sources: Bodies = field(default_factory=dict)
    bookmarks: Bodies = field(default_factory=dict)
    tags: dict[int, list[str]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)  # slots below a pruned one


def facts_of(tree_id: int, rows: Sequence[NodeRow], hidden: set[int] | None = None) -> Facts:
    """The facts about nodes of one tree; six to nine queries, whatever their number.

    `hidden` are those of their slots that are below a pruned one, if the caller knows them.
    """
    facts = Facts()
    _names(facts, rows)
    _versions(facts, rows)
    _sources(facts, tree_id, rows)
    _marks(facts, rows)
    if hidden is None:
        hidden = lookup.below_pruned(tree_id, {row.slot_id for row in rows})
    facts.hidden = hidden
    return facts


def _names(facts: Facts, rows: Sequence[NodeRow]) -> None:
    """Local ids of the slots that the rows name, and of what each was edited from."""
    facts.local_ids = {row.id: row.local_id for row in rows if row.id == row.slot_id}
    wanted = {row.slot_id for row in rows}
    wanted.update(row.parent_slot_id for row in rows if row.parent_slot_id is not None)
    edited = {edited_id for row in rows if row.rest and (edited_id := row.more.edited_from_id)}
    missing = (wanted - facts.local_ids.keys()) | edited
    if not missing:
        return
    sql = f"SELECT id, local_id, hash FROM trees_node WHERE id IN ({listed(missing)})"
    for key, local_id, digest in fetch(sql):
        if key in wanted:
            facts.local_ids[key] = local_id
        if key in edited:
            facts.edited[key] = (local_id, digest)


def _versions(facts: Facts, rows: Sequence[NodeRow]) -> None:
    """All versions of the slots that have more than one, oldest first."""
    slots = listed({row.slot_id for row in rows})
    sql = f"""SELECT slot_id, local_id FROM trees_node
        WHERE slot_id IN ({slots}) AND id <> slot_id ORDER BY slot_id, id"""
    later = defaultdict(list)
    for slot, local_id in fetch(sql):
        later[slot].append(local_id)
    facts.versions = {slot: [facts.local_ids[slot], *ids] for slot, ids in later.items()}


def _sources(facts: Facts, tree_id: int, rows: Sequence[NodeRow]) -> None:
    sql = f"""SELECT node_id, item_id, role FROM trees_nodesource
        WHERE node_id IN ({listed(row.id for row in rows)}) ORDER BY id"""
    source_rows = fetch(sql)
    if not source_rows:
        return
    shown = item_names((item for _, item, _ in source_rows), tree_id)
    bodies: Bodies = defaultdict(list)
    for node_id, item, role in source_rows:
        bodies[node_id].append({"item": shown[item], "role": role})
    facts.sources = bodies


def _marks(facts: Facts, rows: Sequence[NodeRow]) -> None:
    """Bookmarks and tags that are on, oldest first."""
    sql = f"""SELECT m.item_id, m.kind, m.label, p.uid FROM notes_mark m
        JOIN people_participant p ON p.id = m.participant_id
        WHERE m.item_id IN ({listed(row.id for row in rows)}) AND m.kind IN ('bookmark', 'tag')
            AND m.removed_at IS NULL ORDER BY m.id"""
    bookmarks: Bodies = defaultdict(list)
    tags: dict[int, list[str]] = defaultdict(list)
    for key, kind, label, uid in fetch(sql):
        if kind == "bookmark":
            bookmarks[key].append({"label": label, "participant": uid})
        elif label not in tags[key]:
            tags[key].append(label)
    facts.bookmarks, facts.tags = bookmarks, tags


Body = dict[str, Any]

BEGINNING = 80  # characters of a text that its event stores, for lists of events


def event_body(node: Node) -> Body:
    """The node as its event `node.added` has it: as in the API, without counts."""
    row = row_of(node)
    return body_of(row, node.tree.uid, facts_of(node.tree_id, [row]))


def event_bodies(tree: Tree, rows: Sequence[NodeRow], facts: Facts | None = None) -> list[Body]:
    """Nodes of one tree as their events `node.added` have them, in their order. `facts` are theirs,
    if the caller knows them."""
    facts = facts_of(tree.pk, rows) if facts is None else facts
    return [body_of(row, tree.uid, facts) for row in rows]


def stored_body(body: Body) -> Body:
    """The body of a node as its event stores it: its id, and what cannot be read from the node
    later because it may change or is no column of it. What is as it is for most is left out."""
    stored = {"id": body["id"], "name": body["author"]["name"]}
    if body["versions"] != [body["id"]]:
        stored["versions"] = body["versions"]
    if body["kind"] != "text":  # readers of notes look for these without the node
        stored |= {name: body[name] for name in ("kind", "parent", "depth")}
    if len(body["text"]) > LENGTHY:
        stored["length"] = len(body["text"])
    return stored | {name: body[name] for name, usual in _USUAL.items() if body[name] != usual}


LENGTHY = 1000  # characters of a text from which its event says how long it is

# What may have changed since an event, and how it usually is when a node is written.
_USUAL: Body = {
    "sources": [],
    "pruned": False,
    "excluded": False,
    "hidden": False,
    "sandbox": False,
    "resolved": False,
    "summary": "",
    "bookmarks": [],
    "tags": [],
}


def without_text(body: Body) -> Body:
    """A body without its text, of which it has the length and the first characters."""
    text, proof = body["text"], body["proof"]
    rest = {key: value for key, value in body.items() if key not in ("text", "content")}
    rest["proof"] = {key: value for key, value in proof.items() if key != "content"}
    return {**rest, "length": len(text), "begins": text[:BEGINNING]}


# Columns of a node that never change, and what they are called in bodies and proofs.
_OF_NODE = (
    *("kind", "form", "text", "blocks", "author__uid", "author__kind", "parent_slot__local_id"),
    *("slot__local_id", "depth", "edited_from__local_id", "edited_from__hash", "created_at"),
    *("finish", "generation_uid", "call_uid", "hash", "proof_author", "configuration"),
    "parent_hash",
)


def whole_bodies(tree_uid: str, stored: Sequence[Body]) -> list[Body]:
    """Stored bodies of nodes of one tree as they were when their events were written: the inverse
    of `stored_body`. Bodies that an earlier build stored have more, or all, and are completed as
    well. One query, none if there are none."""
    if not stored:
        return []
    rows = Node.objects.filter(tree__uid=tree_uid, local_id__in=[body["id"] for body in stored])
    columns = {name: rest for name, *rest in rows.order_by().values_list("local_id", *_OF_NODE)}
    return [_whole(tree_uid, body, columns.get(body["id"])) for body in stored]


def _whole(tree_uid: str, stored: Body, columns: Sequence[Any] | None) -> Body:
    """A whole body. If the node is gone, its tree is being erased: what the event has stays."""
    if "text" in stored:  # an old event that did not fit its node
        return stored
    node = dict(zip(_OF_NODE, columns or _GONE, strict=True))
    name, text, blocks = stored["id"], node["text"] or stored.get("begins", ""), node["blocks"]
    content = [{"type": "text", "text": text}] if blocks is None else blocks
    created = instant(node["created_at"]) if node["created_at"] else ""
    body = {
        "id": name,
        "tree": tree_uid,
        "kind": node["kind"],
        "form": node["form"],
        "text": text,
        "content": content,
        "author": {
            "id": node["author__uid"],
            "name": stored.get("name", ""),
            "kind": node["author__kind"],
        },
        "parent": node["parent_slot__local_id"],
        "slot": node["slot__local_id"],
        "depth": node["depth"],
        "versions": [name],
        "edited_from": node["edited_from__local_id"],
        "sources": [],
        "created_at": created,
        **_USUAL,
        "finish": node["finish"],
        "generation": node["generation_uid"] or None,
        "call": node["call_uid"] or None,
        "hash": node["hash"],
    }
    body |= {key: value for key, value in stored.items() if key in body}
    proof = {
        "author": node["proof_author"] or node["author__uid"],
        "call": node["call_uid"] or None,
        "configuration": node["configuration"] or None,
        "content": content,
        "created_at": created,
        "edited_from": node["edited_from__hash"],
        "kind": node["kind"],
        "parent": node["parent_hash"] or None,
    }
    return {**body, "proof": proof}


_GONE = (
    "text",
    "",
    "",
    None,
    "",
    "person",
    None,
    None,
    0,
    *([None] * 3),
    "",
    "",
    "",
    "",
    *[""] * 3,
)


def proof_of(row: NodeRow, more: RareColumns, edited_hash: str) -> Body:
    """The values that the row's hash covers, as docs/model.md §11 lists them."""
    return {
        "author": more.proof_author or row.author_uid,
        "call": more.call_uid or None,
        "configuration": more.configuration or None,
        "content": row.content,
        "created_at": row.at,
        "edited_from": edited_hash or None,
        "kind": row.kind,
        "parent": row.parent_hash or None,
    }


def body_of(row: NodeRow, tree_uid: str, facts: Facts) -> Body:
    more, flags, key = row.more, row.flags, row.id
    edited = facts.edited.get(more.edited_from_id or 0, (None, ""))
    proof = proof_of(row, more, edited[1])
    return {
        "id": row.local_id,
        "tree": tree_uid,
        "kind": row.kind,
        "form": more.form,
        "text": row.text,
        "content": proof["content"],
        "author": {"id": row.author_uid, "name": row.author_name, "kind": row.author_kind},
        "parent": facts.local_ids.get(row.parent_slot_id or 0),
        "slot": facts.local_ids[row.slot_id],
        "depth": row.depth,
        "versions": facts.versions.get(row.slot_id) or [row.local_id],
        "edited_from": edited[0],
        "sources": facts.sources.get(key, []),
        "created_at": row.at,
        "pruned": bool(flags & (PRUNED | VERSION_PRUNED)),
        "excluded": bool(flags & EXCLUDED),
        "hidden": row.slot_id in facts.hidden,
        "sandbox": bool(flags & SANDBOX),
        "resolved": bool(flags & RESOLVED),
        "finish": more.finish,
        "generation": more.generation_uid or None,
        "call": more.call_uid or None,
        "summary": more.summary,
        "bookmarks": facts.bookmarks.get(key, []),
        "tags": facts.tags.get(key, []),
        "hash": row.hash,
        "proof": proof,
    }


def row_of(node: Node) -> NodeRow:
    """The row of an instance; reads its author and slot if they are not loaded."""
    slot = node if node.slot_id == node.pk else node.slot
    flags = (
        slot.pruned,
        slot.excluded,
        slot.sandbox,
        node.version_pruned,
        bool(slot.resolved_at),
        node.imported is not None,
    )
    rest = RareColumns(
        node.form,
        None if node.blocks is None else json.dumps(node.blocks),
        node.edited_from_id,
        node.configuration,
        node.call_uid,
        node.generation_uid,
        node.finish,
        node.proof_author,
        node.summary,
    )
    return NodeRow(
        id=node.pk,
        local_id=node.local_id,
        slot_id=node.slot_id,
        parent_slot_id=node.parent_slot_id,
        depth=node.depth,
        kind=node.kind,
        text=node.text,
        author_uid=node.author.uid,
        author_name=node.author.name,
        author_kind=node.author.kind,
        at=instant(node.created_at),
        parent_hash=node.parent_hash,
        hash=node.hash,
        flags=sum(bit << place for place, bit in enumerate(flags)),
        rest=None if rest == NO_REST else json.dumps(rest),
    )
