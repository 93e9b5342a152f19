"""The items that refs name for the caller (nodes, documents, windows, trees, agents), or why a
ref names none."""

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import Q
from django.db.models.functions import Lower

from loom import access
from loom.access import Actor, may_reach
from loom.documents.models import Document
from loom.documents.queries import document_of
from loom.engine.context import Context
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import WORDS, Ref, print_ref
from loom.people.models import Participant
from loom.people.names import tree_named as titled
from loom.permissions import CROSS_TREE
from loom.platform.prepared_queries import Given, Prepared
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup, places
from loom.workspace.models import Window

# From a Ref to the node that it names for the caller, or a refusal with the reason.


def touched(*items: Node | Tree | Document) -> tuple[int, ...]:
    """The ids of the items of nodes, trees and documents, for `Reply.items`."""
    return tuple(map(item_of, items))


def item_of(one: Node | Tree | Document) -> int:
    """The id of the item of a node, tree or document."""
    if isinstance(one, Document):
        return ids.of_document(one.pk)
    return ids.of_tree(one.pk) if isinstance(one, Tree) else ids.of_node(one.pk)


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
    if ref.kind == "window":
        return node_shown(context, ref, slices=slices)
    if ref.kind in ("document", "task", "stash", "augment", "focus", *LATER):
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
    """The same, but only in this tree: a line writes to one tree."""
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


# Items other than nodes that refs name, and why a ref names none.


MOST_TREES = 10  # that the refusal of an unknown id names
LATER = {"trail": "Trails", "pipe": "Pipes"}
OPEN_ONES = "→ memory windows lists what is open"


def no_node(ref: Ref) -> CommandError:
    """Why a ref of another kind does not name a node."""
    said, node = print_ref(ref), "name a node, such as a7x2 or here"
    if ref.kind == "document":
        message = f"{said} is a document; this command takes a node."
        hint = f"→ view {said} shows it; → write {said} append, at: or replace: changes it"
        return CommandError("INVALID_SYNTAX", message, hint=hint)
    if ref.kind in ("task", "stash"):
        return CommandError("REJECTED", f"{said} shows no node.", hint=node)
    if ref.kind == "augment":
        named = print_ref(Ref("document", name=ref.name or ref.id))
        message = f"{said} is a document here; only the lines of augment name it so."
        return CommandError("INVALID_SYNTAX", message, hint=f"name it {named}")
    if ref.kind == "focus":
        message = "focus is what the last expand opened; this command takes a node."
        hint = "→ expand TYPE of focus, or name one of its windows, such as #4"
        return CommandError("INVALID_SYNTAX", message, hint=hint)
    return CommandError("UNAVAILABLE", f"{LATER[ref.kind]} are not supported yet.", hint=node)


def get_document(context: Context, ref: Ref) -> Document:
    """The document that `ref` names. NOT_FOUND for one that the caller may not read here."""
    return document_of(context.actor, context.tree, ref)


def get_window(context: Context, number: int) -> Window:
    """The open window of the workspace with that number. Raises what `no_window` returns."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number=number)
    found = rows.select_related("item", "step").order_by()[:1]
    if not found:
        raise no_window(context, [number])
    return found[0]


def no_window(context: Context, numbers: Sequence[int], hint: str = OPEN_ONES) -> CommandError:
    """Why none of these numbers is an open window: REJECTED if they were closed, NOT_FOUND if they
    never existed."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=True, number__in=numbers)
    closed = list(rows.order_by("number").values_list("number", flat=True))
    if not closed:
        return not_found(" ".join(f"#{one}" for one in numbers), hint)
    named = " ".join(f"#{one}" for one in closed)
    said = f"{named} {'was' if len(closed) == 1 else 'were'} closed."
    return CommandError("REJECTED", said, hint="→ open REF opens what it showed in a new window")


def node_shown(context: Context, ref: Ref, *, slices: bool) -> Node:
    """The node that a window shows, as the caller may read it."""
    window = get_window(context, int(ref.id))
    key = ids.node_id(window.item_id or 0) if window.kind in ("node", "search") else None
    node = lookup.by_id(key) if key is not None else None
    if node is None or not may_reach(context.actor, node.tree_id, here=context.tree):
        raise CommandError(
            "REJECTED", f"#{window.number} shows no node.", hint=f"→ show #{window.number}"
        )
    is_part = (window.first, window.last) != (1, node.text.count("\n") + 1)
    if slices and is_part and ref.slice is None:
        lines = f"lines:{window.first}-{window.last}"
        raise CommandError(
            "REJECTED",
            f"#{window.number} shows a part of [{node.local_id}].",
            hint=f"name it: {lookup.node_ref(node, context.tree.pk)} {lines}",
        )
    return node


def tree_named(actor: Actor, name: str) -> Tree:
    """The one tree of the grove with that title, as far as the actor may see it."""
    found = list(
        access.trees_for(actor)
        .filter(grove=actor.grove, title__iexact=name)
        .select_related("grove")[:10]
    )
    if not found:
        raise not_found(f'tree:"{name}"')
    if len(found) > 1:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{len(found)} trees are called {name!r}.",
            hint=" or ".join(f"tree:{tree.uid}" for tree in found),
        )
    return found[0]


def unknown(context: Context, tree: Tree, ref: Ref) -> CommandError:
    """CROSS_TREE if the id is in another tree that the caller may see, else NOT_FOUND; a word
    without a digit is no id."""
    if not any(letter.isdigit() for letter in ref.id):
        message = f'"{ref.id}" is not an id.'
        hint = "an id looks like a7x2; → find or → tree shows what is here"
        return CommandError("NOT_FOUND", message, hint=hint)
    if tree.pk == context.tree.pk:
        elsewhere = (
            access.trees_for(context.actor)
            .filter(nodes__local_id=ref.id)
            .exclude(pk=tree.pk)
            .order_by("id")[:MOST_TREES]
        )
        names = [f"in {titled(one.title or one.uid)}" for one in elsewhere]
        if names:
            return CommandError(
                "CROSS_TREE",
                f"[{ref.id}] is in another tree.",
                hint=f"add {' or '.join(names)}",
            )
    return not_found(f"[{ref.id}]", "→ find or → tree shows what is here")


_AGENT = Prepared(
    lambda: (
        Participant.objects.filter(grove=Given("grove"), kind="model", archived_at__isnull=True)
        .alias(lowered=Lower("name"))
        .filter(Q(uid=Given("word")) | Q(lowered=Lower(Given("word"))))
    )
)


def get_agents(context: Context, refs: tuple[Ref, ...]) -> list[Participant]:
    """The model participants of the grove that `agent:"…"` refs name, in their order."""
    found: list[Participant] = []
    for ref in refs:
        word = ref.name or ref.id
        named = _AGENT.all(grove=context.actor.grove.pk, word=word)
        if not named:
            raise not_found(f'agent:"{word}"', _agents_hint(context.actor))
        # An id comes before a name, in case a name equals the id of somebody else.
        found.append(next((one for one in named if one.uid == word), named[0]))
    return found


def _agents_hint(actor: Actor) -> str:
    names = Participant.objects.filter(
        grove=actor.grove, kind="model", archived_at__isnull=True
    ).values_list("name", flat=True)[:10]
    return (
        "there are " + ", ".join(f'agent:"{name}"' for name in names)
        if names
        else ("an owner adds a model under Participants")
    )
