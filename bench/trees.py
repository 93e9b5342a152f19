"""Big trees for measuring, written in bulk, with true hashes."""

import random
from datetime import timedelta

from django.utils import timezone

from loom.access import Actor, get_actor
from loom.engine import streams
from loom.engine.models import Stream
from loom.language import ids
from loom.language.ids import ORDINAL_BITS
from loom.people.models import Grove, Membership, Participant, User
from loom.text import hashes
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, Tree
from loom.trees.queries.outline import measured

WORDS = (
    "the river came down from the hills and nobody asked where it had been before the bridge "
    "was built of stone and light and the long names of those who carried it away again"
).split()


def make_owner(name: str) -> Actor:
    """A user, their grove, and their membership."""
    user = User.objects.create(username=name)
    grove = Grove.objects.create(name=name)
    streams.open_stream(grove)
    person = Participant.objects.create(grove=grove, kind="human", name=name, user=user)
    Membership.objects.create(grove=grove, user=user, participant=person, role="owner")
    return get_actor(user, grove)


def words(dice: random.Random, length: int) -> str:
    """About `length` characters of prose, never the same twice."""
    text = f"{dice.randrange(10**9)} "
    while len(text) < length:
        text += dice.choice(WORDS) + " "
    return text[:length]


def grow(
    actor: Actor, *, count: int, chain: int = 0, length: int = 200, seed: int = 7
) -> tuple[Tree, Node]:
    """A tree of `count` nodes, and the end of a chain `chain` deep in it.

    The chain comes first; every other node hangs below a random earlier one.
    """
    dice = random.Random(seed)
    tree = trees.new_tree(actor, title=f"{count} nodes")
    base, author = tree.pk << ORDINAL_BITS, actor.participant
    root = Node.objects.get(pk=base + 1)
    drawn = {root.local_id}
    nodes: list[Node] = [root]
    at = timezone.now()
    for ordinal in range(2, count + 1):
        parent = nodes[-1] if ordinal <= chain + 1 else dice.choice(nodes)
        node = Node(
            id=base + ordinal,
            tree=tree,
            local_id=_local(dice, drawn),
            text=words(dice, length),
            length=length,
            author=author,
            slot_id=base + ordinal,
            created_at=at,
        )
        nodes.append(_hung(node, parent))
        at += timedelta(microseconds=1)
    Node.objects.bulk_create(nodes[1:], batch_size=1000)
    leaves, deepest = measured(tree.pk)
    sizes = {"items": count, "leaves": leaves, "deepest": deepest}
    Stream.objects.filter(name=f"tree:{tree.uid}").update(**sizes)
    return tree, nodes[chain] if chain else nodes[-1]


def _local(dice: random.Random, drawn: set[str]) -> str:
    fresh = ids.draw_new(len(drawn) + 100, drawn, dice.choice)
    drawn.add(fresh)
    return fresh


def _hung(node: Node, parent: Node) -> Node:
    """The node below its parent, hashed."""
    node.parent_slot_id, node.depth = parent.slot_id, parent.depth + 1
    node.parent_hash = parent.hash
    node.hash = hashes.sha256(node_writer.proof_of(node, node.author.uid))
    return node
