"""Verification (docs/model.md §11): every hash and every seal is computed again."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

from django.db import DatabaseError
from django.db.models import Q

from loom.access import Actor
from loom.claims.models import Cite
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS
from loom.links.models import Link
from loom.links.queries import links_in, written
from loom.text import hashes
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import (
    NodeRow,
    as_row,
    below_pruned,
    columns,
    fetch,
    listed,
    selected_versions,
)
from loom.trees.queries.node_bodies import proof_of
from loom.trees.queries.node_context import ERASED
from loom.trees.queries.places import in_chunks, path_ids
from loom.turns.models import Call
from loom.workspace.models import Workspace
from loom.workspace.queries.window_contents import WindowContent, contents_of, staleness
from loom.workspace.queries.windows import is_lens, visible

Verdict = Literal["sealed", "open", "broken"]
_PIECE = 1 << 20


def verdicts_of(tree: Tree, uids: Iterable[str]) -> dict[str, Verdict]:
    """For each call: sealed (exact and unchanged), open (not sealed yet, reassembled, or not stored
    here, as after an import), or broken. Reads one stored response at a time."""
    verdicts: dict[str, Verdict] = dict.fromkeys(uids, "open")
    wanted = Q(uid__in=verdicts) | Q(origin__in=verdicts)
    calls = Call.objects.filter(wanted, tree=tree, sealed_at__isnull=False)
    columns = calls.values_list("uid", "origin", "bytes", "sha256", "response")
    for own, origin, how, sha256, response in columns.iterator(chunk_size=8):
        uid = origin or own
        if digest_of(bytes(response)) != sha256:
            verdicts[uid] = "broken"
        elif how == "exact":
            verdicts[uid] = "sealed"
    return verdicts


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
    first = tree.pk << ORDINAL_BITS
    return [(key, length) for key, length in fetch(sql, [first, first + (1 << ORDINAL_BITS) - 1])]


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
    found = {row[0]: Evidence(row[0], as_row(row[:-2]), row[-2], row[-1]) for row in rows}
    return [found.get(one, Evidence(one, None, "", None)) for one in ids]


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


def verify_tree(actor: Actor, tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The report on every node of the tree. Streams: no more than a few MB of text at once."""
    found = _checked(tree, whole_tree(tree))
    return _report(tree, found, _later_in_tree(tree, workspace, found))


def verify_path(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The report on the path to a node as the reader sees it, and everything it depends on."""
    path = path_ids(actor, tree, workspace, node)
    found = _checked(tree, chain_of(key for _, key in path))
    return _report(tree, found, _later_on_path(path, found))


def verify_node(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The report on one node and every version it depends on, up to the root."""
    found = _checked(tree, chain_of([node.pk]))
    return _report(tree, found, _later_on_path(path_ids(actor, tree, workspace, node), found))


def _checked(tree: Tree, order: Order) -> _Findings:
    """Checks nodes in an order in which dependencies come first."""
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
    """Why a node is broken; "" if it is not."""
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
        found = _Findings()
        for chunk in evidence([(one.pk, one.length) for one in of_tree]):
            calls = {one.row.more.call_uid for one in chunk if one.row and one.row.rest} - {""}
            found.calls.update(verdicts_of(tree, calls) if calls else {})
            for one in chunk:
                row = one.row
                if row is None or row.imported or _reason(one, found):
                    continue
                if found.calls.get(row.more.call_uid, "sealed") == "sealed":
                    verified.add(one.id)
    return verified


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
    sql = f"SELECT id, local_id FROM trees_node WHERE id IN ({listed(ids)})"
    return dict(fetch(sql)) if ids else {}


def _later_on_path(path: list[tuple[int, int]], found: _Findings) -> list[int]:
    """Versions on the path that are newer than the one the node below depends on."""
    return [
        above for (_, above), (_, below) in pairwise(path) if above > found.upon.get(below, above)
    ]


def _later_in_tree(tree: Tree, workspace: Workspace | None, found: _Findings) -> list[int]:
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
        and selected[above] > found.upon.get(key, selected[above])
    ]


# Problems of a view (docs/model.md §14.3.13): windows that overlap or are behind, and links between
# claims that lead nowhere or in a circle.


THOUGHT = ("evidence", "supports", "requires")
CITED = ("supports", "refutes")


