"""The nodes and trees that refs name for the caller, or why a ref names none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from django.db.models import Exists, OuterRef

from loom import access
from loom.access import Actor
from loom.engine.context import Context
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import WORDS, Ref, print_ref, quote
from loom.language.refs import tree_named as titled
from loom.permissions import CROSS_TREE
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import NodeRow, path_of

# From a Ref to the node that it names for the caller, or a refusal with the reason.


class HasItem(Protocol):
    """A row of another feature that links, marks and steps may point at."""

    @property
    def item_id(self) -> int:
        """The id of its item."""
        ...


def touched(*items: Node | Tree | HasItem) -> tuple[int, ...]:
    """The ids of the items of nodes, trees and documents, for `Reply.items`."""
    return tuple(map(item_of, items))


def item_of(item: Node | Tree | HasItem) -> int:
    """The id of the item of a node, tree or document."""
    if isinstance(item, Tree):
        return ids.of_tree(item.pk)
    return ids.of_node(item.pk) if isinstance(item, Node) else item.item_id


ShownBy = Callable[[Context, Ref, bool], Node]

_shown_by: dict[str, ShownBy] = {}


def names_node(kind: str) -> Callable[[ShownBy], ShownBy]:
    """Registers how refs of a kind that another feature has, such as windows, name a node. The last
    argument says whether a part of a node may be named."""

    def register(find: ShownBy) -> ShownBy:
        _shown_by[kind] = find
        return find

    return register


def get_node(context: Context, ref: Ref | None, *, slices: bool = False) -> Node:
    """The node that `ref` names (None: here), in any tree that the caller may reach."""
    node = _node_of(context, ref, slices=slices)
    context.note_read(ids.of_node(node.pk))
    return node


def _node_of(context: Context, ref: Ref | None, *, slices: bool) -> Node:
    if ref is None:
        return context.here
    if ref.slice is not None and not slices:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{print_ref(ref)} is a part of a node; this command takes whole nodes.",
            hint=f"use {ref.id or ref.kind}",
        )
    if ref.kind in _shown_by:
        return _shown_by[ref.kind](context, ref, slices)
    if ref.kind in ("document", "task", "stash", "augment", "focus", "trail", "pipe"):
        raise no_node(ref)
    if ref.kind == "branch" and ref.id in ("here", "parent", "root"):
        return get_node(context, replace(ref, kind=WORDS[ref.id], id=""))
    if ref.kind == "here":
        return context.here
    if ref.kind == "parent":
        return _parent_of(context)
    tree = tree_of(context, ref)
    if ref.kind == "root":
        return lookup.root_of(tree)
    if ref.kind in ("node", "branch"):
        return _named(context, tree, ref)
    raise CommandError(
        "INVALID_SYNTAX",
        f"{print_ref(ref)} is not a node.",
        hint="name a node, such as a7x2 or here",
    )


def get_own_node(context: Context, ref: Ref | None, *, slices: bool = False) -> Node:
    """The node that a ref names, only in this tree: a line writes to one tree."""
    node = get_node(context, ref, slices=slices)
    if node.tree_id != context.tree.pk:
        raise CommandError(
            "CROSS_TREE",
            f"[{node.local_id}] is in another tree; a command changes one tree only.",
            hint="run the command in that tree",
        )
    return node


def tree_of(context: Context, ref: Ref) -> Tree:
    """The tree that a ref names or is in; this tree if it names none. Another one requires X."""
    uid, name = ref.tree_id, ref.tree_name
    if (not uid and not name) or uid == context.tree.uid:
        return context.tree
    if CROSS_TREE not in context.actor.permissions:
        if name and name.casefold() == context.tree.title.casefold():
            return context.tree  # the only one that it may name
        raise CommandError(
            "CROSS_TREE", "This command names another tree.", hint="ask an owner for cross_tree"
        )
    if uid and access.trees_for(context.actor).filter(uid=uid).exists():
        tree = access.get_tree(context.actor.user, uid)[1]
    else:
        tree = tree_named(context.actor, name or uid)
    context.note_read(ids.of_tree(tree.pk))
    return tree


def _named(context: Context, tree: Tree, ref: Ref) -> Node:
    node = lookup.find_node(tree, ref.id)
    if node is None:
        raise unknown(context, tree, ref)
    return places.newest_version(node) if ref.prime else node


def _parent_of(context: Context) -> Node:
    above = places.version_above(context.here, context.workspace)
    if above is None:
        raise not_found("A node above the root")
    return above


# Why a ref names none.


MOST_TREES = 10  # that the refusal of an unknown id names


def no_node(ref: Ref) -> CommandError:
    """Why a ref of another kind does not name a node."""
    name, node = print_ref(ref), "name a node, such as a7x2 or here"
    if ref.kind == "document":
        message = f"{name} is a document; this command takes a node."
        hint = f"→ view {name} shows it; → write {name} append, at: or replace: changes it"
        return CommandError("INVALID_SYNTAX", message, hint=hint)
    if ref.kind == "trail":
        hint = f"→ trail show {quote(ref.name or ref.id)} lists where it led"
        return CommandError("INVALID_SYNTAX", f"{name} is a trail; name a node.", hint=hint)
    if ref.kind in ("task", "stash"):
        return CommandError("REJECTED", f"{name} shows no node.", hint=node)
    if ref.kind == "augment":
        named = print_ref(Ref("document", name=ref.name or ref.id))
        message = f"{name} is a document here; only the lines of augment name it so."
        return CommandError("INVALID_SYNTAX", message, hint=f"name it {named}")
    if ref.kind == "focus":
        message = "focus is what the last expand opened; this command takes a node."
        hint = "→ expand TYPE of focus, or name one of its windows, such as #4"
        return CommandError("INVALID_SYNTAX", message, hint=hint)
    message = f"{name} is a saved pipe; this command takes a node."
    return CommandError("INVALID_SYNTAX", message, hint=f"→ run {name} runs its lines")


def tree_named(actor: Actor, name: str) -> Tree:
    """The one tree of the grove with that title, as far as the actor may see it."""
    trees = list(
        access.trees_for(actor)
        .filter(grove=actor.grove, title__iexact=name)
        .select_related("grove")[:10]
    )
    if not trees:
        raise not_found(titled(name))
    if len(trees) > 1:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{len(trees)} trees are called {name!r}.",
            hint=" or ".join(f"tree:{tree.uid}" for tree in trees),
        )
    return trees[0]


def unknown(context: Context, tree: Tree, ref: Ref) -> CommandError:
    """CROSS_TREE if the id is in another tree that the caller may see, else NOT_FOUND; a word
    without a digit is no id."""
    if not any(letter.isdigit() for letter in ref.id):
        message = f'"{ref.id}" is not an id.'
        hint = "an id looks like a7x2; → find or → tree shows what is here"
        return CommandError("NOT_FOUND", message, hint=hint)
    if tree.pk == context.tree.pk:
        here = context.actor.grove.pk
        elsewhere = (
            access.known_trees(context.actor)
            .filter(nodes__local_id=ref.id)
            .exclude(pk=tree.pk)
            .order_by("id")
        )
        same = access.trees_for(context.actor).filter(
            grove=context.actor.grove, title__iexact=OuterRef("title")
        )
        elsewhere = elsewhere.annotate(
            is_hidden=access.hidden_from_some(), is_shared=Exists(same.exclude(pk=OuterRef("pk")))
        )
        # A step keeps its hint for all who may read it; no title that is hidden from some of them.
        # A title names only the one tree of this grove that has it.
        names = [
            f"in tree:{row.uid}"
            if not row.title or row.is_hidden or row.is_shared or row.grove_id != here
            else f"in {titled(row.title)}"
            for row in elsewhere[:MOST_TREES]
        ]
        if names:
            may_name = CROSS_TREE in context.actor.permissions
            return CommandError(
                "CROSS_TREE",
                f"[{ref.id}] is in another tree.",
                hint=f"add {' or '.join(names)}" if may_name else "ask an owner for cross_tree",
            )
    return not_found(f"[{ref.id}]", "→ find or → tree shows what is here")


def demand_whole(ref: Ref | None, reason: str, line: str) -> None:
    """INVALID_SYNTAX if a ref names a part of an item where only whole items are stored; the hint
    is the line that would be run instead."""
    if ref is not None and ref.slice is not None:
        message = f"{print_ref(ref)} is a part; {reason}"
        raise CommandError("INVALID_SYNTAX", message, hint=f"→ {line}")


def is_range(ref: Ref) -> bool:
    """Whether the ref names a branch or a range."""
    return ref.kind in ("branch", "range")


def range_of(context: Context, ref: Ref) -> list[NodeRow]:
    """The nodes of a branch, from the root, or of a range."""
    if ref.kind == "branch":
        node = get_node(context, ref)
        return path_of(context.actor, node.tree, context.workspace, node)
    first, last = (get_node(context, Ref("node", id=local_id)) for local_id in (ref.id, ref.end))
    if first.depth > last.depth:
        first, last = last, first
    rows = path_of(context.actor, last.tree, context.workspace, last)
    slots = [row.slot_id for row in rows]
    if first.slot_id not in slots:
        raise CommandError(
            "INVALID_SYNTAX",
            f"[{first.local_id}] is not above [{last.local_id}].",
            hint="a range goes from a node down to one below it",
        )
    return rows[slots.index(first.slot_id) :]
