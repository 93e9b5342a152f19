"""The one place where trees, nodes and workspaces are made, and the checks before it."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.lookups import GreaterThan
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands.registry import Context, Op
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.refs import ParseError, Slice
from loom.grammar.slices import put
from loom.models import (
    ORDER,
    ORDINAL_BITS,
    Draft,
    Generation,
    Image,
    Item,
    Node,
    NodeSource,
    Participant,
    Step,
    Tree,
    Turn,
    Workspace,
)
from loom.models.base import Given, Prepared
from loom.queries import lookup, outline
from loom.queries.node_bodies import event_body, without_text
from loom.rules import node_values
from loom.rules.errors import CommandError
from loom.rules.limits import number_of
from loom.rules.node_values import hashes_in, instant
from loom.rules.windows import Span

MAX_NODE_BYTES = 4 * 1024 * 1024
MODES = ("dialogue", "buffer")
Source = tuple[int, str, str]  # an item's id, role, version seen


@dataclass(frozen=True)
class NewNode:
    """What a new node will be. `parent` is the version built upon; `slot` any version of
    the slot this is a new version of (None: a slot of its own)."""

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
            status=413,
        )
    return text


def content_of(node: Node) -> list[dict[str, Any]]:
    """The node's content blocks."""
    return node.blocks if node.blocks is not None else [{"type": "text", "text": node.text}]


_TAKEN = Prepared(
    lambda: Node.objects.filter(tree=Given("tree"), local_id=Given("local_id")).values_list("pk")
)


def fresh_local_id(tree: Tree, used: int) -> str:
    """A local id that no node of the tree has; drawn again on collision."""
    length = node_values.length_for(used)
    while True:
        drawn = node_values.draw(length, secrets.choice)
        if not _TAKEN.all(tree=tree.pk, local_id=drawn):
            return drawn


def build_node(
    tree: Tree, author: Participant, new: NewNode, *, ordinal: int, at: datetime
) -> Node:
    """The unsaved row of a new node, hashed."""
    node_id = (tree.pk << ORDINAL_BITS) + ordinal
    parent = new.parent
    node = Node(
        id=node_id,
        tree=tree,
        local_id=fresh_local_id(tree, ordinal),
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
        created_at=at,
    )
    node.hash = node_values.sha256(proof_of(node, author.uid))
    return node


