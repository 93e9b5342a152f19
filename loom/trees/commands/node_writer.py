"""The only place that writes nodes, with its checks."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.lookups import GreaterThan
from django.utils import timezone

from loom import access
from loom.engine import streams
from loom.engine.context import Context, Op
from loom.engine.items import make_items
from loom.engine.kept_jobs import enqueue_kept
from loom.engine.models import Stream
from loom.engine.streams import Writer
from loom.engine.views import Hidden, stored
from loom.errors import CommandError
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS, PLACE_BITS
from loom.people.models import Participant
from loom.platform.inserts import insert_row
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text import hashes
from loom.text.images import hashes_in
from loom.trees.models import ORDER, Chain, Image, Node, NodeSource, Tree, Workspace
from loom.trees.queries import lookup, outline
from loom.trees.queries.node_bodies import event_body, stored_body

MAX_NODE_BYTES = 4 * 1024 * 1024
MODES = ("dialogue", "buffer")
Source = tuple[int, str, str]  # an item's id, role, version seen


@dataclass(frozen=True)
class NewNode:
    """A node to be made. `parent` is the version that it is built on; `slot` is any version of the
    slot that it is a new version of (None: a new slot). One that was written elsewhere before
    brings the instant, the author of its proof, and the local id that it keeps if that is free."""

    text: str
    kind: str = "text"
    form: str = ""
    parent: Node | None = None
    slot: Node | None = None
    edited_from: Node | None = None
    blocks: list[dict[str, Any]] | None = None
    call_uid: str = ""
    configuration: str = ""
    generation_uid: str = ""
    finish: str = "complete"
    place: int | None = None
    sources: tuple[Source, ...] = field(default_factory=tuple)
    created_at: datetime | None = None
    proof_author: str = ""
    local_id: str = ""


def demand_text(text: str, *, what: str = "The text") -> str:
    """The text, if a node may hold it: not empty, no NUL or lone surrogate, ≤ 4 MiB of UTF-8."""
    if not text:
        raise CommandError("INVALID_SYNTAX", f"{what} is empty.", hint="Write something.")
    if "\0" in text:
        raise CommandError("INVALID_SYNTAX", f"{what} contains U+0000.", hint="Remove it.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise CommandError(
            "INVALID_SYNTAX", f"{what} contains a lone surrogate.", hint="Send valid Unicode."
        ) from None
    if size > MAX_NODE_BYTES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"{what} has {size:,} bytes; a node can have at most {MAX_NODE_BYTES:,}.",
            hint="Split it into several nodes.",
            is_size=True,
        )
    return text


def content_of(node: Node) -> list[dict[str, Any]]:
    """The node's content blocks."""
    return node.blocks if node.blocks is not None else [{"type": "text", "text": node.text}]


_TAKEN = PreparedQuery(
    lambda: Node.objects.filter(tree=Given("tree"), local_id=Given("local_id")).values_list("pk")
)


def fresh_local_id(tree: Tree, used: int) -> str:
    """A local id that no node of the tree has; drawn again on collision."""
    length = item_ids.length_for(used)
    while True:
        drawn = item_ids.draw(length, secrets.choice)
        if not _TAKEN.all(tree=tree.pk, local_id=drawn):
            return drawn


def _free(tree: Tree, wanted: str) -> str:
    """The local id, if no node of the tree has it; else ""."""
    is_free = bool(wanted) and not _TAKEN.all(tree=tree.pk, local_id=wanted)
    return wanted if is_free else ""


def build_node(
    tree: Tree, author: Participant, new: NewNode, *, ordinal: int, at: datetime
) -> Node:
    """The unsaved row of a new node, hashed."""
    node_id = (tree.pk << ORDINAL_BITS) + ordinal
    parent = new.parent
    node = Node(
        id=node_id,
        tree=tree,
        local_id=_free(tree, new.local_id) or fresh_local_id(tree, ordinal),
        kind=new.kind,
        form=new.form,
        text=new.text,
        blocks=new.blocks,
        length=len(new.text),
        author=author,
        edited_from=new.edited_from,
        slot_id=new.slot.slot_id if new.slot else node_id,
        parent_slot_id=parent.slot_id if parent else None,
        depth=parent.depth + 1 if parent else 0,
        parent_hash=parent.hash if parent else "",
        configuration=new.configuration,
        call_uid=new.call_uid,
        generation_uid=new.generation_uid,
        finish=new.finish,
        place=new.place,
        proof_author=new.proof_author,
        created_at=new.created_at or at,
    )
    node.hash = hashes.sha256(proof_of(node, author.uid))
    return node


def proof_of(node: Node, author_uid: str) -> dict[str, Any]:
    """The values that the hash of a node covers."""
    return hashes.proof(
        author=node.proof_author or author_uid,
        call=node.call_uid,
        configuration=node.configuration,
        content=content_of(node),
        created_at=node.created_at,
        edited_from=node.edited_from.hash if node.edited_from else "",
        kind=node.kind,
        parent=node.parent_hash,
    )


