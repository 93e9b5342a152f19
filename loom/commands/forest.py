"""Trees as wholes: their head, the archive, and erasing. Growing them is in `growth`."""

from collections.abc import Mapping
from typing import Any

from loom.access import Actor
from loom.commands import growth
from loom.commands.actions import Change, action, run_action
from loom.commands.args import Args
from loom.log import streams
from loom.log.announce import access_changed
from loom.log.jobs import enqueue
from loom.models import Generation, Stream, Tree
from loom.rules.hashes import instant
from loom.rules.refusals import Refused, not_found

TRUNCATIONS = ("truncateMiddle", "rollingWindow", "stopAtLimit")
FIELDS = ("title", "description", "system_context", "summary", "truncation")
MAX_TITLE = 300


def change_tree(actor: Actor, tree: Tree, changes: Mapping[str, Any]) -> Tree:
    """Changes title, description, system_context, summary, truncation or `archived`.

    An archived tree is read only: nothing but `archived` may be sent to it, or other fields
    together with `archived: false`. What is as it was makes no event.
    """
    known = {name: value for name, value in changes.items() if name in (*FIELDS, "archived")}
    changed: Tree = run_action(actor, tree, _change_tree, TreeChanges(**known))
    return changed


class TreeChanges(Args):
    """What changes of a tree; what is not given stays."""

    title: str = ""
    description: str = ""
    system_context: str = ""
    summary: str = ""
    truncation: str = TRUNCATIONS[0]
    archived: bool | None = None


@action("change_tree", stream="tree", role="writer")
def _change_tree(change: Change, args: TreeChanges) -> Tree:
    """Changes the head of a tree, or archives it, or takes it out of the archive."""
    fields = {name: getattr(args, name) for name in FIELDS if name in args.model_fields_set}
    _demand_fields(fields)
    row = Tree.objects.select_related("grove").get(pk=change.tree.pk)
    if row.erasing_at is not None:
        raise not_found("This tree")
    if row.archived_at is not None and args.archived is not False and fields:
        raise Refused(
            "REJECTED", "This tree is archived and read only.", hint="send archived: false"
        )
    changed = {name: value for name, value in fields.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    if args.archived is not None and args.archived != (row.archived_at is not None):
        row.archived_at = change.now if args.archived else None
        changed["archived_at"] = instant(row.archived_at) if row.archived_at else None
    if changed:
        row.touched_at = change.now
        row.save(update_fields=[*changed, "touched_at"])
        change.writer.append("tree.changed", {"tree": row.uid, **changed})
    return row


class NewTree(Args):
    """What a new tree begins with."""

    title: str = ""
    mode: str = "dialogue"
    description: str = ""
    system_context: str = ""


def make_tree(actor: Actor, args: NewTree) -> Tree:
    """A new tree of the actor's grove, with its empty root. For writers."""
    made: Tree = run_action(actor, None, _make_tree, args)
    return made


@action("make_tree", stream="tree", role="writer")
def _make_tree(change: Change, args: NewTree) -> Tree:
    """Makes a tree with its empty root."""
    tree = Tree(**args.model_dump())
    growth.store_tree(tree, change.actor)
    growth.add_root(change.open(tree, change.actor.participant), tree)
    return tree


def _demand_fields(fields: Mapping[str, Any]) -> None:
    if len(fields.get("title", "")) > MAX_TITLE:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"A title has at most {MAX_TITLE} characters.",
            hint="shorten it",
            status=413,
        )
    if fields.get("truncation", TRUNCATIONS[0]) not in TRUNCATIONS:
        raise Refused(
            "INVALID_SYNTAX", "There is no such truncation.", hint=" or ".join(TRUNCATIONS)
        )


def erase(actor: Actor, tree: Tree, title: str) -> None:
    """Erases an archived tree whose title was typed again. From now on it is nowhere to be
    seen; its rows go in batches, and one event of the grove stays. There is no undo."""
    run_action(actor, actor.grove, _erase_tree, TreeErased(tree=tree, title=title))


class TreeErased(Args):
    """A tree, and its title as it was typed again."""

    tree: Tree
    title: str


@action("erase_tree", stream="grove", role="owner")
def _erase_tree(change: Change, args: TreeErased) -> None:
    """Erases an archived tree for good."""
    tree = args.tree
    streams.lock(tree)
    row = Tree.objects.get(pk=tree.pk)
    if row.erasing_at is not None:
        raise not_found("This tree")
    if row.archived_at is None:
        raise Refused("REJECTED", "Only an archived tree is erased.", hint="archive it first")
    if args.title != row.title:
        raise Refused("REJECTED", "That is not the tree's title.", hint=f"type {row.title!r}")
    row.erasing_at = change.now
    row.save(update_fields=["erasing_at"])
    Stream.objects.filter(name=streams.name_of(tree)).update(erasing=True)
    Generation.objects.filter(tree=tree).update(stop_asked=True)
    change.writer.append("tree.erased", {"tree": tree.uid, "title": row.title})
    access_changed(change.grove.uid, change.actor.user.pk)
    enqueue("loom.tasks.erase_tree", [tree.uid], queue="transfer")
