"""Looking: view and list. They change nothing."""

from collections import Counter
from typing import Annotated, Literal

from loom.commands.args import Args, RefField, Written
from loom.commands.context import Context, Reply, touched
from loom.commands.phrases import WITHHELD, counted, header, line_of, told_to
from loom.commands.records import position_ref
from loom.commands.registry import command
from loom.commands.resolve import get_node, tree_of
from loom.commands.stretches import is_stretch, view_stretch, view_tree
from loom.grammar.bad import Bad
from loom.grammar.shown import quote
from loom.grammar.slices import get
from loom.models import Node, Tree
from loom.queries import beside, lookup
from loom.queries.hiding import withheld
from loom.rules import link_types
from loom.rules.refusals import Refused

MAX_LINES = 50


class View(Args):
    """What to view, and how much of it."""

    ref: Annotated[RefField, Written("ref")]
    length: Annotated[
        Literal["full", "summary"] | None, Written("choice", choices=("full", "summary"))
    ] = None
    with_annotations: Annotated[bool, Written("flag", lead="with-annotations")] = False
    form: Annotated[
        Literal["prose", "nodes", "diff"] | None,
        Written("option", key="as", value="choice", choices=("prose", "nodes", "diff")),
    ] = None


@command("view", group="Look", klass="look", letters="A", aliases=("read", "show"))
def view(context: Context, args: View) -> Reply:
    """Shows a node, a tree, a branch or a range: its summary, or with `full` all of it."""
    if args.ref.kind == "tree":
        return view_tree(context, args.ref)
    if is_stretch(args.ref):
        return view_stretch(context, args.ref, full=args.length == "full", form=args.form)
    node = get_node(context, args.ref, slices=True)
    lines = [header(node, context.now), _text(context, node, args)]
    if args.with_annotations:
        notes = list(beside.annotations_of(node))
        gone = withheld(context.actor, [one.pk for one in notes])
        lines += [line_of(one, context.now, withheld=gone) for one in notes]
    lines.append(_foot(context, node))
    refs = (position_ref(node, context.tree.pk),)
    return Reply("\n".join(lines), refs=refs, items=touched(node))


def _text(context: Context, node: Node, args: View) -> str:
    before = [node.edited_from_id] if args.form == "diff" and node.edited_from_id else []
    if withheld(context.actor, [node.pk, *before]):
        return WITHHELD
    return told_to(context.actor, _whole(node, args))


def _whole(node: Node, args: View) -> str:
    if args.ref.slice is not None:
        try:
            return get(node.text, args.ref.slice).shown
        except Bad as bad:
            raise Refused(bad.code, bad.message, hint=bad.hint) from None
    if args.form == "prose":
        return node.text
    if args.form == "diff":
        return _diff(node)
    return f'"{node.text}"' if args.length == "full" else quote(node.text)


def _diff(node: Node) -> str:
    """The node against what it was edited from, line by line."""
    import difflib

    before = node.edited_from
    if before is None:
        raise Refused(
            "REJECTED",
            f"[{node.local_id}] was not edited from anything.",
            hint=f"→ view {node.local_id} full",
        )
    lines = difflib.unified_diff(
        before.text.splitlines(),
        node.text.splitlines(),
        before.local_id,
        node.local_id,
        lineterm="",
    )
    return "\n".join(lines)


def _foot(context: Context, node: Node) -> str:
    counts = beside.counts_of(context.actor, node)
    parts = [
        counted(counts.continuations, "continuation"),
        counted(counts.annotations, "annotation"),
        counted(counts.links, "link"),
    ]
    if counts.versions > 1:
        parts.append(counted(counts.versions, "version"))
    return " · ".join(parts)


LISTS = ("continuations", "annotations", "links", "versions", "siblings", "claims")


class List(Args):
    """Of what, and which of its lists or link types."""

    ref: Annotated[RefField, Written("ref")]
    type: Annotated[str, Written("type")] = ""


