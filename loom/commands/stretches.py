"""Viewing more than one node: a branch, a range, a whole tree's head."""

from loom.commands.context import Context, Reply, touched
from loom.commands.phrases import counted, told_to
from loom.commands.resolve import get_node, tree_of
from loom.grammar.refs import Ref
from loom.grammar.shown import age, quote
from loom.queries.counts import tree_body
from loom.queries.hiding import withheld
from loom.queries.path import NodeRow, path_of
from loom.rules import addresses
from loom.rules.refusals import Refused

MAX_SUMMARY = 50


def is_stretch(ref: Ref) -> bool:
    """Whether the ref names a branch or a range."""
    return ref.kind in ("branch", "range")


def view_tree(context: Context, ref: Ref) -> Reply:
    """A tree's title, size and what it is about."""
    tree = tree_of(context, ref)
    body = tree_body(context.actor, tree, None)
    lines = [
        f'tree:"{tree.title}" ({tree.mode} mode)',
        f"{counted(body['node_count'], 'node')} · "
        f"{counted(body['branch_count'], 'branch', 'branches')} · depth: {body['depth']}",
    ]
    lines += [text for text in (tree.summary, tree.description) if text]
    return Reply("\n".join(lines), refs=(f"tree:{tree.uid}",), items=touched(tree))


def view_stretch(context: Context, ref: Ref, *, full: bool, form: str | None) -> Reply:
    """The nodes of a branch (from the root) or of a range, one above the other."""
    every = [row for row in _rows(context, ref) if row.text]
    gone = withheld(context.actor, [row.id for row in every])
    rows = [row for row in every if row.id not in gone]
    seen = tuple(addresses.of_node(row.id) for row in rows[-1:])
    if form == "prose":
        text = told_to(context.actor, "".join(row.text for row in rows))
        return Reply(text, refs=_refs(rows), items=seen)
    shown = rows if full else rows[-MAX_SUMMARY:]
    lines = (
        [f"… {counted(len(rows) - len(shown), 'node')} before"] if len(shown) < len(rows) else []
    )
    for row in shown:
        who = f"{row.author_name} ({row.author_kind})"
        mark = " · imported" if row.imported else ""
        lines.append(f"[{row.local_id}] {who} · {age(context.now, row.created_at)}{mark}")
        lines.append(f'"{told_to(context.actor, row.text)}"' if full else quote(row.text))
    text = "\n".join(lines) or "nothing written there yet"
    return Reply(text, refs=_refs(shown), items=seen)


def _refs(rows: list[NodeRow]) -> tuple[str, ...]:
    return tuple(row.local_id for row in rows)


def _rows(context: Context, ref: Ref) -> list[NodeRow]:
    if ref.kind == "branch":
        node = get_node(context, ref)
        return path_of(context.actor, node.tree, context.workspace, node)
    first, last = (get_node(context, Ref("node", id=one)) for one in (ref.id, ref.end))
    if first.depth > last.depth:
        first, last = last, first
    rows = path_of(context.actor, last.tree, context.workspace, last)
    slots = [row.slot_id for row in rows]
    if first.slot_id not in slots:
        raise Refused(
            "INVALID_SYNTAX",
            f"[{first.local_id}] is not above [{last.local_id}].",
            hint="a range goes from a node down to one below it",
        )
    return rows[slots.index(first.slot_id) :]
