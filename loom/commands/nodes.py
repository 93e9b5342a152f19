"""Writing text: respond, edit, split. Nothing is ever rewritten: each makes new nodes."""

from typing import Annotated, Literal

from loom.commands import drafting, edits, growth
from loom.commands.args import Args, RefField, Written
from loom.commands.context import Context, Op, Reply, touched
from loom.commands.growth import NewNode, Source, demand_text
from loom.commands.guards import demand_not_root, demand_text_node, demand_visible
from loom.commands.registry import command
from loom.commands.resolve import get_node, get_own_node
from loom.models import Node, Tree
from loom.queries import lookup
from loom.rules import addresses
from loom.rules.refusals import Refused

TITLE_LENGTH = 50


class Respond(Args):
    """A new text below a node, from one or several sources."""

    ref: Annotated[RefField | None, Written("ref")] = None
    content: Annotated[str, Written("content")]
    sources: Annotated[tuple[RefField, ...], Written("option", key="from", value="refs")] = ()
    role: Annotated[
        Literal["context", "instruction"],
        Written(
            "option",
            key="as",
            value="choice",
            choices=("context", "instruction"),
            needs="sources",
        ),
    ] = "context"


@command("respond", group="Make", klass="write", letters="AW", stream="tree", aliases=("merge",))
def respond(context: Context, args: Respond) -> Reply:
    """Writes a text below a node and moves there; `from:` names what else it was made from."""
    parent = get_own_node(context, args.ref)
    demand_text_node(parent, "continued")
    demand_visible(parent)
    demand_text(args.content)
    sources = tuple(_source(get_node(context, ref), args.role) for ref in args.sources)
    new = NewNode(args.content, parent=parent, sources=sources)
    made = growth.add_node(context.world, context.tree, context.actor.participant, new)
    title_from(context, made.text)
    context.move(made)
    drafting.settle(context, parent, "buffer", args.content)
    return Reply(
        f"✓ created [{made.local_id}] as continuation from [{parent.local_id}]\n"
        f"  switched to [{made.local_id}]",
        refs=(made.local_id,),
        items=touched(made, parent),
        inverse=made_nodes(made),
    )


def _source(node: Node, role: str) -> Source:
    return addresses.of_node(node.pk), role, node.hash


def made_nodes(*nodes: Node) -> tuple[Op, ...]:
    """The inverse of having made nodes: newest first, each is pruned."""
    return tuple({"op": "made", "node": node.pk, "pruned": True} for node in reversed(nodes))


def title_from(context: Context, text: str) -> None:
    """Gives an untitled tree the first characters written in it as its title."""
    words = " ".join(text[: TITLE_LENGTH * 4].split())
    if context.tree.title or not words:
        return
    context.tree.title = words[:TITLE_LENGTH]
    Tree.objects.filter(pk=context.tree.pk).update(title=context.tree.title)
    context.world.append("tree.changed", {"tree": context.tree.uid, "title": context.tree.title})


class EditText(Args):
    """A new wording of a whole node, or of a slice of it."""

    ref: Annotated[RefField, Written("ref")]
    content: Annotated[str, Written("content")]
    way: Annotated[
        Literal["version", "fork"] | None,
        Written("option", key="as", value="choice", choices=("version", "fork")),
    ] = None


class EditReplace(Args):
    """One place of a node, which must occur exactly once, put otherwise."""

    ref: Annotated[RefField, Written("ref")]
    old: Annotated[str, Written("option", key="replace", value="quoted")]
    new: Annotated[str, Written("option", key="with", value="quoted")]
    way: Annotated[
        Literal["version", "fork"] | None,
        Written("option", key="as", value="choice", choices=("version", "fork")),
    ] = None


@command("edit", group="Make", klass="write", letters="AW", stream="tree")
def edit(context: Context, args: EditText) -> Reply:
    """Puts a node otherwise: as a version in its place, or as a branch beside it."""
    node = _editable(context, args.ref)
    text = edits.with_slice(node.text, args.ref.slice, args.content)
    return _edited(context, node, text, args.way)


@command("edit", group="Make", klass="write", letters="AW", stream="tree")
def edit_replace(context: Context, args: EditReplace) -> Reply:
    """Replaces one passage, given word for word, that occurs exactly once."""
    node = _editable(context, args.ref)
    return _edited(context, node, edits.replaced(node.text, args.old, args.new), args.way)


