"""Verification (docs/model.md §11): every hash from the node's own fields, every seal from its
bytes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from loom.access import Actor
from loom.models import Node, Tree, Workspace
from loom.queries.evidence import Evidence, Order, chain_of, evidence, whole_tree
from loom.queries.nodes import proof_of
from loom.queries.path import path_ids
from loom.queries.rows import NodeRow, fetch, listed
from loom.queries.seals import Verdict, verdicts_of
from loom.queries.standing import standing_of
from loom.rules import hashes

CONTENT = "Its fields do not give its hash."
PARENT = "No version above has the hash it was built upon."
ABOVE = "It was built upon a broken version."
SEAL = "The stored answer of its call does not give the SHA-256 it was sealed with."
UNREADABLE = "It cannot be read."


@dataclass
class _Findings:
    """What is known so far. `upon` says for each node which version it was built upon."""

    broken: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    upon: dict[int, int] = field(default_factory=dict)
    calls: dict[str, Verdict] = field(default_factory=dict)
    checked: int = 0
    imported: int = 0


def verify_tree(actor: Actor, tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The report on every node of the tree. Streams: no more than some MB of text at once."""
    found = _checked(tree, whole_tree(tree))
    return _report(tree, found, _later_in_tree(tree, workspace, found))


def verify_path(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The report on the path to a node as the reader reads it, and all that it rests on."""
    path = path_ids(actor, tree, workspace, node)
    found = _checked(tree, chain_of(key for _, key in path))
    return _report(tree, found, _later_on_path(path, found))


def verify_node(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The report on one node and every version it rests on, up to the root."""
    found = _checked(tree, chain_of([node.pk]))
    return _report(tree, found, _later_on_path(path_ids(actor, tree, workspace, node), found))


def _checked(tree: Tree, order: Order) -> _Findings:
    """Looks at nodes in an order in which what is built upon comes first."""
    found = _Findings()
    for chunk in evidence(order):
        rows = [one.row for one in chunk if one.row is not None]
        fresh = {row.more.call_uid for row in rows if row.rest} - found.calls.keys() - {""}
        found.calls.update(verdicts_of(tree, fresh) if fresh else {})
        for one in chunk:
            found.checked += 1
            found.imported += one.row is not None and one.row.imported
            reason = _reason(one, found)
            if reason:
                found.broken[one.id] = reason
                found.names[one.id] = one.row.local_id if one.row else ""
            if one.upon is not None:
                found.upon[one.id] = one.upon
    return found


def _reason(one: Evidence, found: _Findings) -> str:
    """Why a node is broken; "" where it is not."""
    row = one.row
    if row is None:
        return UNREADABLE
    if _hash_of(row, one.edited_hash) != row.hash:
        return CONTENT
    if one.upon is None and (row.parent_slot_id is not None or row.parent_hash):
        return PARENT
    if row.rest and found.calls.get(row.more.call_uid) == "broken":
        return SEAL
    return ABOVE if one.upon in found.broken else ""


def _hash_of(row: NodeRow, edited_hash: str) -> str:
    try:
        return hashes.sha256(proof_of(row, row.more, edited_hash))
    except ValueError:  # blocks that are no JSON, half a character
        return ""


def _report(tree: Tree, found: _Findings, later: Iterable[int]) -> dict[str, Any]:
    status = "valid"
    if "open" in found.calls.values():
        status = "incomplete"
    if found.broken:
        status = "invalid"
    nameless = [key for key, name in found.names.items() if not name]
    later = sorted(set(later))
    names = _names([*nameless, *later])
    return {
        "status": status,
        "checked": found.checked,
        "imported": found.imported,
        "broken": [
            {"node": found.names[key] or names.get(key, ""), "reason": reason}
            for key, reason in found.broken.items()
        ],
        "later_versions": [names[key] for key in later],
    }


def _names(ids: list[int]) -> dict[int, str]:
    sql = f"SELECT id, local_id FROM loom_node WHERE id IN ({listed(ids)})"
    return dict(fetch(sql)) if ids else {}


def _later_on_path(path: list[tuple[int, int]], found: _Findings) -> list[int]:
    """Versions on the path that came after the one the node below was built upon."""
    return [
        above for (_, above), (_, below) in pairwise(path) if above > found.upon.get(below, above)
    ]


def _later_in_tree(tree: Tree, workspace: Workspace | None, found: _Findings) -> list[int]:
    """The same for every path of the tree: only slots with several versions matter."""
    sql = "SELECT DISTINCT slot_id FROM loom_node WHERE tree_id = %s AND slot_id <> id"
    several = [row[0] for row in fetch(sql, [tree.pk])]
    if not several:
        return []
    standing = {slot: key for slot, (key, _) in standing_of(several, workspace).items()}
    sql = f"""SELECT id, slot_id, parent_slot_id FROM loom_node
        WHERE parent_slot_id IN ({listed(several)}) AND kind = 'text'"""
    return [
        standing[above]
        for key, slot, above in fetch(sql)
        if standing.get(slot, slot) == key
        and standing[above] > found.upon.get(key, standing[above])
    ]
