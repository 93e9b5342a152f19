"""Writing text and hiding it: respond, edit, split, prune, restore, exclude, include."""

from dataclasses import replace
from typing import Annotated, Literal

from django.utils.translation import gettext_noop

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command, describe_verb
from loom.engine.views import Moved
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import Ref, print_ref, print_slice, quote, short
from loom.language.verbs import Phrases, Verb
from loom.people.names import shown_title
from loom.permissions import LOOM, WRITE
from loom.text.counts import counted
from loom.trees.commands import drafts as draft_commands
from loom.trees.commands import node_writer
from loom.trees.commands.drafts import settle_draft, working_buffer
from loom.trees.commands.node_writer import (
    NewNode,
    Source,
    demand_not_root,
    demand_text,
    demand_text_node,
    demand_visible,
    flag,
)
from loom.trees.effects import VersionChosen
from loom.trees.models import Node, Tree
from loom.trees.named_items import get_node, get_own_node, touched
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import PARTS
from loom.trees.queries.outline import MOST_COUNTED
from loom.workspace.commands.lenses import (
    EditTarget,
    common_prefix,
    follow,
    replaced,
    target_of,
    written_through,
)
from loom.workspace.window_rules import Span

TITLE_LENGTH = 50


class Respond(Args):
    """A new text below a node, from one or several sources."""

    ref: Annotated[RefField | None, Written("ref")] = None
    content: Annotated[str, Written("content")]
    sources: Annotated[tuple[RefField, ...], Written("option", key="from", value="refs")] = ()
    role: Annotated[
        Literal["context", "instruction", "parts"],
        Written(
            "option",
            key="as",
            value="choice",
            choices=("context", "instruction", "parts"),
            needs="sources",
        ),
    ] = "context"


describe_verb(
    Verb(
        "respond",
        done=gettext_noop("Added a text"),
        past="wrote",
        example='Write the next text: → respond "Then it rained."',
        taught=("respond [REF] CONTENT [from:a,b] — writes a text below a node and moves there"),
        takes_documents=False,
        phrases=(
            Phrases(
                "branch *|branch from|branch off *|branch off from|branch at|continue with",
                needs="text",
            ),
            Phrases(
                "respond|reply|answer|say|write|add reply|post|post reply|write reply"
                "|add response|write response|add|write answer|tell",
                needs="text",
            ),
        ),
        dropped=("after at below on saying to under with"),
    )
)


@command(
    "respond",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE},
    stream="tree",
    aliases=("merge",),
)
def respond(context: Context, args: Respond) -> Reply:
    """Writes a text below a node and moves there; `from:` names further sources. With `as:parts`
    it is put together from parts of them, which keep their authors."""
    parent = get_own_node(context, args.ref)
    demand_text_node(parent, "continued")
    demand_visible(parent)
    demand_text(args.content)
    is_of_parts = args.role == PARTS
    find = get_own_node if is_of_parts else get_node
    named = {node.pk: node for node in (find(context, ref) for ref in args.sources)}
    sources = tuple(_source(node, args.role) for node in named.values())
    form = PARTS if is_of_parts and sources else ""
    new = NewNode(args.content, form=form, parent=parent, sources=sources)
    node = _written(context, new, parent)
    return Reply(
        f"✓ created [{node.local_id}] as continuation from [{parent.local_id}]\n"
        f"  switched to [{node.local_id}]",
        refs=(node.local_id,),
        items=touched(node, parent),
        inverse=made_nodes(node),
    )


def _written(context: Context, new: NewNode, parent: Node) -> Node:
    """A new text below a node, to which the actor moves; their draft of it ends."""
    node = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    title_from(context, node.text)
    context.add(Moved(node))
    settle_draft(context, parent, "buffer", new.text)
    return node


def save_buffer(context: Context, parent: Node) -> Node | None:
    """The node that the actor's working buffer below a node has become; None if there is none."""
    draft = working_buffer(context, parent)
    if draft is None or context.world.is_dry:
        return None
    return _written(context, NewNode(draft.text, parent=parent), parent)


def _source(node: Node, role: str) -> Source:
    return ids.of_node(node.pk), role, node.hash


def made_nodes(*nodes: Node) -> tuple[Op, ...]:
    """The inverse of making nodes: they are pruned, newest first."""
    return tuple({"op": "made", "node": node.pk, "pruned": True} for node in reversed(nodes))