def _editable(context: Context, ref: RefField) -> Node:
    node = get_own_node(context, ref, slices=True)
    demand_not_root(node, "edited")
    if node.kind not in ("text", "annotation"):
        raise Refused("REJECTED", f"A {node.kind} is never edited.", hint="write a new one")
    demand_visible(node)
    return node


def _edited(context: Context, node: Node, text: str, way: str | None) -> Reply:
    demand_text(text)
    drafting.demand_free(context.actor, node)
    if text == node.text:
        raise Refused("REJECTED", "This changes nothing.", hint="write something else")
    drafting.settle(context, node, "edit", text)
    if node.kind == "annotation":
        if way == "fork":
            raise Refused("REJECTED", "An annotation has versions only.", hint="use as:version")
        way = "version"
    way = way or ("version" if context.tree.mode == "buffer" else "fork")
    return _version(context, node, text) if way == "version" else _fork(context, node, text)


def _version(context: Context, node: Node, text: str) -> Reply:
    newest = lookup.newest_version(node)
    if newest.pk != node.pk:
        raise Refused(
            "CONFLICT",
            f"[{node.local_id}] has a newer version, [{newest.local_id}], by {newest.author.name}.",
            hint=f"look at {newest.local_id}, then edit that",
        )
    above = lookup.version_above(node, context.workspace)
    new = NewNode(text, kind=node.kind, form=node.form, parent=above, slot=node, edited_from=node)
    made = growth.add_node(context.world, context.tree, context.actor.participant, new)
    context.choose(made)
    if context.here.slot_id == node.slot_id:
        context.move(made)
    return Reply(
        f"✓ created version [{made.local_id}] from [{node.local_id}]\n"
        "  downstream nodes preserved via hyperedge",
        refs=(made.local_id,),
        items=touched(made, node),
        inverse=made_nodes(made),
    )


def _fork(context: Context, node: Node, text: str) -> Reply:
    above = lookup.version_above(node, context.workspace)
    prefix = edits.common_prefix(node.text, text) if context.tree.mode == "buffer" else ""
    rest = text[len(prefix) :]
    if prefix and prefix == node.text:
        made = [_beside(context, node, rest, node)]
    elif prefix and rest:
        head = _beside(context, node, prefix, above)
        made = [head, _beside(context, node, rest, head)]
    else:
        made = [_beside(context, node, text, above)]
    context.move(made[-1])
    return Reply(
        f"✓ created branch [{made[-1].local_id}] from [{node.local_id}]\n"
        "  conversation continues from edit point",
        refs=tuple(one.local_id for one in made),
        items=touched(*made, node),
        inverse=made_nodes(*made),
    )


def _beside(context: Context, node: Node, text: str, parent: Node | None) -> Node:
    new = NewNode(text, kind=node.kind, parent=parent, edited_from=node)
    return growth.add_node(context.world, context.tree, context.actor.participant, new)


class Split(Args):
    """Where to cut a node in two, counted in characters (code points)."""

    ref: Annotated[RefField, Written("ref")]
    at: Annotated[int, Written("option", key="at", value="int", minimum=1)]


@command("split", group="Make", klass="write", letters="AW", stream="tree")
def split(context: Context, args: Split) -> Reply:
    """Makes two nodes of one text, the second below the first; the whole stays as it is."""
    node = get_own_node(context, args.ref)
    demand_not_root(node, "split")
    demand_text_node(node, "split")
    demand_visible(node)
    stands_here = context.here.slot_id == node.slot_id  # before the leaf is pruned
    if not 0 < args.at < len(node.text):
        raise Refused(
            "INVALID_SYNTAX",
            f"[{node.local_id}] has {len(node.text)} characters; {args.at} is not inside.",
            hint=f"use at:1 to at:{len(node.text) - 1}",
        )
    head = _beside(
        context, node, node.text[: args.at], lookup.version_above(node, context.workspace)
    )
    tail = _beside(context, node, node.text[args.at :], head)
    inverse = made_nodes(head, tail)
    if not lookup.slots_below(node.slot_id).exclude(pk=tail.pk).exists():
        inverse = (*inverse, edits.flag(context, node, "pruned", True))
    if stands_here:
        context.move(head)
    return Reply(
        f"✓ split [{node.local_id}] at {args.at}: [{head.local_id}] [{tail.local_id}]",
        refs=(head.local_id, tail.local_id),
        items=touched(head, tail, node),
        inverse=inverse,
    )
