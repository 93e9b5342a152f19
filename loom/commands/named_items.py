"""Items that refs name besides nodes: windows, documents, agents, other trees; and why a ref names
no node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Lower

from loom import access
from loom.access import Actor, may_reach
from loom.grammar.refs import Ref, print_ref
from loom.models import Document, Node, Participant, Tree, Window
from loom.models.base import Given, Prepared
from loom.queries import lookup
from loom.queries.documents import document_of
from loom.rules import node_values
from loom.rules.errors import CommandError, not_found

if TYPE_CHECKING:
    from loom.commands.registry import Context

MOST_TREES = 10  # that the refusal of an unknown id names
LATER = {"trail": "Trails", "pipe": "Pipes"}
OPEN_ONES = "→ memory windows lists what is open"
_AGENT = Prepared(
    lambda: (
        Participant.objects.filter(grove=Given("grove"), kind="model", archived_at__isnull=True)
        .alias(lowered=Lower("name"))
        .filter(Q(uid=Given("word")) | Q(lowered=Lower(Given("word"))))
    )
)


def no_node(ref: Ref) -> CommandError:
    """Why a ref of another kind does not name a node."""
    said, node = print_ref(ref), "name a node, such as a7x2 or here"
    if ref.kind == "document":
        message = f"{said} is a document; this command takes a node."
        return CommandError("INVALID_SYNTAX", message, hint=f"→ view {said}")
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


def get_document(context: "Context", ref: Ref) -> Document:
    """The document that `ref` names. NOT_FOUND for one that the caller may not read here."""
    return document_of(context.actor, context.tree, ref)


def get_window(context: "Context", number: int) -> Window:
    """The open window of the workspace with that number. Raises what `no_window` returns."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number=number)
    found = rows.select_related("item", "step").order_by()[:1]
    if not found:
        raise no_window(context, [number])
    return found[0]


def no_window(context: "Context", numbers: Sequence[int], hint: str = OPEN_ONES) -> CommandError:
    """Why none of these numbers is an open window: REJECTED for those that were closed, NOT_FOUND
    where there never was one."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=True, number__in=numbers)
    closed = list(rows.order_by("number").values_list("number", flat=True))
    if not closed:
        return not_found(" ".join(f"#{one}" for one in numbers), hint)
    named = " ".join(f"#{one}" for one in closed)
    said = f"{named} {'was' if len(closed) == 1 else 'were'} closed."
    return CommandError("REJECTED", said, hint="→ open REF opens what it showed in a new window")


def node_shown(context: "Context", ref: Ref, *, slices: bool) -> Node:
    """The node that a window shows, as the caller may read it."""
    window = get_window(context, int(ref.id))
    key = node_values.node_id(window.item_id or 0) if window.kind in ("node", "search") else None
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


def unknown(context: "Context", tree: Tree, ref: Ref) -> CommandError:
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


def get_agents(context: "Context", refs: tuple[Ref, ...]) -> list[Participant]:
    """The model participants of the grove that `agent:"…"` refs name, in their order."""
    found: list[Participant] = []
    for ref in refs:
        word = ref.name or ref.id
        named = _AGENT.all(grove=context.actor.grove.pk, word=word)
        if not named:
            raise not_found(f'agent:"{word}"', _agents_hint(context.actor))
        # An id comes before a name, should somebody be called like the id of another.
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
