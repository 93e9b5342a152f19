"""Whole trees: made, changed, archived, and marked for erasing."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from loom.access import Actor, grove_trees, is_hidden_from_some
from loom.engine import streams
from loom.engine.actions import RunningAction, action
from loom.engine.announcements import access_changed
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.engine.jobs import enqueue
from loom.engine.models import Event, Stream
from loom.engine.streams import Writer
from loom.errors import CommandError, not_found
from loom.language.ids import ids_in
from loom.people.models import Participant
from loom.people.names import shown_title
from loom.platform.inserts import insert_row
from loom.text.hashes import instant_or_none
from loom.trees.archiving import end_work, opened
from loom.trees.commands.node_writer import MODES, NewNode, add_node
from loom.trees.commands.public_links import (
    FIELDS,
    LOOKED_THROUGH,
    MAX_FOLDER,
    MAX_TITLE,
    RANGES,
    SAID,
    STEERING,
)
from loom.trees.erasing import stop_work
from loom.trees.models import ErasedTree, Node, Tree, TreeRight
from loom.trees.truncations import TRUNCATIONS


def change_tree(actor: Actor, tree: Tree, changes: Mapping[str, Any]) -> Tree:
    """Changes title, description, folder, system_context, summary, truncation, the additions for
    subjects (STEERING: `→ undo` undoes these), or `archived`.

    An archived tree is read-only: it takes nothing but `archived`, or other fields together with
    `archived: false`. What goes on in a tree that is archived ends before, with what it has
    written. Unchanged values write no event. `seen` holds fields as the caller has read
    them: CONFLICT if a field that would change has another value by now.
    """
    names = (*FIELDS, "folder", "archived", "seen")
    known = {name: value for name, value in changes.items() if name in names}
    return execute(actor, tree, _change_tree, TreeChanges(**known))


class TreeChanges(Args):
    """The changes to a tree; fields that are not given stay."""

    title: str = ""
    description: str = ""
    system_context: str = ""
    summary: str = ""
    truncation: str = TRUNCATIONS[0]
    memory: str = ""
    author_note: str = ""
    note_depth: int = 3
    lore_scan: int = 2000
    lore_budget: int = 1000
    folder: str = ""
    archived: bool | None = None
    seen: dict[str, str | int] = {}


@action("change_tree", stream="tree", role="writer")
def _change_tree(change: RunningAction, args: TreeChanges) -> Tree:
    """Changes the fields of a tree, archives it, or takes it out of the archive."""
    fields = {
        name: getattr(args, name) for name in (*FIELDS, "folder") if name in args.model_fields_set
    }
    if "title" in fields:
        fields["title"] = shown_title(args.title)
    if "folder" in fields:
        fields["folder"] = " ".join(args.folder.replace("\0", "").split())
    _demand_fields(fields)
    row = Tree.objects.select_related("grove").get(pk=change.tree.pk)
    if row.erasing_at is not None:
        raise not_found("This tree")
    if row.archived_at is not None and args.archived is not False and fields:
        raise CommandError(
            "REJECTED", "This tree is archived and read-only.", hint="send archived: false"
        )
    changed = {name: value for name, value in fields.items() if getattr(row, name) != value}
    _demand_seen(row, changed, args.seen)
    steered = {name: getattr(row, name) for name in STEERING if name in changed}
    if steered:
        change.inverse = [
            {"op": "steer", "fields": steered, "now": {n: changed[n] for n in steered}}
        ]
        change.message = f"changed {' and '.join(SAID[name] for name in steered)}"
    for name, value in changed.items():
        setattr(row, name, value)
    if args.archived is not None and args.archived != (row.archived_at is not None):
        if args.archived:
            end_work(row, change.writer)
            row.archived_at = timezone.now()  # after the texts that ended with it
        else:
            opened(row)
            row.archived_at = None
        changed["archived_at"] = instant_or_none(row.archived_at)
    if changed:
        row.touched_at = change.now
        row.save(update_fields=[*changed, "touched_at"])
        change.writer.append("tree.changed", {"tree": row.uid, **changed})
    return row


def _demand_seen(row: Tree, changed: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    name = next(
        (field for field in changed if field in seen and seen[field] != getattr(row, field)), None
    )
    if name is None:
        return
    events = Event.objects.filter(stream__name=streams.name_of(row), kind="tree.changed")
    recent = events.order_by("-seq").values_list("actor", "payload")[:LOOKED_THROUGH]
    uid = next((actor for actor, payload in recent if name in payload), "")
    who = Participant.objects.filter(uid=uid).values_list("name", flat=True).first()
    raise CommandError(
        "CONFLICT",
        f"{who or 'Somebody'} has changed {SAID.get(name, name)} since you read it.",
        hint="look at what it is now, then save again what should stay",
    )


class NewTree(Args):
    """The initial fields of a tree."""

    title: str = ""
    mode: str = "dialogue"
    description: str = ""
    system_context: str = ""


def make_tree(actor: Actor, args: NewTree) -> Tree:
    """A new tree of the actor's grove, with its empty root. For writers."""
    return execute(actor, None, _make_tree, args)


@action("make_tree", stream="tree", role="writer")
def _make_tree(change: RunningAction, args: NewTree) -> Tree:
    """Makes a tree with its empty root."""
    tree = Tree(**args.model_dump())
    store_tree(tree, change.actor)
    add_root(change.open(tree, change.actor.participant), tree)
    return tree


