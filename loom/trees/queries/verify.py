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
from loom.trees.models import Node, Tree, Workspace
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


def verify_tree(actor: Actor, tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The report on every node of the tree. Streams: no more than a few MB of text at once."""
    findings = _checked(tree, whole_tree(tree))
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
    if findings.broken:
        status = "invalid"
    nameless = [key for key, name in findings.names.items() if not name]
    later = sorted(set(later))
    names = _names([*nameless, *later])
    return {
        "status": status,
        "checked": findings.checked,
        "imported": findings.imported,
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


# Problems of a view (docs/model.md §14.3.13): windows that overlap or are behind, and links between
# claims that lead nowhere or in a circle.


THOUGHT = ("evidence", "supports", "requires")
CITED = ("supports", "refutes")


def verify_view(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The report on the visible windows of a workspace, and on the evidence and requirements of its
    tree as the actor may see them."""
    shown = contents_of(actor, workspace, visible(workspace))
    warnings = [*_overlapping(shown), *_behind(shown), *_thought(actor, workspace.tree)]
    return {"status": "invalid" if warnings else "valid", "violations": warnings}


def _violation(
    kind: str, says: str, windows: Iterable[int], items: Iterable[str]
) -> dict[str, Any]:
    return {"kind": kind, "says": says, "windows": list(windows), "items": list(items)}


def _overlapping(shown: list[WindowContent]) -> Iterator[dict[str, Any]]:
    lenses = [
        (window, window.lines)
        for window in shown
        if is_lens(window.window) and window.lines is not None
    ]
    for (lens, lines), (other, others) in combinations(lenses, 2):
        same = lens.window.item_id == other.window.item_id and lens.revision == other.revision
        if same and lines.overlaps(others):
            numbers = (lens.window.number, other.window.number)
            says = f"#{numbers[0]} and #{numbers[1]} hold the same lines of {lens.ref}."
            yield _violation("OverlappingLenses", says, numbers, [lens.ref])


def _behind(shown: list[WindowContent]) -> Iterator[dict[str, Any]]:
    for window in shown:
        if window.is_stale:
            says = f"#{window.window.number} {window.name}: {staleness(window)}."
            yield _violation("StaleLens", says, [window.window.number], [window.ref])


def _thought(actor: Actor, tree: Tree) -> Iterator[dict[str, Any]]:
    every = [link for link in links_in(actor, tree) if link.type in {*THOUGHT, *CITED}]
    yield from _orphans(tree, [piece for piece in every if piece.type in CITED])
    links = [piece for piece in every if piece.type in THOUGHT]
    ends = {end for link in links for end in (link.source_id, link.target_id)}
    names = written(ends, tree.pk) if ends else {}
    gone = _gone(ends) | {end for end, name in names.items() if name == ERASED}
    for link in links:
        if link.type == "evidence" and link.target_id in gone:
            items = (names[link.source_id], names[link.target_id])
            lost = f"Evidence for {items[0]} was erased with its tree."
            says = (
                lost
                if items[1] == ERASED
                else f"{items[1]} is pruned; it is evidence for {items[0]}."
            )
            yield _violation("OrphanEvidence", says, [], items)
    for circle in _circles([(link.source_id, link.target_id) for link in links]):
        round_ = [names[end] for end in circle]
        says = f"{' → '.join([*round_, round_[0]])} leads back to itself."
        yield _violation("CircularThinking", says, [], round_)


def _orphans(tree: Tree, links: list[Link]) -> Iterator[dict[str, Any]]:
    """The evidence of claims whose item is pruned or erased."""
    cited = set(Cite.objects.filter(claim__tree=tree).values_list("link", flat=True))
    cited_links = [link for link in links if link.pk in cited]
    items = {link.source_id for link in cited_links}
    names = (
        written(items | {link.target_id for link in cited_links}, tree.pk) if cited_links else {}
    )
    gone = _gone(items) | {source for source in items if names[source] == ERASED}
    for piece in cited_links:
        if piece.source_id in gone:
            item, claim = names[piece.source_id], names[piece.target_id]
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
    for item, other in pairs:
        onward.setdefault(item, []).append(other)
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
