"""Trees for the tests of exports: planted from a list of (place above, author, text)."""

import gzip
import hashlib

from django.db import transaction
from django.utils import timezone
from hypothesis import strategies as st

from loom import access
from loom.access import Actor
from loom.engine import streams
from loom.people.models import Participant
from loom.transfer.selection import ExportSelection
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, Tree
from loom.turns.models import Call

Plant = tuple[int, bool, str]  # place of the text above (-1: the root), by a model, text
# What a JSON file and a database can hold: no U+0000, no half of a surrogate pair.
TEXT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@st.composite
def plants(draw: st.DrawFn) -> list[Plant]:
    """Up to eight texts, each below the root or below an earlier one."""
    count = draw(st.integers(1, 8))
    return [
        (draw(st.integers(-1, place - 1)), draw(st.booleans()), draw(TEXT))
        for place in range(count)
    ]


def plant(
    actor: Actor, muse: Participant, texts: list[Plant], *, mode: str = "buffer", **head: str
) -> tuple[Tree, list[Node]]:
    """The tree, and the node of each text."""
    tree = trees.new_tree(actor, mode=mode, **{"title": "T", **head})
    nodes: list[Node] = []
    with transaction.atomic():
        writer = streams.lock(tree)
        for above, by_model, text in texts:
            parent = nodes[above] if above >= 0 else tree.nodes.get(parent_slot=None)
            author = muse if by_model else actor.participant
            new = node_writer.NewNode(text=text, parent=parent)
            nodes.append(node_writer.add_node(writer, tree, author, new))
        writer.flush()
    return tree, nodes


def wanted(actor: Actor, tree: Tree, end: Node | None = None, **more: bool) -> ExportSelection:
    """An export that the actor asks for."""
    workspace = access.known_workspace_of(actor.participant, tree)
    return ExportSelection(actor, tree, workspace, end, **more)


def paths(tree: Tree) -> list[tuple[str, ...]]:
    """The texts from the first below the root to each node, sorted: what no order may change."""
    nodes = {node.pk: node for node in tree.nodes.filter(kind="text")}
    branches = []
    for node in nodes.values():
        path: list[str] = []
        at: Node | None = node
        while at is not None and at.parent_slot_id is not None:
            path.append(at.text)
            at = nodes.get(at.parent_slot_id)
        if path:
            branches.append(tuple(reversed(path)))
    return sorted(branches)


def call_in(tree: Tree, muse: Participant) -> Call:
    """A sealed call in the tree."""
    raw = b'{"text": "It rained."}'
    return Call.objects.create(
        tree=tree,
        participant=muse,
        provider="openai",
        configuration="ab" * 32,
        request={"url": "https://e.org", "headers": {}, "body": {"prompt": "Once"}},
        response=gzip.compress(raw),
        status=200,
        headers={"X-Request-Id": "req_1"},
        sha256=hashlib.sha256(raw).hexdigest(),
        sealed_at=timezone.now(),
    )


def answered(tree: Tree, muse: Participant, text: str, call: Call) -> Node:
    """A text below the root that came from this call."""
    with transaction.atomic():
        writer = streams.lock(tree)
        root = tree.nodes.get(parent_slot=None)
        new = node_writer.NewNode(
            text=text, parent=root, call_uid=call.uid, configuration=call.configuration
        )
        node = node_writer.add_node(writer, tree, muse, new)
        writer.flush()
    return node