def verify_view(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The report on the visible windows of a workspace, and on the evidence and requirements of its
    tree as the actor may see them."""
    shown = contents_of(actor, workspace, visible(workspace))
    found = [*_overlapping(shown), *_behind(shown), *_thought(actor, workspace.tree)]
    return {"status": "invalid" if found else "valid", "violations": found}


def _violation(
    kind: str, says: str, windows: Iterable[int], items: Iterable[str]
) -> dict[str, Any]:
    return {"kind": kind, "says": says, "windows": list(windows), "items": list(items)}


def _overlapping(shown: list[WindowContent]) -> Iterator[dict[str, Any]]:
    lenses = [(one, one.lines) for one in shown if is_lens(one.window) and one.lines is not None]
    for (one, lines), (other, others) in combinations(lenses, 2):
        same = one.window.item_id == other.window.item_id and one.revision == other.revision
        if same and lines.overlaps(others):
            numbers = (one.window.number, other.window.number)
            says = f"#{numbers[0]} and #{numbers[1]} hold the same lines of {one.ref}."
            yield _violation("OverlappingLenses", says, numbers, [one.ref])


def _behind(shown: list[WindowContent]) -> Iterator[dict[str, Any]]:
    for one in shown:
        if one.is_stale:
            says = f"#{one.window.number} {one.name}: {staleness(one)}."
            yield _violation("StaleLens", says, [one.window.number], [one.ref])


def _thought(actor: Actor, tree: Tree) -> Iterator[dict[str, Any]]:
    every = [one for one in links_in(actor, tree) if one.type in {*THOUGHT, *CITED}]
    yield from _orphans(tree, [one for one in every if one.type in CITED])
    links = [one for one in every if one.type in THOUGHT]
    ends = {end for one in links for end in (one.source_id, one.target_id)}
    names = written(ends, tree.pk) if ends else {}
    gone = _gone(ends) | {end for end, name in names.items() if name == ERASED}
    for one in links:
        if one.type == "evidence" and one.target_id in gone:
            items = (names[one.source_id], names[one.target_id])
            lost = f"Evidence for {items[0]} was erased with its tree."
            says = (
                lost
                if items[1] == ERASED
                else f"{items[1]} is pruned; it is evidence for {items[0]}."
            )
            yield _violation("OrphanEvidence", says, [], items)
    for circle in _circles([(one.source_id, one.target_id) for one in links]):
        round_ = [names[end] for end in circle]
        says = f"{' → '.join([*round_, round_[0]])} leads back to itself."
        yield _violation("CircularThinking", says, [], round_)


def _orphans(tree: Tree, links: list[Link]) -> Iterator[dict[str, Any]]:
    """The evidence of claims whose item is pruned or erased."""
    cited = set(Cite.objects.filter(claim__tree=tree).values_list("link", flat=True))
    found = [one for one in links if one.pk in cited]
    items = {one.source_id for one in found}
    names = written(items | {one.target_id for one in found}, tree.pk) if found else {}
    gone = _gone(items) | {one for one in items if names[one] == ERASED}
    for one in found:
        if one.source_id in gone:
            item, claim = names[one.source_id], names[one.target_id]
            lost = "was erased" if item == ERASED else f"[{item}] is pruned"
            says = f"{lost}; it is evidence of the claim [{claim}]."
            yield _violation("OrphanEvidence", says, [], [item, claim])


def _gone(ends: Iterable[int]) -> set[int]:
    """Those of the items that are nodes which are pruned, or below a pruned one."""
    keys = [key for end in ends if (key := item_ids.node_id(end)) is not None]
    flags = ("pk", "slot_id", "slot__pruned", "version_pruned")
    rows = list(Node.objects.filter(pk__in=keys).values_list(*flags))
    trees: dict[int, set[int]] = {}
    for key, slot, _, _ in rows:
        trees.setdefault(item_ids.home_of(key), set()).add(slot)
    hidden = set().union(*(below_pruned(tree, slots) for tree, slots in trees.items()))
    return {key for key, slot, is_slot, is_own in rows if is_slot or is_own or slot in hidden}


def _circles(pairs: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Circles of links, each once, from its smallest end. Walks with a stack of its own."""
    onward: dict[int, list[int]] = {}
    for one, other in pairs:
        onward.setdefault(one, []).append(other)
    done: set[int] = set()
    for start in sorted(onward):
        path: list[int] = []
        stack = [(start, iter(onward[start]))] if start not in done else []
        path += [start] if stack else []
        while stack:
            following = next(stack[-1][1], None)
            if following is None:
                done.add(stack.pop()[0])
                path.pop()
            elif following in path:
                circle = path[path.index(following) :]
                turn = circle.index(min(circle))
                yield [*circle[turn:], *circle[:turn]]
            elif following not in done:
                stack.append((following, iter(onward.get(following, []))))
                path.append(following)
