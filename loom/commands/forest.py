"""Trees as wholes: their head, the archive, and erasing. Growing them is in `growth`."""

from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from loom.access import Actor
from loom.log import streams
from loom.log.jobs import enqueue
from loom.models import (
    Call,
    Event,
    Generation,
    Import,
    Link,
    Mark,
    Node,
    NodeSource,
    Receipt,
    Step,
    Stream,
    Tree,
    VersionChoice,
    Workspace,
)
from loom.rules.hashes import instant
from loom.rules.refusals import Refused

TRUNCATIONS = ("truncateMiddle", "rollingWindow", "stopAtLimit")
MAX_TITLE = 300
BATCH = 2000


def change_tree(actor: Actor, tree: Tree, fields: dict[str, Any]) -> Tree:
    """Changes title, description, system_context, summary, truncation or `archived`.

    An archived tree is read only: nothing but `archived` may be sent to it.
    """
    archived = fields.pop("archived", None)
    if "title" in fields and len(fields["title"]) > MAX_TITLE:
        raise Refused("LIMIT_EXCEEDED", f"A title has at most {MAX_TITLE} characters.")
    if fields.get("truncation", TRUNCATIONS[0]) not in TRUNCATIONS:
        raise Refused(
            "INVALID_SYNTAX", "There is no such truncation.", hint=" or ".join(TRUNCATIONS)
        )
    with transaction.atomic():
        writer = streams.lock(tree, actor=actor.participant.uid)
        row = Tree.objects.get(pk=tree.pk)
        if row.archived_at is not None and archived is None and fields:
            raise Refused(
                "REJECTED", "This tree is archived and read only.", hint="send archived: false"
            )
        for name, value in fields.items():
            setattr(row, name, value)
        if archived is not None:
            row.archived_at = (row.archived_at or timezone.now()) if archived else None
        row.save(update_fields=[*fields, "archived_at"])
        body: dict[str, Any] = {"tree": row.uid, **fields}
        body["archived_at"] = instant(row.archived_at) if row.archived_at else None
        writer.append("tree.changed", body)
        writer.flush()
    return row


def erase(actor: Actor, tree: Tree, title: str) -> None:
    """Erases an archived tree whose title was typed again. From now on it is nowhere to be
    seen; its rows go in batches, and one event of the grove stays. There is no undo."""
    with transaction.atomic():
        grove = streams.lock(tree.grove, actor=actor.participant.uid)
        streams.lock(tree)
        row = Tree.objects.get(pk=tree.pk)
        if row.archived_at is None:
            raise Refused("REJECTED", "Only an archived tree is erased.", hint="archive it first")
        if title != row.title:
            raise Refused("REJECTED", "That is not the tree's title.", hint=f"type {row.title!r}")
        row.erasing_at = timezone.now()
        row.save(update_fields=["erasing_at"])
        Stream.objects.filter(name=streams.name_of(tree)).update(erasing=True)
        Generation.objects.filter(tree=tree).update(stop_asked=True)
        grove.append("tree.erased", {"tree": tree.uid, "title": row.title})
        grove.flush()
        enqueue("loom.tasks.erase_tree", [tree.uid], queue="transfer")


def erase_rows(tree_uid: str) -> None:
    """Deletes what an erased tree leaves, in batches; may be stopped and run again."""
    tree = Tree.objects.filter(uid=tree_uid, erasing_at__isnull=False).first()
    if tree is None:
        return
    workspaces = list(Workspace.objects.filter(tree=tree).values_list("uid", flat=True))
    names = [streams.name_of(tree), *(f"workspace:{uid}" for uid in workspaces)]
    Stream.objects.filter(name__in=names).update(erasing=True)
    _batches(Event.objects.filter(stream__name__in=names))
    Step.objects.filter(workspace__tree=tree).update(undoes=None)
    for rows in (
        Step.objects.filter(workspace__tree=tree),
        Receipt.objects.filter(tree=tree),
        VersionChoice.objects.filter(workspace__tree=tree),
        Workspace.objects.filter(tree=tree),
        Mark.objects.filter(tree=tree),
        Link.objects.filter(tree=tree),
        NodeSource.objects.filter(node__tree=tree),
        Generation.objects.filter(tree=tree),
        Call.objects.filter(tree=tree),
    ):
        _batches(rows)
    Import.objects.filter(tree=tree).update(tree=None)
    _erase_nodes(tree)
    Stream.objects.filter(name__in=names).delete()
    tree.delete()


def _batches(rows: Any) -> None:
    """Deletes rows a batch at a time, each in its own transaction: others may write between."""
    while True:
        ids = list(rows.order_by("-pk").values_list("pk", flat=True)[:BATCH])
        if not ids:
            return
        with transaction.atomic():
            rows.model.objects.filter(pk__in=ids)._raw_delete(rows.db)


def _erase_nodes(tree: Tree) -> None:
    """Nodes point at older ones only, so the newest go first."""
    while True:
        ids = list(Node.objects.filter(tree=tree).order_by("-id").values_list("id")[:BATCH])
        if not ids:
            return
        with transaction.atomic(), connection.cursor() as cursor:
            low, high = ids[-1][0], ids[0][0]
            cursor.execute(
                "DELETE FROM loom_node WHERE tree_id = %s AND id BETWEEN %s AND %s",
                [tree.pk, low, high],
            )
