"""Annotations: notes that hang below what they are about, replies, and their resolving."""

from typing import Annotated, Literal

from django.utils import timezone

from loom.commands import drafts as draft_commands
from loom.commands import node_writer
from loom.commands.context import Context, Op, Reply, get_own_node, touched, tree_of
from loom.commands.node_writer import NewNode, demand_text
from loom.commands.nodes import made_nodes
from loom.commands.registry import Args, RefField, Written, command
from loom.models import Node
from loom.queries import lookup
from loom.rules import identity
from loom.rules.errors import CommandError
from loom.rules.permissions import LOOM, WRITE

FORMS = ("note", "question", "suggestion", "warning", "objection")


class Annotate(Args):
    """A note on a node; on an annotation it is a reply."""

    ref: Annotated[RefField, Written("ref")]
    content: Annotated[str, Written("content")]
    form: Annotated[
        Literal["note", "question", "suggestion", "warning", "objection"],
        Written("option", key="as", value="choice", choices=FORMS),
    ] = "note"


@command("annotate", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def annotate(context: Context, args: Annotate) -> Reply:
    """Adds a note to a node, visible to people and loom-aware models, never to subjects."""
    demand_text(args.content)
    if args.ref.kind == "tree":
        return _about_tree(context, args)
    target = get_own_node(context, args.ref)
    made, inverse = _add(context, target, args.content, args.form)
    draft_commands.settle(context, target, "note", args.content)
    return Reply(
        f"✓ annotation [{made.local_id}] added to [{target.local_id}]",
        refs=(made.local_id,),
        items=touched(made, target),
        inverse=inverse,
    )


def _about_tree(context: Context, args: Annotate) -> Reply:
    """A note about a tree hangs below the root here and names the tree in its sources."""
    about = tree_of(context, args.ref)
    source = (identity.of_tree(about.pk), "primary", "")
    new = NewNode(
        args.content,
        kind="annotation",
        form=args.form,
        parent=lookup.root_of(context.tree),
        sources=(source,),
    )
    made = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    return Reply(
        f'✓ annotation [{made.local_id}] added to tree:"{about.title}"',
        refs=(made.local_id,),
        items=touched(made),
        inverse=made_nodes(made),
    )


def _add(context: Context, target: Node, text: str, form: str) -> tuple[Node, tuple[Op, ...]]:
    new = NewNode(text, kind="annotation", form=form, parent=target)
    made = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    inverse = made_nodes(made)
    if target.kind == "annotation" and target.slot.resolved_at is not None:
        inverse = (*inverse, set_resolved(context, target, False))
    return made, inverse


def set_resolved(context: Context, node: Node, resolved: bool) -> Op:
    """Resolves or reopens an annotation; returns the inverse."""
    at = timezone.now() if resolved else None
    Node.objects.filter(pk=node.slot_id).update(resolved_at=at)
    kind = "annotation.resolved" if resolved else "annotation.reopened"
    context.world.append(kind, {"node": node.slot.local_id, "resolved": resolved})
    return {"op": "resolve", "node": node.slot_id, "value": not resolved}


class Resolve(Args):
    """The annotation, and why it is settled."""

    ref: Annotated[RefField, Written("ref")]
    reason: Annotated[str, Written("quoted")] = ""


@command("resolve", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def resolve(context: Context, args: Resolve) -> Reply:
    """Marks an annotation as settled; a reason is kept as a reply to it. An objection needs one."""
    node = get_own_node(context, args.ref)
    if node.kind != "annotation":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is not an annotation.",
            hint=f"→ list {node.local_id} annotations shows them",
        )
    if node.slot.resolved_at is not None:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is already resolved.", hint="a reply reopens it"
        )
    if node.form == "objection" and not args.reason.strip():
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is an objection: resolving it needs a reason.",
            hint=f'write → resolve {node.local_id} "why it is settled"',
        )
    refs: tuple[str, ...] = (node.local_id,)
    inverse: tuple[Op, ...] = ()
    if args.reason:
        demand_text(args.reason)
        reply, inverse = _add(context, node, args.reason, "note")
        refs = (node.local_id, reply.local_id)
    return Reply(
        f"✓ resolved [{node.local_id}]",
        refs=refs,
        items=touched(node),
        inverse=(*inverse, set_resolved(context, node, True)),
    )