def title_from(context: Context, text: str) -> None:
    """Gives an untitled tree the first characters of the text as its title."""
    words = " ".join(text[: TITLE_LENGTH * 4].split())
    title = shown_title(words[:TITLE_LENGTH].rstrip())
    if context.tree.title or not title:
        return
    context.tree.title = title
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
    """A passage of a node, which must occur exactly once, and what replaces it."""

    ref: Annotated[RefField, Written("ref")]
    old: Annotated[str, Written("option", key="replace", value="quoted")]
    new: Annotated[str, Written("option", key="with", value="quoted")]
    way: Annotated[
        Literal["version", "fork"] | None,
        Written("option", key="as", value="choice", choices=("version", "fork")),
    ] = None


describe_verb(
    Verb(
        "edit",
        done=gettext_noop("Saved a new version"),
        past="edited",
        taught=(
            'edit REF CONTENT, or replace:"old" with:"new" [as:version|fork] — a version '
            "takes its place, what is below stays; a fork is a branch beside it"
        ),
        takes_documents=False,
        phrases=(
            Phrases("fork", before="as:fork", needs="text"),
            Phrases(
                "edit|change|change text of|edit text of|rewrite|revise|modify|update|reword"
                "|replace",
                needs="text",
            ),
            Phrases("replace|change|substitute|edit", before="replace", needs="text"),
            Phrases(
                "make new version of|write new version of|new version of",
                before="as:version",
                needs="text",
            ),
        ),
        swaps=(
            ("as a new version", "as:version"),
            ("in a fork", "as:fork"),
        ),
        dropped=("in of reads say so to with"),
        keys={"to": "with", "by": "with", "into": "with"},
        options={"mode": "as", "old": "replace", "new": "with"},
    )
)