def proof_of(node: Node, author_uid: str) -> dict[str, Any]:
    """The values the hash of a node is taken of."""
    return node_values.proof(
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
    """Stores a node and its event `node.added`; the tree must be locked by `writer`. In a dry
    run the node is made and not stored."""
    size = writer.size
    ordinal = writer.ordinals(1)[0]
    node = build_node(tree, author, new, ordinal=ordinal, at=timezone.now())
    if writer.is_dry:
        writer.append("node.added", {})
        return node
    node.save(force_insert=True)
    is_seen = new.parent is None or lookup.hidden_by(new.parent) is None
    if size is None:
        writer.sized(outline.measured(tree.pk))
    else:
        writer.sized(_grown(size, node) if is_seen else size)
    _add_sources(node, new.sources)
    keep_images(tree, new.text)
    writer.append("node.added", {"node": without_text(event_body(node)), **_before(node)})
    writer.nodes.append(node)
    if ordinal % number_of(tree.grove.settings, "tree_summary_every") == 0:
        _want_summary(tree, author, new)
    return node


def _want_summary(tree: Tree, author: Participant, new: NewNode) -> None:
    """Has the summary of the tree made again, for whoever wrote the node or asked for it."""
    person = author.pk if author.kind == "human" else None
    if person is None and new.generation_uid:
        rows = Generation.objects.filter(uid=new.generation_uid).values_list("payer", flat=True)
        person = rows.first()
    if person is not None:
        named = [tree.uid, person, [], True]
        streams.enqueue("agents.tasks.summarise", named, queue="continue")


def _before(node: Node) -> dict[str, str]:
    """`before`: the text slot beside which a node comes first that was added after it was asked
    for. Empty for one that comes last."""
    if node.place is None or node.parent_slot_id is None:
        return {}
    after = GreaterThan(ORDER, node.place)
    beside = lookup.slots_below(node.parent_slot_id, pruned=True).filter(after)
    following = beside.values_list("local_id", flat=True).first()
    return {} if following is None else {"before": following}


def keep_images(tree: Tree, text: str) -> None:
    """Gives the tree the images that a text names and another tree of its grove has, so that they
    stay when that one is erased. No query for a text without images."""
    for sha256 in hashes_in(text):
        if Image.objects.filter(tree=tree, sha256=sha256).exists():
            continue
        rows = Image.objects.filter(tree__grove=tree.grove_id, tree__erasing_at=None)
        found = rows.filter(sha256=sha256).first()
        if found is not None:
            found.pk, found.tree = None, tree
            found._state.adding = True
            Image.objects.bulk_create([found], ignore_conflicts=True)


def make_items(ids: Iterable[int]) -> None:
    """Makes the items that are not there yet, so that rows may point at them; one query."""
    rows = []
    for one in sorted(set(ids)):
        node = node_values.node_id(one)
        home, kind = node_values.home_of(one), "tree" if node is None else "node"
        kind = "document" if node_values.document_id(one) is not None else kind
        rows.append(Item(id=one, kind=kind, tree_id=home, node_id=node))
    Item.objects.bulk_create(rows, ignore_conflicts=True)


def _grown(size: tuple[int, int], node: Node) -> tuple[int, int]:
    """The branches and the depth of a tree of this size after a stored node was added to it."""
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


def make_tree(
    actor: Actor,
    *,
    title: str = "",
    mode: str = "dialogue",
    description: str = "",
    system_context: str = "",
) -> Tree:
    """A new tree with its root, without a step: what tests begin with. `forest.make_tree` is
    the command."""
    made = Tree(title=title, mode=mode, description=description, system_context=system_context)
    with transaction.atomic():
        store_tree(made, actor)
        streams.open_stream(made)
        writer = streams.lock(made, actor=actor.participant.uid)
        add_root(writer, made)
        writer.flush()
    return made


def store_tree(tree: Tree, maker: Actor) -> None:
    """Stores a new tree in its maker's grove. Its stream and root are still missing."""
    if tree.mode not in MODES:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no mode {tree.mode!r}.", hint="dialogue or buffer"
        )
    tree.grove, tree.maker = maker.grove, maker.participant
    tree.save(force_insert=True)


def add_root(writer: Writer, tree: Tree) -> Node:
    """Begins a new tree: its first event, and its root, a text node with empty text."""
    body = {"tree": tree.uid, "title": tree.title, "mode": tree.mode}
    writer.append("tree.created", body)
    return add_node(writer, tree, tree.maker, NewNode(text=""))


def workspace_of(participant: Participant, tree: Tree) -> Workspace:
    """The participant's workspace in the tree, stored on first use, with the root as its
    position. What only reads asks `access.workspace_of`."""
    return stored(access.workspace_of(participant, tree))


def stored(workspace: Workspace) -> Workspace:
    """The workspace, stored where that was not done yet."""
    if workspace.pk:
        return workspace
    made, _ = Workspace.objects.get_or_create(
        participant=workspace.participant,
        tree=workspace.tree,
        defaults={"position_id": workspace.position_id, "uid": workspace.uid},
    )
    return made


# Small deeds that several commands share: texts put otherwise, and flags set.


def with_slice(text: str, part: Slice | None, new: str) -> str:
    """`text` with one slice replaced by `new`; all of it where there is not a slice."""
    if part is None:
        return new
    if part.kind == "part":  # as `view` counts them, which begins with the header
        raise CommandError(
            "REJECTED", "part: is read-only.", hint="use lines:a-b, or replace:… with:…"
        )
    try:
        return put(text, part, new)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None


def edited_in_batch(turn_uid: str, node: Node) -> tuple[Node, list[Span] | None]:
    """The node, or what the lines of the current round of a turn made of it before: two edits
    of one node in one batch build on each other; and the lines that each of them changed, None
    where that is not known. Two queries, none outside of a turn."""
    if not turn_uid:
        return node, []
    number = Turn.objects.values_list("round", flat=True).get(uid=turn_uid)
    steps = Step.objects.filter(
        turn_uid=turn_uid, turn_place__startswith=f"{number}.", outcome="ok", is_undone=False
    ).filter(canonical__startswith="→ edit ")  # a split makes nodes of one too
    made = {
        op["node"]: op.get("lines")
        for inverse in steps.order_by("id").values_list("inverse", flat=True)
        for op in inverse or []
        if op.get("op") == "made"
    }
    spans: list[Span] | None = []
    for found in lookup.rows().filter(pk__in=made):  # oldest first
        if found.edited_from_id == node.pk:
            lines = made[found.pk]
            spans = None if lines is None or spans is None else [*spans, Span(*lines)]
            node = found
    return node, spans


