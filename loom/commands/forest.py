"""Trees as wholes: their head, the archive, and erasing. Growing them is in `growth`."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from loom.access import Actor, demand_role, get_actor
from loom.commands.groves import owned
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
    fields = {name: value for name, value in changes.items() if name in FIELDS}
    archived = changes.get("archived")
    _demand_fields(fields)
    with transaction.atomic():
        writer = streams.lock(tree, actor=actor.participant.uid)
        demand_role(get_actor(actor.user, tree.grove), "writer")
        row = Tree.objects.select_related("grove").get(pk=tree.pk)
        if row.erasing_at is not None:
            raise not_found("This tree")
        if row.archived_at is not None and archived is not False and fields:
            raise Refused(
                "REJECTED", "This tree is archived and read only.", hint="send archived: false"
            )
        changed = {name: value for name, value in fields.items() if getattr(row, name) != value}
        for name, value in changed.items():
            setattr(row, name, value)
        if archived is not None and archived != (row.archived_at is not None):
            row.archived_at = timezone.now() if archived else None
            changed["archived_at"] = instant(row.archived_at) if row.archived_at else None
        if changed:
            row.touched_at = timezone.now()
            row.save(update_fields=[*changed, "touched_at"])
            writer.append("tree.changed", {"tree": row.uid, **changed})
        writer.flush()
    return row


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
    with owned(actor) as grove:
        streams.lock(tree)
        row = Tree.objects.get(pk=tree.pk)
        if row.erasing_at is not None:
            raise not_found("This tree")
        if row.archived_at is None:
            raise Refused("REJECTED", "Only an archived tree is erased.", hint="archive it first")
        if title != row.title:
            raise Refused("REJECTED", "That is not the tree's title.", hint=f"type {row.title!r}")
        row.erasing_at = timezone.now()
        row.save(update_fields=["erasing_at"])
        Stream.objects.filter(name=streams.name_of(tree)).update(erasing=True)
        Generation.objects.filter(tree=tree).update(stop_asked=True)
        grove.append("tree.erased", {"tree": tree.uid, "title": row.title})
        access_changed(actor.grove.uid, actor.user.pk)
        enqueue("loom.tasks.erase_tree", [tree.uid], queue="transfer")
