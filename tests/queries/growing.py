"""Nodes for tests of queries, made by the one place where the world grows."""

from typing import Any

from django.db import transaction

from loom.commands import node_writer
from loom.commands.node_writer import NewNode
from loom.events import streams
from loom.models import Node, Participant, Stream, Tree
from loom.queries import lookup, places


def add(tree: Tree, author: Participant, text: str, parent: Node | None, **fields: Any) -> Node:
    """A node below `parent` (None: below the root)."""
    above = parent or lookup.root_of(tree)
    with transaction.atomic():
        writer = streams.lock(tree, actor=author.uid)
        node = node_writer.add_node(writer, tree, author, NewNode(text, parent=above, **fields))
        writer.flush()
    return lookup.rows().get(pk=node.pk)


def version(author: Participant, of: Node, text: str) -> Node:
    """A new version in the slot of `of`, edited from it."""
    parent = places.version_above(of, None)
    return add(of.tree, author, text, parent, slot=of, edited_from=of, kind=of.kind)


def chain(tree: Tree, author: Participant, *texts: str) -> list[Node]:
    """Nodes below each other, the first below the root."""
    nodes: list[Node] = []
    for text in texts:
        nodes.append(add(tree, author, text, nodes[-1] if nodes else None))
    return nodes


def flag(node: Node, **values: bool) -> None:
    """Sets flags of the node's row."""
    Node.objects.filter(pk=node.pk).update(**values)
    Stream.objects.filter(name=f"tree:{node.tree.uid}").update(leaves=None)


def fresh(node: Node) -> Node:
    """The node as it is stored now."""
    return lookup.rows().get(pk=node.pk)
