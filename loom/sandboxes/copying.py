"""The texts that a sandbox begins with: copies of the path to the text that it hangs at.

A copy has the text, author, instant, parent's hash and hash of the original, so that it verifies as
that does, and what is written below it has the hash that it would have there."""

from collections.abc import Sequence
from typing import Any

from loom.access import Actor
from loom.engine.streams import Writer
from loom.errors import CommandError
from loom.language.ids import ORDINAL_BITS
from loom.platform.inserts import insert_rows
from loom.trees.chains import Chains
from loom.trees.commands.node_writer import keep_images
from loom.trees.models import BranchSettings, Chain, Node, Tree, Workspace
from loom.trees.queries.lookup import path_of
from loom.trees.queries.outline import measured

MOST = 10_000  # texts on the path
BATCH = 500


def copied(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> list[Node]:
    """The nodes that a sandbox at `node` copies, in the order in which they are written: the path
    as the actor reads it, and the older wordings that its texts were edited from."""
    path = [row.id for row in path_of(actor, tree, workspace, node)]
    if len(path) > MOST:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A sandbox begins below at most {MOST:,} texts; here are {len(path):,}.",
            hint="begin it higher up",
            is_size=True,
        )
    nodes = _read(path)
    slots = {node.slot_id for node in nodes}
    known = {node.pk for node in nodes}
    wanted = {node.edited_from_id for node in nodes if node.edited_from_id} - known
    while wanted:
        older = [node for node in _read(sorted(wanted)) if _has_place(node, tree, slots)]
        nodes += older
        known |= wanted
        wanted = {node.edited_from_id for node in older if node.edited_from_id} - known
    return sorted(nodes, key=lambda node: (node.depth, node.pk))


def _has_place(node: Node, tree: Tree, slots: set[int]) -> bool:
    return node.tree_id == tree.pk and (node.slot_id in slots or node.parent_slot_id in slots)


def _read(keys: Sequence[int]) -> list[Node]:
    nodes: list[Node] = []
    for first in range(0, len(keys), BATCH):
        nodes += Node.objects.filter(pk__in=keys[first : first + BATCH])
    return nodes


def write_copies(writer: Writer, tree: Tree, nodes: Sequence[Node]) -> dict[int, int]:
    """Stores the copies in a new sandbox, whose stream `writer` has locked. Returns the ids of the
    copies by those of the originals."""
    base = tree.pk << ORDINAL_BITS
    new = {
        node.pk: base + ordinal
        for node, ordinal in zip(nodes, writer.ordinals(len(nodes)), strict=True)
    }
    first: dict[int, int] = {}  # the id of a slot's first copy by that of the slot
    chains, rows = Chains(), []
    for node in nodes:
        slot = first.setdefault(node.slot_id, new[node.pk])
        above = first.get(node.parent_slot_id or 0)
        chain = None
        if node.kind == "text" and above is not None:
            if slot == new[node.pk]:
                chains.add(slot - base, above - base, depth=node.depth)
            chain = base + chains.above(slot - base)
        rows.append(_row(node, new, tree=tree.pk, slot=slot, above=above, chain=chain))
    for start in range(0, len(rows), BATCH):
        insert_rows(Node, rows[start : start + BATCH])
    insert_rows(
        Chain, [{"id": base + chain, "tail": tail} for chain, tail in sorted(chains.tails.items())]
    )
    _keep_settings(tree, first)
    for node in nodes:
        keep_images(tree, node.text)
    writer.sized(measured(tree.pk))
    return new


def _row(
    node: Node, new: dict[int, int], *, tree: int, slot: int, above: int | None, chain: int | None
) -> dict[str, Any]:
    """The columns of a copy."""
    return {
        **{name: value for name, value in vars(node).items() if not name.startswith("_")},
        "id": new[node.pk],
        "tree_id": tree,
        "slot_id": slot,
        "parent_slot_id": above,
        "parent_chain": chain,
        "pruned_chain": None,
        "edited_from_id": new.get(node.edited_from_id or 0),
        "place": None,
        "sandbox": False,
    }


def _keep_settings(tree: Tree, first: dict[int, int]) -> None:
    """Copies the settings that are pinned to the path."""
    rows = BranchSettings.objects.filter(slot__in=list(first)) if len(first) <= BATCH else []
    BranchSettings.objects.bulk_create(
        BranchSettings(
            tree=tree, slot_id=first[row.slot_id], settings=row.settings, by=row.by, at=row.at
        )
        for row in rows
    )