def add_node(writer: Writer, tree: Tree, author: Participant, new: NewNode) -> Node:
    """Stores a node and its event `node.added`; `writer` must have locked the tree. In a dry run
    the node is made but not stored. REJECTED if a source is in a sandbox that is another tree."""
    access.demand_outside_sandboxes(tree, (item for item, _, _ in new.sources))
    size = writer.size
    ordinal = writer.ordinals(1)[0]
    node = build_node(tree, author, new, ordinal=ordinal, at=timezone.now())
    if writer.is_dry:
        writer.append("node.added", {})
        return node
    is_seen = new.parent is None or lookup.hidden_by(new.parent) is None
    node.parent_chain = _chain_above(new, is_seen=is_seen)
    insert_row(node)
    if size is None:
        writer.sized(outline.measured(tree.pk))
    else:
        writer.sized(_grown(size, node) if is_seen else size)
    writer.wrote(_words_added(new))
    _add_sources(node, new.sources)
    keep_images(tree, new.text)
    writer.append("node.added", {"node": stored_body(event_body(node)), **_before(node)})
    writer.nodes.append(node)
    for hook in _hooks:
        hook(node)
    return node


def _words_added(new: NewNode) -> int:
    """How many words a tree gains by a text, or by another wording of one."""
    if new.kind != "text":
        return 0
    before = new.edited_from.text if new.slot is not None and new.edited_from is not None else ""
    return len(new.text.split()) - len(before.split())


AfterAdding = Callable[[Node], None]

_hooks: list[AfterAdding] = []


def after_adding(hook: AfterAdding) -> AfterAdding:
    """Registers what a feature does when a node was stored, in the same transaction. The node has
    its tree, its author and its ordinal (`node.pk`) at hand."""
    _hooks.append(hook)
    return hook


def _chain_above(new: NewNode, *, is_seen: bool) -> int | None:
    """The chain that the slot above a new node is on, which is decided when the first text is put
    below it: the chain of the slot above that one if nothing has continued it there, else a new
    one. At most one row is added or changed, whatever the tree."""
    if new.slot is not None:
        return new.slot.parent_chain
    parent = new.parent
    if new.kind != "text" or parent is None or parent.kind != "text":
        return None
    chain, slot = parent.parent_chain, parent.slot_id
    ends_above = Chain.objects.filter(pk=chain or 0, tail=parent.depth - 1)
    if chain is None or not ends_above.update(tail=parent.depth):
        known = lookup.chain_of(slot)
        if known is not None:
            return known
        insert_row(Chain(id=slot, tail=parent.depth))
        chain = slot
    if not is_seen:
        Node.objects.filter(pk=slot, pruned=True).update(pruned_chain=chain)
    return chain


def _before(node: Node) -> dict[str, str]:
    """`before`: the sibling before which a node is placed if it was asked for earlier than
    siblings that were added before it. Empty if it comes last."""
    if node.place is None or node.parent_slot_id is None:
        return {}
    after = GreaterThan(ORDER, node.place)
    # They were added after it was asked for, so the siblings before are not read.
    asked = (node.tree_id << ORDINAL_BITS) + (node.place >> PLACE_BITS)
    beside = lookup.slots_below(node.parent_slot_id, pruned=True).filter(after, pk__gte=asked)
    following = beside.values_list("local_id", flat=True).first()
    return {} if following is None else {"before": following}


def keep_images(tree: Tree, text: str) -> None:
    """Copies the images that a text names from other trees of the grove to this tree, so that they
    stay when those trees are erased. No query for a text without images."""
    for sha256 in hashes_in(text):
        if Image.objects.filter(tree=tree, sha256=sha256).exists():
            continue
        rows = Image.objects.filter(tree__grove=tree.grove_id, tree__erasing_at=None)
        image = rows.filter(sha256=sha256).first()
        if image is not None:
            image.pk, image.tree = None, tree
            image._state.adding = True
            Image.objects.bulk_create([image], ignore_conflicts=True)


def _grown(size: tuple[int, int], node: Node) -> tuple[int, int]:
    """The branches and the depth of a tree of this size after a stored node was added."""
    leaves, depth = size
    if node.kind != "text" or node.slot_id != node.pk or node.parent_slot_id is None:
        return size
    beside = lookup.slots_below(node.parent_slot_id).exclude(pk=node.pk)
    return leaves + bool(beside.values_list("pk")[:1]), max(depth, node.depth)


def _add_sources(node: Node, sources: Iterable[Source]) -> None:
    sources = tuple(sources)
    if not sources:
        return
    make_items(item for item, _, _ in sources)
    NodeSource.objects.bulk_create(
        NodeSource(node=node, item_id=item, role=role, version_seen=seen)
        for item, role, seen in sources
    )


