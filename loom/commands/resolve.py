"""From a Ref to the item it names, for the one who asks; or the refusal that says why not."""

from dataclasses import replace

from loom import access
from loom.access import Actor
from loom.commands.context import Context
from loom.grammar.refs import WORDS, Ref, print_ref
from loom.models import Node, Participant, Tree
from loom.queries import lookup
from loom.rules.errors import CommandError, not_found
from loom.rules.permissions import CROSS_TREE

MOST_TREES = 10  # that the refusal of an unknown id names
LATER = {
    "document": "Documents",
    "window": "Windows",
    "task": "Tasks",
    "stash": "Stashes",
    "focus": "Windows",
    "trail": "Trails",
    "augment": "Augments",
    "pipe": "Pipes",
}


def get_node(context: Context, ref: Ref | None, *, slices: bool = False) -> Node:
    """The node that `ref` names (None: here), in whatever tree the caller may reach."""
    if ref is None:
        return context.here
    if ref.slice is not None and not slices:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{print_ref(ref)} is a part of a node; this command takes whole nodes.",
            hint=f"use {ref.id or ref.kind}",
        )
    if ref.kind in LATER:
        raise CommandError(
            "UNAVAILABLE",
            f"{LATER[ref.kind]} are not supported yet.",
            hint="name a node, such as a7x2 or here",
        )
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
    """The same, but in this tree only: a line writes to one tree."""
    node = get_node(context, ref, slices=slices)
    if node.tree_id != context.tree.pk:
        raise CommandError(
            "CROSS_TREE",
            f"[{node.local_id}] is in another tree; a command changes one tree only.",
            hint="run the command in that tree",
        )
    return node


def tree_of(context: Context, ref: Ref) -> Tree:
    """The tree a ref names or lies in; this one where it says none. Needs X for another."""
    uid, name = ref.tree_id, ref.tree_name
    if (not uid and not name) or uid == context.tree.uid:
        return context.tree
    if CROSS_TREE not in context.actor.permissions:
        raise CommandError(
            "CROSS_TREE", "This command names another tree.", hint="ask an owner for cross_tree"
        )
    if uid and access.trees_for(context.actor).filter(uid=uid).exists():
        return access.get_tree(context.actor.user, uid)[1]
    return _tree_named(context.actor, name or uid)


def _tree_named(actor: Actor, name: str) -> Tree:
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


def _named(context: Context, tree: Tree, ref: Ref) -> Node:
    node = lookup.find_node(tree, ref.id)
    if node is None:
        raise _unknown(context, tree, ref)
    return lookup.newest_version(node) if ref.prime else node


def _unknown(context: Context, tree: Tree, ref: Ref) -> CommandError:
    """CROSS_TREE where the id lies in another tree the caller may see, else NOT_FOUND."""
    if tree.pk == context.tree.pk:
        elsewhere = (
            access.trees_for(context.actor)
            .filter(nodes__local_id=ref.id)
            .exclude(pk=tree.pk)
            .order_by("id")[:MOST_TREES]
        )
        names = [f'in tree:"{one.title or one.uid}"' for one in elsewhere]
        if names:
            return CommandError(
                "CROSS_TREE",
                f"[{ref.id}] is in another tree.",
                hint=f"add {' or '.join(names)}",
            )
    return not_found(f"[{ref.id}]", "→ find or → tree shows what is here")


def _parent_of(context: Context) -> Node:
    above = lookup.version_above(context.here, context.workspace)
    if above is None:
        raise not_found("A node above the root")
    return above


def get_agents(context: Context, refs: tuple[Ref, ...]) -> list[Participant]:
    """The model participants of the grove that `agent:"…"` refs name, in their order."""
    found = []
    for ref in refs:
        agent = Participant.objects.filter(
            grove=context.actor.grove, kind="model", archived_at__isnull=True
        )
        word = ref.name or ref.id
        one = agent.filter(uid=word).first() or agent.filter(name__iexact=word).first()
        if one is None:
            raise not_found(f'agent:"{ref.name or ref.id}"', _agents_hint(context.actor))
        found.append(one)
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