def replaced(text: str, old: str, new: str) -> str:
    """`text` with `old`, which must occur exactly once, replaced. CONFLICT with the count."""
    count = text.count(old) if old else 0
    if count != 1:
        raise CommandError(
            "CONFLICT",
            f"The passage occurs {count} times; it must occur exactly once.",
            hint="quote more of it" if count else "look at the text, then quote it exactly",
        )
    return text.replace(old, new)


def common_prefix(old: str, new: str) -> str:
    """The longest text that both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    end = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
    return new[:end]


def flag(context: Context, node: Node, name: str, value: bool) -> Op:
    """Sets a flag (pruned, excluded: of the slot; version_pruned: of the version), writes
    the event, and returns the inverse."""
    row_id = node.pk if name == "version_pruned" else node.slot_id
    Node.objects.filter(pk=row_id).update(**{name: value})
    row = node if row_id == node.pk else Node.objects.get(pk=row_id)
    setattr(row, name, value)
    if name == "pruned" and not context.world.is_dry:
        set_size(context.world, row)
    context.world.append(
        "node.flagged",
        {"node": row.local_id, "slot": node.slot.local_id, "flag": name, "value": value},
    )
    return {"op": "flag", "node": row_id, "flag": name, "value": not value}


def set_size(writer: Writer, slot: Node) -> None:
    """Keeps the size of a tree after the flag `pruned` of a slot was set: what is below it is
    counted, and the whole tree where its size is not known."""
    size = writer.size
    if size is None:
        writer.sized(outline.measured(slot.tree_id))
    else:
        writer.sized(outline.size_after(size, slot, pruned=slot.pruned))


# What may not be done to a node, whatever the verb: sentences that several commands share.


def demand_not_root(node: Node, participle: str) -> None:
    """Refuses REJECTED at the root, which is never edited, split, pruned or excluded."""
    if node.parent_slot_id is None:
        raise CommandError(
            "REJECTED",
            f"The root can't be {participle}.",
            hint="choose a node below it; → list root shows them",
        )


def demand_visible(node: Node) -> None:
    """Refuses REJECTED where the node or one above it is pruned."""
    hiding = lookup.hidden_by(node)
    if hiding is not None:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is hidden: [{hiding.local_id}] is pruned.",
            hint=f"→ restore {hiding.local_id} first",
        )


def demand_text_node(node: Node, participle: str) -> None:
    """Refuses REJECTED where the node is an annotation, a thought or a claim."""
    if node.kind != "text":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is an {node.kind}, and only text is {participle}."
            if node.kind == "annotation"
            else f"[{node.local_id}] is a {node.kind}, and only text is {participle}.",
            hint="choose a text node",
        )


# -- a draft that has become a node


def end_draft(writer: streams.Writer, draft: Draft | None) -> None:
    """Deletes a draft and appends its event, if there is one."""
    if draft is not None:
        append_draft(writer, draft, ended=True)
        draft.delete()


def append_draft(writer: streams.Writer, draft: Draft, *, ended: bool) -> None:
    """Appends the event of a draft to the stream of its workspace."""
    body = {"slot": draft.slot.local_id, "kind": draft.kind, "ended": ended}
    writer.append("draft.saved", body if ended else {**body, "at": instant(draft.at)})
    writer.flush()


_SAME_DRAFT = Prepared(
    lambda: Draft.objects.select_related("slot").filter(
        workspace=Given("workspace"), slot=Given("slot"), kind=Given("kind"), text=Given("text")
    )
)


def settle_draft(context: Context, node: Node, kind: str, text: str) -> None:
    """Ends the actor's own draft at the node's slot, where its text has become a node: in
    the same transaction, so that a crash leaves it neither lost nor doubled."""
    at = {"workspace": context.workspace.pk, "slot": node.slot_id}
    draft = _SAME_DRAFT.first(**at, kind=kind, text=text)
    if draft is not None:
        end_draft(streams.lock(context.workspace, actor=context.actor.participant.uid), draft)