def workspace_of(participant: Participant, tree: Tree) -> Workspace:
    """The participant's workspace in the tree, stored on first use with the root as its position.
    Code that only reads uses `access.workspace_of`."""
    return stored(access.workspace_of(participant, tree))


Flagged = Callable[[Node, str, bool], None]
_flagged: list[Flagged] = []


def when_flagged(flagged: Flagged) -> Flagged:
    """Registers what another feature keeps about the flags of nodes: called with the node, the name
    of the flag and its new value, in the same transaction; not in a dry run."""
    _flagged.append(flagged)
    return flagged


def flag(context: Context, node: Node, name: str, value: bool) -> Op:
    """Sets a flag (pruned, excluded: of the slot; version_pruned: of the version), writes
    the event, and returns the inverse."""
    row_id = node.pk if name == "version_pruned" else node.slot_id
    changed: dict[str, Any] = {name: value}
    if name == "pruned":
        changed["pruned_chain"] = lookup.chain_of(row_id) if value else None
    Node.objects.filter(pk=row_id).update(**changed)
    row = node if row_id == node.pk else Node.objects.get(pk=row_id)
    setattr(row, name, value)
    if name == "pruned":
        context.add(Hidden(row_id, value))
        if not context.world.is_dry:
            set_size(context.world, row)
    if not context.world.is_dry:
        for flagged in _flagged:
            flagged(row, name, value)
    context.world.append(
        "node.flagged",
        {"node": row.local_id, "slot": node.slot.local_id, "flag": name, "value": value},
    )
    return {"op": "flag", "node": row_id, "flag": name, "value": not value}


def set_size(writer: Writer, slot: Node) -> None:
    """Updates the size of a tree after the flag `pruned` of a slot was set: counts what is below
    it. If that is much, a worker measures the tree again (`measure`), and nobody waits for it."""
    size = writer.size
    if size is None:
        writer.sized(outline.measured(slot.tree_id))
        return
    after = None if writer.stream.unmeasured else outline.size_after(size, slot, pruned=slot.pruned)
    if after is not None:
        writer.sized(after)
        return
    writer.stream.unmeasured = writer.stream.head + 1
    enqueue_kept("loom.tasks.measure_tree", [slot.tree.uid], queue="transfer")


def measure(uid: str) -> None:
    """Measures a tree of which a large part was pruned or restored, without keeping anybody
    waiting, and stores its size together with what was added in the meantime. Leaves it to the
    next call if more was pruned or restored in the meantime."""
    tree = Tree.objects.filter(uid=uid).first()
    before = Stream.objects.filter(name=f"tree:{uid}", unmeasured__isnull=False).first()
    if tree is None or before is None or before.leaves is None:
        return
    leaves, deepest = outline.measured(tree.pk, last=before.items)
    with transaction.atomic():
        writer = streams.lock(tree)
        now = writer.stream
        if now.unmeasured != before.unmeasured or now.leaves is None:
            return
        last = (tree.pk << ORDINAL_BITS) + before.items
        added = lookup.nodes_in(tree.pk, after=last).filter(kind="text", pruned=False)
        depths = {node.depth for node in added if lookup.hidden_by(node) is None}
        writer.sized((leaves + now.leaves - before.leaves, max({deepest, *depths})))
        now.unmeasured = None
        writer.flush()


def unmeasured() -> list[str]:
    """The uids of trees that wait to be measured."""
    names = Stream.objects.filter(unmeasured__isnull=False).values_list("name", flat=True)
    return [name.removeprefix("tree:") for name in names]


# Checks of nodes, with their messages, that several commands share.


def demand_not_root(node: Node, participle: str) -> None:
    """Refuses the root with REJECTED: it is never edited, split, pruned, excluded or
    included."""
    if node.parent_slot_id is None:
        raise CommandError(
            "REJECTED",
            f"The root can't be {participle}.",
            hint="choose a node below it; → list root shows them",
        )


def demand_visible(node: Node) -> None:
    """Refuses with REJECTED if the node or one above it is pruned."""
    hiding = lookup.hidden_by(node)
    if hiding is not None:
        is_itself = hiding.slot_id == node.slot_id
        why = "" if is_itself else f"[{node.local_id}] is hidden: "
        raise CommandError(
            "REJECTED",
            f"{why}[{hiding.local_id}] is pruned.",
            hint=f"→ restore {hiding.local_id} first",
        )


def demand_text_node(node: Node, participle: str) -> None:
    """Refuses annotations, thoughts and claims with REJECTED."""
    if node.kind != "text":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is an {node.kind}, and only text is {participle}."
            if node.kind == "annotation"
            else f"[{node.local_id}] is a {node.kind}, and only text is {participle}.",
            hint="choose a text node",
        )
