"""Nodes for tests of queries, made by the one place where the world grows."""

import random
from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from loom.engine import streams
from loom.engine.models import Stream
from loom.language import ids
from loom.language.ids import ORDINAL_BITS
from loom.people.models import Participant
from loom.text import hashes
from loom.trees.chains import Chains
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode
from loom.trees.models import Chain, Node, Tree
from loom.trees.queries import lookup, places
from loom.trees.queries.outline import measured


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


def plant(
    tree: Tree, author: Participant, above: Sequence[int], *, pruned: Collection[int] = ()
) -> list[Node]:
    """Many texts at once, with the chains that one by one they would get: each below the one of
    that place in the list (-1: the root). The places of those that are `pruned` are given."""
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
    root = lookup.root_of(tree)
    laid, dice = Chains(), random.Random(len(above))
    drawn = set(tree.nodes.values_list("local_id", flat=True))
    nodes: list[Node] = []
    for place, parent_place in enumerate(above):
        parent = nodes[parent_place] if parent_place >= 0 else root
        node = node_at(tree, author, parent, stream.items + place + 1)
        node.local_id = ids.draw_new(len(drawn) + 100, drawn, dice.choice)
        drawn.add(node.local_id)
        node.pruned = place in pruned
        chain = laid.add(node.pk - tree_base(tree), parent.pk - tree_base(tree), depth=node.depth)
        node.parent_chain = chain + tree_base(tree)
        nodes.append(node)
    for node in nodes:
        own = laid.own(node.pk - tree_base(tree))
        node.pruned_chain = own + tree_base(tree) if own and node.pruned else None
    Node.objects.bulk_create(nodes)
    Chain.objects.bulk_create(
        Chain(id=tree_base(tree) + first, tail=tail) for first, tail in laid.tails.items()
    )
    stream.items += len(nodes)
    stream.leaves, stream.deepest = measured(tree.pk)
    stream.save()
    return nodes


def tree_base(tree: Tree) -> int:
    """The row id before that of the tree's first node."""
    return tree.pk << ORDINAL_BITS


def node_at(tree: Tree, author: Participant, parent: Node, ordinal: int) -> Node:
    """A text below `parent`, not stored."""
    key = tree_base(tree) + ordinal
    return Node(
        id=key,
        tree=tree,
        text=f"text {ordinal}",
        length=len(f"text {ordinal}"),
        author=author,
        slot_id=key,
        parent_slot_id=parent.pk,
        depth=parent.depth + 1,
        parent_hash=parent.hash,
        hash=hashes.sha256({"ordinal": ordinal}),
        created_at=timezone.now(),
    )


def flag(node: Node, **values: bool) -> None:
    """Sets flags of the node's row."""
    Node.objects.filter(pk=node.pk).update(**values)
    if "pruned" in values:
        chain = lookup.chain_of(node.pk) if values["pruned"] else None
        Node.objects.filter(pk=node.pk).update(pruned_chain=chain)
    Stream.objects.filter(name=f"tree:{node.tree.uid}").update(leaves=None)


def fresh(node: Node) -> Node:
    """The node as it is stored now."""
    return lookup.rows().get(pk=node.pk)