@command("list", group="Look", klass="look", letters="A")
def list_(context: Context, args: List) -> Reply:
    """Lists what hangs at a node or tree, one line each; without a type, its links by type."""
    kind = "continuations" if args.type.lower() == "continues" else args.type.lower()
    if args.ref.kind == "tree":
        return _of_tree(context, tree_of(context, args.ref), kind)
    node = get_node(context, args.ref)
    if not kind:
        return _affordances(context, node)
    if kind in ("claims",):
        raise Refused("UNAVAILABLE", "Claims are not here yet.", hint="list another type")
    if kind == "links" or kind in _link_words():
        return _links(context, node, kind)
    rows = {
        "continuations": lambda: lookup.slots_below(node.slot_id),
        "annotations": lambda: beside.annotations_of(node),
        "versions": lambda: beside.versions_of(node),
        "siblings": lambda: beside.siblings_of(node),
    }
    if kind not in rows:
        raise Refused(
            "INVALID_SYNTAX",
            f"There is no list {kind!r}.",
            hint="there are " + ", ".join((*LISTS, *sorted(link_types.STORED))),
        )
    return _listed(context, node, kind, list(rows[kind]()[: MAX_LINES + 1]))


def _link_words() -> set[str]:
    return set(link_types.STORED) | {link_types.reverse_of(name) for name in link_types.STORED}


def _listed(context: Context, node: Node, kind: str, found: list[Node]) -> Reply:
    thing = kind[:-1]
    more = len(found) > MAX_LINES
    found = found[:MAX_LINES]
    refs = tuple(position_ref(one, context.tree.pk) for one in found)
    number = f"{len(found)}+ {kind}" if more else counted(len(found), thing)
    lines = [f"[{node.local_id}] → {number}:" if found else f"[{node.local_id}] → no {kind}"]
    found = [_standing(context, one, kind) for one in found]
    gone = withheld(context.actor, [one.pk for one in found])
    lines += [line_of(one, context.now, withheld=gone) for one in found]
    if more:
        lines.append("  … (→ tree shows further)")
    return Reply("\n".join(lines), refs=refs, items=touched(node))


def _standing(context: Context, node: Node, kind: str) -> Node:
    if kind not in ("continuations", "siblings"):
        return node
    return lookup.standing(node.slot_id, context.workspace) or node


def _of_tree(context: Context, tree: Tree, kind: str) -> Reply:
    if not kind:
        types = Counter(one.type for one in beside.links_of(context.actor, tree))
        parts = [f"{name} {number}" for name, number in types.most_common()]
        said = f"{_named(tree)} links: {' · '.join(parts) or 'none'}"
        return Reply(said, refs=(f"tree:{tree.uid}",), items=touched(tree))
    if kind != "links" and kind not in _link_words():
        raise Refused(
            "INVALID_SYNTAX",
            f"A tree has no list {kind!r}.",
            hint="list its links, or → list root continuations",
        )
    return _links(context, tree, kind)


def _named(item: Node | Tree) -> str:
    return f'tree:"{item.title}"' if isinstance(item, Tree) else f"[{item.local_id}]"


def _links(context: Context, item: Node | Tree, kind: str) -> Reply:
    seen = beside.links_of(context.actor, item)
    if kind != "links":
        seen = [one for one in seen if one.type == kind]
    name = "links" if kind == "links" else f"[{kind}] links"
    head = counted(len(seen), name.removesuffix("s")) if seen else f"no {name}"
    lines = [f"{_named(item)} → {head}{':' if seen else ''}"]
    refs = []
    for one in seen[:MAX_LINES]:
        lines.append(f"  {link_types.arrow(one.type)} {_end(context, one)}")
        if one.node:
            refs.append(position_ref(one.node, context.tree.pk))
        elif not one.is_broken:
            refs.append(f"tree:{one.tree_uid}")
    return Reply("\n".join(lines), refs=tuple(refs), items=touched(item))


def _end(context: Context, seen: beside.Seen) -> str:
    if seen.is_broken:
        return seen.tree_title
    if seen.node is None:
        return f'tree:"{seen.tree_title}"'
    home = seen.node.tree
    where = "" if home == context.tree else f' in tree:"{home.title or home.uid}"'
    is_gone = withheld(context.actor, [seen.node.pk])
    return f"[{seen.node.local_id}]{where} {WITHHELD if is_gone else quote(seen.node.text)}"


def _affordances(context: Context, node: Node) -> Reply:
    counts = beside.counts_of(context.actor, node)
    types = Counter(one.type for one in beside.links_of(context.actor, node))
    parts = [f"{name} {number}" for name, number in types.most_common()]
    if counts.continuations:
        parts.append(f"continues {counts.continuations}")
    if counts.annotations:
        parts.append(f"annotations {counts.annotations}")
    if counts.versions > 1:
        parts.append(f"versions {counts.versions}")
    return Reply(f"[{node.local_id}] links: {' · '.join(parts) or 'none'}", items=touched(node))
