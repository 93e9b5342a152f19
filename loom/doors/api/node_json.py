"""Nodes as JSON text, written without the values in between.

The same as loom.queries.nodes.node_bodies, which says what the fields mean (a test holds
both together). For 2,000 nodes it takes a third of the time: no thirty thousand small
values are made, and the collector has none of them to walk through.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from loom.access import Actor
from loom.models import Tree
from loom.queries.facts import Facts, facts_of
from loom.queries.rows import EXCLUDED, PRUNED, RESOLVED, SANDBOX, VERSION_PRUNED, NodeRow
from loom.queries.tallies import Hanging, hanging_at

_NODE = (
    '{"id":"%s","tree":"%s","kind":"%s",%s,"text":%s,"content":%s,"author":%s,'
    '"parent":%s,"slot":"%s","depth":%d,"versions":%s,%s,"sources":%s,"created_at":"%s",%s,%s,'
    '"bookmarks":%s,"tags":%s,"hash":"%s","proof":{%s,"content":%s,"created_at":"%s",'
    '"kind":"%s","parent":%s},"counts":{"children":%d,"annotations":%d,"links":%d,"versions":%d}}'
)
_PLAIN = (
    '"form":""',
    '"edited_from":null',
    '"finish":"complete","generation":null,"call":null,"summary":""',
    '"author":"%s","call":null,"configuration":null,"edited_from":null',
)
_TRUTH = ("false", "true")


def nodes_json(
    actor: Actor, tree: Tree, rows: Sequence[NodeRow], hidden: set[int] | None = None
) -> tuple[Iterator[str], dict[str, str]]:
    """The body of each node, and the version that stands by slot, both by local id.

    `hidden` as in facts_of.
    """
    facts = facts_of(tree.pk, rows, hidden)
    hanging = hanging_at(actor, rows)
    versions = {facts.local_ids[row.slot_id]: row.local_id for row in rows}
    return _written(rows, tree.uid, facts, hanging), versions


def _written(rows: Sequence[NodeRow], tree: str, facts: Facts, hanging: Hanging) -> Iterator[str]:
    authors: dict[str, str] = {}
    flags_of = {flags: _flags(flags) for flags in {row.flags for row in rows}}
    local_ids, below, links = facts.local_ids, hanging.below, hanging.links
    for row in rows:
        # Taken apart at once: reading fields one by one is what costs here.
        key, local_id, slot, above, depth, kind, text, who, _, _, at, upon, digest, bits, rest = row
        if who not in authors:
            authors[who] = _json({"id": who, "name": row.author_name, "kind": row.author_kind})
        written = _json(text)
        if rest is None:
            form, edited, ending, proof = _PLAIN
            proof %= who
            content = f'[{{"type":"text","text":{written}}}]'
        else:
            form, edited, ending, proof = _rest(row, facts)
            content = _json(row.content)
        versions = facts.versions.get(slot)
        yield _NODE % (
            local_id,
            tree,
            kind,
            form,
            written,
            content,
            authors[who],
            "null" if above is None else f'"{local_ids[above]}"',
            local_ids[slot],
            depth,
            f'["{local_id}"]' if versions is None else _json(versions),
            edited,
            _json(facts.sources[key]) if key in facts.sources else "[]",
            at,
            flags_of[bits] % _TRUTH[slot in facts.hidden],
            ending,
            _json(facts.bookmarks[key]) if key in facts.bookmarks else "[]",
            _json(facts.tags[key]) if key in facts.tags else "[]",
            digest,
            proof,
            content,
            at,
            kind,
            f'"{upon}"' if upon else "null",
            below.get((slot, "text"), 0),
            below.get((slot, "annotation"), 0),
            links.get(key, 0),
            1 if versions is None else len(versions),
        )


def _json(value: Any) -> str:
    return to_json(value).decode()


def _flags(bits: int) -> str:
    """The flags, with a place left for `hidden`."""
    is_pruned = _TRUTH[bits & (PRUNED | VERSION_PRUNED) != 0]
    return (
        f'"pruned":{is_pruned},"excluded":{_TRUTH[bits & EXCLUDED != 0]},"hidden":%s,'
        f'"sandbox":{_TRUTH[bits & SANDBOX != 0]},"resolved":{_TRUTH[bits & RESOLVED != 0]}'
    )


def _rest(row: NodeRow, facts: Facts) -> tuple[str, str, str, str]:
    """The same parts as in _PLAIN, of a node that has more than a text."""
    more = row.more
    edited, edited_hash = facts.edited.get(more.edited_from_id or 0, (None, None))
    ending = {
        "finish": more.finish,
        "generation": more.generation_uid or None,
        "call": more.call_uid or None,
        "summary": more.summary,
    }
    proof = {
        "author": more.proof_author or row.author_uid,
        "call": more.call_uid or None,
        "configuration": more.configuration or None,
        "edited_from": edited_hash,
    }
    parts = {"form": more.form}, {"edited_from": edited}, ending, proof
    form, origin, end, proven = (_json(part)[1:-1] for part in parts)
    return form, origin, end, proven
