"""Nodes as the API shows them (docs/model.md §14.3.8): many at once, or one for its event."""

from collections.abc import Sequence
from typing import Any

from loom.access import Actor
from loom.models import Node, Tree
from loom.queries.facts import Facts, facts_of
from loom.queries.rows import (
    EXCLUDED,
    PRUNED,
    RESOLVED,
    SANDBOX,
    VERSION_PRUNED,
    NodeRow,
    Rest,
    row_of,
)
from loom.queries.tallies import tallies_of

Body = dict[str, Any]

BEGINNING = 80  # characters of a text that its event keeps, for lists of what happened


def node_bodies(
    actor: Actor, tree: Tree, rows: Sequence[NodeRow], *, descendants: bool = False
) -> list[Body]:
    """The full bodies of nodes of one tree, in their order; a fixed number of queries.

    `descendants` adds the number of visible text slots below each: one walk for each row.
    """
    facts = facts_of(tree.pk, rows)
    tallies = tallies_of(actor, rows, facts, descendants=descendants)
    bodies = []
    for row in rows:
        body = _body(row, tree.uid, facts)
        body["counts"] = tallies[row.id]
        bodies.append(body)
    return bodies


def event_body(node: Node) -> Body:
    """The node as its event `node.added` carries it: as in the API, without counts."""
    row = row_of(node)
    return _body(row, node.tree.uid, facts_of(node.tree_id, [row]))


def event_bodies(tree: Tree, rows: Sequence[NodeRow]) -> list[Body]:
    """The same for many nodes of one tree at once, in their order."""
    facts = facts_of(tree.pk, rows)
    return [_body(row, tree.uid, facts) for row in rows]


def without_text(body: Body) -> Body:
    """The body of a node as its event stores it: the node itself holds the text, and the event
    names it by id and hash, with its length and its first characters."""
    text, proof = body["text"], body["proof"]
    kept = {key: value for key, value in body.items() if key not in ("text", "content")}
    kept["proof"] = {key: value for key, value in proof.items() if key != "content"}
    return {**kept, "length": len(text), "begins": text[:BEGINNING]}


def with_texts(bodies: Sequence[Body]) -> list[Body]:
    """Stored bodies as they were before `without_text`, their texts read from the nodes. One
    that holds its text (an old event that did not fit its node) comes back as it is.

    One query for each tree that the bodies are of: one where they come from one stream.
    """
    wanted: dict[str, list[str]] = {}
    for body in bodies:
        if "text" not in body:
            wanted.setdefault(body["tree"], []).append(body["id"])
    texts: dict[tuple[str, str], tuple[str, Any]] = {}
    for uid, ids in wanted.items():
        rows = Node.objects.filter(tree__uid=uid, local_id__in=ids).order_by()
        for name, text, blocks in rows.values_list("local_id", "text", "blocks"):
            texts[uid, name] = (text, blocks)
    return [_with_text(body, texts.get((body["tree"], body["id"]))) for body in bodies]


def _with_text(body: Body, found: tuple[str, Any] | None) -> Body:
    """A node that is gone is one of a tree that is being erased: its beginning stays."""
    if "text" in body:
        return body
    kept = {key: value for key, value in body.items() if key not in ("length", "begins")}
    text, blocks = found or (body["begins"], None)
    content = [{"type": "text", "text": text}] if blocks is None else blocks
    proof = {**body["proof"], "content": content}
    return {**kept, "text": text, "content": content, "proof": proof}


def proof_of(row: NodeRow, more: Rest, edited_hash: str) -> Body:
    """The values the row's hash is taken of, as docs/model.md §11 lists them."""
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


def _body(row: NodeRow, tree_uid: str, facts: Facts) -> Body:
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
