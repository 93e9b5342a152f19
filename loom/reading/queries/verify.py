"""Verification (docs/model.md §11): every hash and every seal is computed again."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from django.db import DatabaseError

from loom.access import Actor
from loom.language.ids import ids_in
from loom.text import hashes
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import (
    NodeRow,
    as_row,
    columns,
    fetch,
    listed,
    selected_versions,
)
from loom.trees.queries.node_bodies import proof_of
from loom.trees.queries.places import in_chunks, path_ids
from loom.turns.models import Call
from loom.turns.old_calls import ANSWER_GONE
from loom.turns.queries import homes_of_calls

Verdict = Literal["sealed", "open", "broken"]
_PIECE = 1 << 20


def verdicts_of(tree: Tree, uids: Iterable[str]) -> dict[str, Verdict]:
    """For each call: sealed (exact and unchanged), open (not sealed yet, reassembled, no longer
    kept, or not stored here, as after an import), or broken. Reads one response at a time."""
    verdicts: dict[str, Verdict] = dict.fromkeys(uids, "open")
    for own, origin, how, sha256, response, note in _sealed_calls(tree, set(verdicts)):
        uid = origin or own
        if not response and ANSWER_GONE in note:  # an operator's rule took it
            continue
        if digest_of(bytes(response)) != sha256:
            verdicts[uid] = "broken"
        elif how == "exact":
            verdicts[uid] = "sealed"
    return verdicts


def _sealed_calls(tree: Tree, uids: set[str]) -> Iterator[tuple[Any, ...]]:
    """What is stored of the sealed calls behind texts of a tree with these ids: those that were
    made here, and imported ones, which are named by where they come from."""
    homes = homes_of_calls(tree)
    sealed = Call.objects.filter(sealed_at__isnull=False)
    columns = "uid", "origin", "bytes", "sha256", "response", "note"
    # Without their tree: with it SQLite goes through all of its calls.
    made_here = sealed.filter(uid__in=list(uids), origin="").values_list("tree_id", *columns)
    for home, *row in made_here.iterator(chunk_size=8):
        if home in homes:
            uids.discard(row[0])
            yield tuple(row)
    if uids:
        imported = sealed.filter(origin__in=uids, tree__in=homes)
        yield from imported.values_list(*columns).iterator(chunk_size=8)


def digest_of(stored: bytes) -> str | None:
    """The hex SHA-256 of the body that `stored` is the gzip of; None if it is not a gzip."""
    digest = hashlib.sha256()
    if not stored:
        return digest.hexdigest()
    try:
        with gzip.open(io.BytesIO(stored)) as body:
            while piece := body.read(_PIECE):
                digest.update(piece)
    except (OSError, EOFError, zlib.error):
        return None
    return digest.hexdigest()


# What a verification has to read: nodes with the versions they depend on.


# The version depended on: the one in the slot above whose hash was frozen. Depth falls with every
# step, so that the walk also ends on a corrupt tree.
_UPON = """(SELECT p.id FROM trees_node p WHERE p.slot_id = v.parent_slot_id
    AND p.hash = v.parent_hash AND p.depth < v.depth LIMIT 1)"""
_CHAIN = """
    WITH RECURSIVE chain(id, above, parent_hash, depth, length) AS (
        SELECT id, parent_slot_id, parent_hash, depth, length FROM trees_node WHERE id IN ({ids})
        UNION
        SELECT p.id, p.parent_slot_id, p.parent_hash, p.depth, p.length FROM chain
        JOIN trees_node p ON p.slot_id = chain.above AND p.hash = chain.parent_hash
            AND p.depth < chain.depth
    ) SELECT id, length FROM chain ORDER BY depth, id