@command("edit", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def edit(context: Context, args: EditText) -> Reply:
    """Changes a node, or the lines that a window shows (`edit #4 …`): as a new version in its
    slot, or as a branch beside it."""
    _demand_no_document(args.ref, "append", quote(short(args.content)))
    if (reply := written_through(context, args.ref, lambda _: args.content)) is not None:
        return reply
    target = _editable(context, args.ref)
    return _edited(context, target, *target.put(args.content), way=args.way)


@command("edit", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def edit_replace(context: Context, args: EditReplace) -> Reply:
    """Replaces one passage, quoted exactly, that occurs exactly once."""
    words = f"replace:{quote(short(args.old))} with:{quote(short(args.new))}"
    _demand_no_document(args.ref, words)
    passage = (args.old, args.new)
    through = written_through(context, args.ref, lambda text: replaced(text, *passage))
    if through is not None:
        return through
    target = _editable(context, args.ref)
    return _edited(context, target, *target.replaced(args.old, args.new), way=args.way)


def _demand_no_document(ref: Ref, *words: str) -> None:
    """Refuses a document with the line of `write` that does what was meant; `words` follow its
    name, the first of them instead of the section that the ref names."""
    if ref.kind != "document":
        return
    part = ref.slice
    line = list(words)
    if part is not None and part.kind == "section" and len(words) > 1:
        line[0] = f"replace:{print_slice(part)}"
    named = print_ref(replace(ref, slice=None))
    raise CommandError(
        "INVALID_SYNTAX",
        f"{named} is a document; write changes documents.",
        hint=f"→ write {named} {' '.join(line)}",
    )


def _editable(context: Context, ref: RefField) -> EditTarget:
    """The target of an edit: a node, or part of one."""
    target = target_of(context, ref)
    node = target.node
    demand_not_root(node, "edited")
    if node.kind not in ("text", "annotation"):
        raise CommandError("REJECTED", f"A {node.kind} can't be edited.", hint="write a new one")
    demand_visible(node)
    return target


def _edited(
    context: Context, target: EditTarget, text: str, span: Span, *, way: str | None
) -> Reply:
    node = target.node
    # A paragraph that is cut out of a buffer is an empty wording: what follows it stays.
    if text or context.tree.mode != "buffer" or node.kind != "text":
        demand_text(text)
    draft_commands.demand_free(context.actor, node)
    if text == node.text:
        raise CommandError(
            "REJECTED", "The new text is the same as the old.", hint="change the text"
        )
    settle_draft(context, node, "edit", text)
    if node.kind == "annotation":
        if way == "fork":
            raise CommandError(
                "REJECTED",
                "An annotation can only have versions, not forks.",
                hint="use as:version",
            )
        way = "version"
    if target.is_again and way is None:  # the node was made by an earlier line of the batch
        way = "version"
    way = way or ("version" if context.tree.mode == "buffer" else "fork")
    write = _version if way == "version" else _fork
    return write(context, target, text, span)


def _version(context: Context, target: EditTarget, text: str, span: Span) -> Reply:
    node, window = target.node, target.window
    newest = places.newest_version(node)
    if newest.pk != node.pk:
        look = f"→ refresh #{window.number}, then edit it" if window is not None else ""
        raise CommandError(
            "CONFLICT",
            f"[{node.local_id}] has a newer version, [{newest.local_id}], by {newest.author.name}.",
            hint=look or f"look at {newest.local_id}, then edit that",
        )
    version = edited_version(context, node, text)
    now = follow(context, target, version, span, is_version=True)
    return Reply(
        f"✓ created version [{version.local_id}] from [{node.local_id}]{now}\n"
        "  downstream nodes preserved via hyperedge",
        refs=(version.local_id,),
        items=touched(version, node),
        inverse=_changed(version, span),
        did={"saved_as": "version"},
    )


def _changed(node: Node, span: Span) -> tuple[Op, ...]:
    """The inverse of an edit, with the lines that it changed."""
    return ({"op": "made", "node": node.pk, "pruned": True, "lines": list(span)},)


def edited_version(context: Context, node: Node, text: str) -> Node:
    """A new version of the node's slot, selected for the actor."""
    above = places.version_above(node, context.workspace)
    new = NewNode(text, kind=node.kind, form=node.form, parent=above, slot=node, edited_from=node)
    version = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    context.add(VersionChosen(version))
    if context.here.slot_id == node.slot_id:
        context.add(Moved(version))
    return version


def _fork(context: Context, target: EditTarget, text: str, span: Span) -> Reply:
    node = target.node
    above = places.version_above(node, context.workspace)
    prefix = common_prefix(node.text, text) if context.tree.mode == "buffer" else ""
    rest = text[len(prefix) :]
    is_whole = False
    if prefix and prefix == node.text:
        nodes = [_beside(context, node, rest, node)]
    elif prefix and rest:
        head = _beside(context, node, prefix, above)
        nodes = [head, _beside(context, node, rest, head)]
    else:
        nodes = [_beside(context, node, text, above)]
        is_whole = True
    now = follow(context, target, nodes[0], span, is_version=False) if is_whole else ""
    context.add(Moved(nodes[-1]))
    return Reply(
        f"✓ created branch [{nodes[-1].local_id}] from [{node.local_id}]{now}\n"
        "  conversation continues from edit point",
        refs=tuple(fork.local_id for fork in nodes),
        items=touched(*nodes, node),
        inverse=_changed(nodes[0], span) if is_whole else made_nodes(*nodes),
        did={"saved_as": "branch"},
    )


def _beside(context: Context, node: Node, text: str, parent: Node | None) -> Node:
    new = NewNode(text, kind=node.kind, parent=parent, edited_from=node)
    return node_writer.add_node(context.world, context.tree, context.actor.participant, new)


class Split(Args):
    """Where to cut a node in two, counted in characters (code points)."""

    ref: Annotated[RefField, Written("ref")]
    at: Annotated[int, Written("option", key="at", value="int", minimum=1)]


describe_verb(
    Verb(
        "split",
        done=gettext_noop("Split a text in two"),
        past="split",
        takes_documents=False,
        phrases=(Phrases("split|divide|break|cut"),),
        swaps=(
            ("in two", ""),
            ("into two", ""),
            ("at character", "at"),
            ("at position", "at"),
            ("after character", "at"),
        ),
        dropped=("character characters chars of points position"),
        keys={"after": "at"},
        options={"position": "at", "offset": "at"},
    )
)


@command("split", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def split(context: Context, args: Split) -> Reply:
    """Splits a text into two nodes, the second below the first; the original stays as it is."""
    node = get_own_node(context, args.ref)
    demand_not_root(node, "split")
    demand_text_node(node, "split")
    demand_visible(node)
    is_position = context.here.slot_id == node.slot_id  # before the leaf is pruned
    if len(node.text) < 2:
        raise CommandError(
            "INVALID_SYNTAX",
            f"[{node.local_id}] has {len(node.text)} character, which cannot be split.",
            hint=f"split takes a text of two characters or more; → view {node.local_id} full",
        )
    if not 0 < args.at < len(node.text):
        raise CommandError(
            "INVALID_SYNTAX",
            f"[{node.local_id}] has {len(node.text)} characters; {args.at} is not inside.",
            hint="use at:1" if len(node.text) == 2 else f"use at:1 to at:{len(node.text) - 1}",
        )
    head = _beside(
        context, node, node.text[: args.at], places.version_above(node, context.workspace)
    )
    tail = _beside(context, node, node.text[args.at :], head)
    inverse = made_nodes(head, tail)
    if not lookup.slots_below(node.slot_id).exclude(pk=tail.pk).exists():
        inverse = (*inverse, node_writer.flag(context, node, "pruned", True))
    if is_position:
        context.add(Moved(head))
    return Reply(
        f"✓ split [{node.local_id}] at {args.at}: [{head.local_id}] [{tail.local_id}]",
        refs=(head.local_id, tail.local_id),
        items=touched(head, tail, node),
        inverse=inverse,
    )


# Hiding and leaving out: prune, restore, exclude, include. Each flags one row; what is below it
# is hidden by computation.


class Hide(Args):
    """A slot, or with `version` only the named version."""

    ref: Annotated[RefField, Written("ref")]
    version: Annotated[bool, Written("flag")] = False


class OfSlot(Args):
    """A slot."""

    ref: Annotated[RefField, Written("ref")]


describe_verb(
    Verb(
        "prune",
        done=gettext_noop("Pruned a text"),
        past="pruned",
        taught="prune REF — hides it with all below; nothing is deleted",
        is_destructive=True,
        asks_first=True,
        takes_documents=False,
        meant_by="delete remove erase kill trash discard throw",
    )
)


@command("prune", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def prune(context: Context, args: Hide) -> Reply:
    """Hides a node and everything below it from views and requests; nothing is deleted."""
    node = get_own_node(context, args.ref)
    demand_not_root(node, "pruned")
    if node.kind == "claim":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is a claim: evidence only grows.",
            hint=f'→ withdraw {node.local_id} "why"',
        )
    if args.version:
        return _prune_version(context, node)
    if node.slot.pruned:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is already pruned.",
            hint=f"→ restore {node.local_id} restores it",
        )
    below = _below(node)
    inverse = flag(context, node, "pruned", True)
    return Reply(f"✓ pruned [{node.local_id}]{below}", items=touched(node), inverse=(inverse,))


def _below(node: Node) -> str:
    """How many descendants go with a node, in words; they are counted up to MOST_COUNTED."""
    below = places.count_below(node.slot_id, most=MOST_COUNTED + 1)
    if below > MOST_COUNTED:
        return f" and more than {MOST_COUNTED:,} descendants"
    return f" and {counted(below, 'descendant')}" if below else ""


def _prune_version(context: Context, node: Node) -> Reply:
    if node.version_pruned:
        raise CommandError(
            "REJECTED",
            f"The version [{node.local_id}] is already pruned.",
            hint=f"→ restore {node.local_id} version restores it",
        )
    others = Node.objects.filter(slot=node.slot_id, version_pruned=False).exclude(pk=node.pk)
    if not others.exists():
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is the last version here.",
            hint=f"prune {node.local_id}",
        )
    inverse = flag(context, node, "version_pruned", True)
    return Reply(f"✓ pruned version [{node.local_id}]", items=touched(node), inverse=(inverse,))


describe_verb(
    Verb(
        "restore",
        done=gettext_noop("Restored a text"),
        past="restored",
        takes_each=True,
        phrases=(Phrases("restore|unprune|bring back|recover|get back|bring * back"),),
    )
)


@command("restore", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def restore(context: Context, args: Hide) -> Reply:
    """Restores a pruned node or version with everything below it."""
    node = get_own_node(context, args.ref)
    name = "version_pruned" if args.version else "pruned"
    is_set = node.version_pruned if args.version else node.slot.pruned
    if not is_set:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is not pruned.",
            hint="only pruned nodes can be restored",
        )
    what = "version " if args.version else ""
    below = "" if args.version else _below(node)
    inverse = flag(context, node, name, False)
    return Reply(
        f"✓ restored {what}[{node.local_id}]{below}", items=touched(node), inverse=(inverse,)
    )


describe_verb(
    Verb(
        "exclude",
        done=gettext_noop("Excluded a text from models"),
        past="excluded",
        asks_first=True,
        takes_each=True,
        takes_documents=False,
        phrases=(Phrases("leave out|exclude|leave * out"),),
        swaps=(
            ("from the context", ""),
            ("from context", ""),
        ),
        meant_by="hide",
    )
)


@command("exclude", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def exclude(context: Context, args: OfSlot) -> Reply:
    """Leaves this node's text out of everything that models are sent; what is below it stays."""
    return _excluded(context, args, True)


describe_verb(
    Verb(
        "include",
        done=gettext_noop("Included a text for models again"),
        past="included",
        takes_each=True,
        takes_documents=False,
        phrases=(Phrases("include"),),
        dropped=("again"),
    )
)


@command("include", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def include(context: Context, args: OfSlot) -> Reply:
    """Includes an excluded node's text again."""
    return _excluded(context, args, False)


def _excluded(context: Context, args: OfSlot, value: bool) -> Reply:
    node = get_own_node(context, args.ref)
    word = "excluded" if value else "included"
    demand_not_root(node, word)
    demand_text_node(node, word)
    if node.slot.excluded == value:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is already {word}.", hint="nothing to do"
        )
    inverse = flag(context, node, "excluded", value)
    return Reply(f"✓ {word} [{node.local_id}]", items=touched(node), inverse=(inverse,))