def _demand_fields(fields: Mapping[str, Any]) -> None:
    if len(fields.get("title", "")) > MAX_TITLE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A title has at most {MAX_TITLE} characters.",
            hint="shorten it",
            is_size=True,
        )
    if len(fields.get("folder", "")) > MAX_FOLDER:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The name of a folder has at most {MAX_FOLDER} characters.",
            hint="shorten it",
            is_size=True,
        )
    for name, (least, most) in RANGES.items():
        if not least <= fields.get(name, least) <= most:
            raise CommandError(
                "INVALID_SYNTAX",
                f"{name} is from {least:,} to {most:,}.",
                hint="choose a number between them",
            )
    if fields.get("truncation", TRUNCATIONS[0]) not in TRUNCATIONS:
        raise CommandError(
            "INVALID_SYNTAX",
            "This way of truncation does not exist.",
            hint=" or ".join(TRUNCATIONS),
        )


def erase(actor: Actor, tree: Tree, title: str) -> None:
    """Erases an archived tree whose title was typed as confirmation. It is hidden immediately; its
    rows are deleted in batches, and one event of the grove remains. There is no undo."""
    execute(actor, actor.grove, _erase_tree, TreeErasureArgs(tree=tree.uid, title=title))


class TreeErasureArgs(Args):
    """A tree by its uid, and its title as typed for confirmation."""

    tree: str
    title: str


@action("erase_tree", stream="grove", role="owner")
def _erase_tree(change: RunningAction, args: TreeErasureArgs) -> None:
    """Erases an archived tree permanently."""
    tree = grove_trees(change.actor).filter(uid=args.tree).first()
    if tree is None:
        raise not_found("This tree")
    streams.lock(tree)
    row = Tree.objects.get(pk=tree.pk)
    if row.erasing_at is not None:
        raise not_found("This tree")
    if row.archived_at is None:
        raise CommandError(
            "REJECTED", "Only an archived tree can be erased.", hint="archive it first"
        )
    if args.title != row.title:
        raise CommandError(
            "REJECTED", "This is not the title of the tree.", hint=f"type {row.title!r}"
        )
    _erase_sandboxes(change, row)
    row.erasing_at = change.now
    row.save(update_fields=["erasing_at"])
    Stream.objects.filter(name=streams.name_of(tree)).update(erasing=True)
    stop_work(tree)
    if row.sandbox_of_id is None:  # else nobody else knew of it
        _keep_readers(row)
        # The event goes to all members of the grove.
        title = "" if is_hidden_from_some(row.pk) else row.title
        change.writer.append("tree.erased", {"tree": tree.uid, "title": title})
    access_changed(change.grove.uid, change.actor.user.pk)
    enqueue("loom.tasks.erase_tree", [tree.uid], queue="transfer")


def _keep_readers(tree: Tree) -> None:
    """Stores who could read a tree that is being erased."""
    rights = list(TreeRight.objects.filter(tree=tree).values_list("user_id", "right"))
    by_role = {"reader": tree.reader_right, "writer": tree.writer_right}
    ErasedTree.objects.create(
        tree=tree.pk,
        grove=tree.grove,
        hidden_roles=[role for role, right in by_role.items() if right == "hidden"],
        hidden_from=[user for user, right in rights if right == "hidden"],
        shown_to=[user for user, right in rights if right != "hidden"],
    )


def _erase_sandboxes(change: RunningAction, tree: Tree) -> None:
    """Erases the sandboxes that hang at a tree: they hold copies of its texts."""
    for sandbox in Tree.objects.filter(sandbox_at__range=ids_in(tree.pk), erasing_at=None):
        Tree.objects.filter(pk=sandbox.pk).update(erasing_at=change.now)
        Stream.objects.filter(name=streams.name_of(sandbox)).update(erasing=True)
        stop_work(sandbox)
        enqueue("loom.tasks.erase_tree", [sandbox.uid], queue="transfer")


def new_tree(
    actor: Actor,
    *,
    title: str = "",
    mode: str = "dialogue",
    description: str = "",
    system_context: str = "",
) -> Tree:
    """A new tree with its root, without a step; for tests. `make_tree` is the command."""
    tree = Tree(title=title, mode=mode, description=description, system_context=system_context)
    with transaction.atomic():
        store_tree(tree, actor)
        streams.open_stream(tree)
        writer = streams.lock(tree, actor=actor.participant.uid)
        add_root(writer, tree)
        writer.flush()
    return tree


def store_tree(tree: Tree, maker: Actor) -> None:
    """Stores a new tree in its maker's grove. Its stream and root are still missing."""
    if tree.mode not in MODES:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no mode {tree.mode!r}.", hint="dialogue or buffer"
        )
    tree.title = shown_title(tree.title)
    tree.grove, tree.maker = maker.grove, maker.participant
    insert_row(tree)


def add_root(writer: Writer, tree: Tree) -> Node:
    """Writes the first event of a new tree, and its root, a text node with empty text."""
    body = {"tree": tree.uid, "title": tree.title, "mode": tree.mode}
    writer.append("tree.created", body)
    return add_node(writer, tree, tree.maker, NewNode(text=""))