"""

Order = list[tuple[int, int]]  # (row id, length of its text), dependencies first


class Evidence(NamedTuple):
    """One node and what its hash depends on. `row` is None if it cannot be read."""

    id: int
    row: NodeRow | None
    edited_hash: str
    upon: int | None


def whole_tree(tree: Tree) -> Order:
    """All nodes of the tree, upper ones first."""
    sql = """SELECT id, length FROM trees_node WHERE id BETWEEN %s AND %s ORDER BY depth, id"""
    return [(key, length) for key, length in fetch(sql, list(ids_in(tree.pk)))]


def chain_of(ids: Iterable[int]) -> Order:
    """These nodes and every version they depend on, up to the root, upper ones first."""
    return [(key, length) for key, length in fetch(_CHAIN.format(ids=listed(ids)))]


def evidence(order: Order) -> Iterator[list[Evidence]]:
    """The nodes in this order, in chunks of bounded size."""
    for ids in in_chunks(order):
        yield _read(ids)


def _read(ids: list[int]) -> list[Evidence]:
    sql = f"""SELECT {columns()}, COALESCE(e.hash, ''), {_UPON} FROM trees_node v
        JOIN trees_node s ON s.id = v.slot_id JOIN people_participant a ON a.id = v.author_id
        LEFT JOIN trees_node e ON e.id = v.edited_from_id WHERE v.id IN ({listed(ids)})"""
    try:
        rows = fetch(sql)
    except DatabaseError:
        # A text that is no longer UTF-8 is found by bisection; the rest is read.
        if len(ids) == 1:
            return [Evidence(ids[0], None, "", None)]
        middle = len(ids) // 2
        return _read(ids[:middle]) + _read(ids[middle:])
    by_id = {row[0]: Evidence(row[0], as_row(row[:-2]), row[-2], row[-1]) for row in rows}
    return [by_id.get(uid, Evidence(uid, None, "", None)) for uid in ids]


# Verification (docs/model.md §11): every hash from the node's own fields, every seal from its
# bytes.


CONTENT = "Its fields do not give its hash."
PARENT = "No version above has the hash it was built upon."
ABOVE = "It was built upon a broken version."
SEAL = "The stored answer of its call does not give the SHA-256 it was sealed with."
UNREADABLE = "It cannot be read."


@dataclass
class _Findings:
    """The results so far. `upon` has for each node the version it depends on."""

    broken: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    upon: dict[int, int] = field(default_factory=dict)
    calls: dict[str, Verdict] = field(default_factory=dict)
    checked: int = 0
    imported: int = 0
    other_calls: int = 0
    broken_others: list[str] = field(default_factory=list)


Verifier = Callable[[Node], dict[str, Any]]
VERIFIERS: dict[str, tuple[str, Verifier]] = {}


def verifies(name: str, says: str) -> Callable[[Verifier], Verifier]:
    """Registers the report on what belongs to a node, which is asked for by the parameter `name`;
    `says` describes it in the API."""

    def register(verifier: Verifier) -> Verifier:
        VERIFIERS[name] = (says, verifier)
        return verifier

    return register


def verify_tree(actor: Actor, tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The report on every node and every call of the tree, also on calls that no node names, such
    as a round of a turn. Streams: no more than a few MB of text at once."""
    findings = _checked(tree, whole_tree(tree))
    _check_other_calls(tree, findings)
    return _report(tree, findings, _later_in_tree(tree, workspace, findings))


def verify_path(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The report on the path to a node as the reader sees it, and everything it depends on."""
    path = path_ids(actor, tree, workspace, node)
    findings = _checked(tree, chain_of(key for _, key in path))
    return _report(tree, findings, _later_on_path(path, findings))


def verify_node(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The report on one node and every version it depends on, up to the root."""
    findings = _checked(tree, chain_of([node.pk]))
    return _report(tree, findings, _later_on_path(path_ids(actor, tree, workspace, node), findings))


def _checked(tree: Tree, order: Order) -> _Findings:
    """Checks nodes in an order in which dependencies come first."""
    findings = _Findings()
    for chunk in evidence(order):
        rows = [evidence_row.row for evidence_row in chunk if evidence_row.row is not None]
        fresh = {row.more.call_uid for row in rows if row.rest} - findings.calls.keys() - {""}
        findings.calls.update(verdicts_of(tree, fresh) if fresh else {})
        for piece in chunk:
            findings.checked += 1
            findings.imported += piece.row is not None and piece.row.imported
            reason = _reason(piece, findings)
            if reason:
                findings.broken[piece.id] = reason
                findings.names[piece.id] = piece.row.local_id if piece.row else ""
            if piece.upon is not None:
                findings.upon[piece.id] = piece.upon
    return findings


_CALLS_AT_ONCE = 100


def _check_other_calls(tree: Tree, findings: _Findings) -> None:
    """Adds the sealed calls that no checked node names and whose answers are not what was sealed.
    One that has no exact answer makes nothing incomplete, as no text depends on it."""
    sealed = Call.objects.filter(tree=tree, sealed_at__isnull=False).order_by("id")
    named = sealed.values_list("uid", "origin")
    others = [uid for own, origin in named if (uid := origin or own) not in findings.calls]
    for start in range(0, len(others), _CALLS_AT_ONCE):
        verdicts = verdicts_of(tree, others[start : start + _CALLS_AT_ONCE])
        findings.other_calls += len(verdicts)
        findings.broken_others += [uid for uid in verdicts if verdicts[uid] == "broken"]


def _reason(piece: Evidence, findings: _Findings) -> str:
    """Why a node is broken; "" if it is not."""
    row = piece.row
    if row is None:
        return UNREADABLE
    if _hash_of(row, piece.edited_hash) != row.hash:
        return CONTENT
    if piece.upon is None and (row.parent_slot_id is not None or row.parent_hash):
        return PARENT
    if row.rest and findings.calls.get(row.more.call_uid) == "broken":
        return SEAL
    return ABOVE if piece.upon in findings.broken else ""


def _hash_of(row: NodeRow, edited_hash: str) -> str:
    try:
        return hashes.sha256(proof_of(row, row.more, edited_hash))
    except ValueError:  # blocks that are not JSON, a lone surrogate
        return ""


def verified_among(nodes: Iterable[Node]) -> set[int]:
    """The row ids of those of the nodes whose own fields give their hash, whose call, if a model
    wrote them, is sealed and exact, and which were not imported. Four queries for each tree."""
    by_tree: dict[Tree, list[Node]] = {}
    for node in nodes:
        by_tree.setdefault(node.tree, []).append(node)
    verified = set()
    for tree, of_tree in by_tree.items():
        findings = _Findings()
        for chunk in evidence([(piece.pk, piece.length) for piece in of_tree]):
            calls = {piece.row.more.call_uid for piece in chunk if piece.row and piece.row.rest} - {
                ""
            }
            findings.calls.update(verdicts_of(tree, calls) if calls else {})
            for piece in chunk:
                row = piece.row
                if row is None or row.imported or _reason(piece, findings):
                    continue
                if findings.calls.get(row.more.call_uid, "sealed") == "sealed":
                    verified.add(piece.id)
    return verified


def _report(tree: Tree, findings: _Findings, later: Iterable[int]) -> dict[str, Any]:
    status = "valid"
    if "open" in findings.calls.values():
        status = "incomplete"
    broken_calls = [uid for uid in findings.calls if findings.calls[uid] == "broken"]
    broken_calls += findings.broken_others
    if findings.broken or broken_calls:
        status = "invalid"
    nameless = [key for key, name in findings.names.items() if not name]
    later = sorted(set(later))
    names = _names([*nameless, *later])
    return {
        "status": status,
        "checked": findings.checked,
        "imported": findings.imported,
        "calls": len(findings.calls) + findings.other_calls,
        "broken_calls": broken_calls,
        "broken": [
            {"node": findings.names[key] or names.get(key, ""), "reason": reason}
            for key, reason in findings.broken.items()
        ],
        "later_versions": [names[key] for key in later],
    }


def _names(ids: list[int]) -> dict[int, str]:
    sql = f"SELECT id, local_id FROM trees_node WHERE id IN ({listed(ids)})"
    return dict(fetch(sql)) if ids else {}


def _later_on_path(path: list[tuple[int, int]], findings: _Findings) -> list[int]:
    """Versions on the path that are newer than the one the node below depends on."""
    return [
        above
        for (_, above), (_, below) in pairwise(path)
        if above > findings.upon.get(below, above)
    ]


def _later_in_tree(tree: Tree, workspace: Workspace | None, findings: _Findings) -> list[int]:
    """Versions of the tree that are newer than what depends on them: only slots with several
    versions matter."""
    sql = "SELECT DISTINCT slot_id FROM trees_node WHERE tree_id = %s AND slot_id <> id"
    several = [row[0] for row in fetch(sql, [tree.pk])]
    if not several:
        return []
    selected = {slot: key for slot, (key, _) in selected_versions(several, workspace).items()}
    sql = f"""SELECT id, slot_id, parent_slot_id FROM trees_node
        WHERE parent_slot_id IN ({listed(several)}) AND kind = 'text'"""
    return [
        selected[above]
        for key, slot, above in fetch(sql)
        if selected.get(slot, slot) == key
        and selected[above] > findings.upon.get(key, selected[above])
    ]
