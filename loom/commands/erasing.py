"""What an erased tree leaves behind goes here, in batches: each ends its own transaction, so
that others write between them, and all of it may be stopped and run again."""

from typing import Any

from django.db import connection, transaction

from loom.log import streams
from loom.models import (
    ORDINAL_BITS,
    Call,
    Draft,
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
    Turn,
    VersionChoice,
    Workspace,
)

BATCH = 1000
NODES = 300  # each of them leaves the index of trigrams, too


def waiting() -> list[str]:
    """The uids of trees that are erased but not gone: to begin again after a restart.

    A tree that an import is still writing is hidden in the same way, and is not one.
    """
    rows = Tree.objects.filter(erasing_at__isnull=False)
    return list(rows.exclude(import__status="running").values_list("uid", flat=True))


def erase_rows(tree_uid: str) -> None:
    """Deletes all rows of an erased tree; nothing where it is gone or not erased."""
    tree = Tree.objects.filter(uid=tree_uid, erasing_at__isnull=False).first()
    if tree is None:
        return
    _let_go(tree)
    views = list(Workspace.objects.filter(tree=tree).values_list("uid", flat=True))
    names = [streams.name_of(tree), *(f"workspace:{uid}" for uid in views)]
    Stream.objects.filter(name__in=names).update(erasing=True)
    Turn.objects.filter(tree=tree).update(generation=None)  # the two point at each other
    for rows in (
        Event.objects.filter(stream__name__in=names),
        Step.objects.filter(workspace__tree=tree),
        Step.objects.filter(workspace=None, stream=streams.name_of(tree)),
        Receipt.objects.filter(tree=tree),
        VersionChoice.objects.filter(workspace__tree=tree),
        Draft.objects.filter(workspace__tree=tree),
        Workspace.objects.filter(tree=tree),
        Mark.objects.filter(tree=tree),
        Link.objects.filter(tree=tree),
        Generation.objects.filter(tree=tree),
        Call.objects.filter(tree=tree),
        Turn.objects.filter(tree=tree),
    ):
        _go(rows)
    _go_nodes(tree)
    with transaction.atomic():
        tree.delete()
        Stream.objects.filter(name__in=names).delete()


def _let_go(tree: Tree) -> None:
    """Leaves nothing outside that points in: views of other trees that stood here go home."""
    with transaction.atomic():
        strangers = Workspace.objects.filter(position__tree=tree).exclude(tree=tree)
        for view in strangers:
            strangers.filter(pk=view.pk).update(position=(view.tree_id << ORDINAL_BITS) + 1)
        VersionChoice.objects.filter(node__tree=tree).exclude(workspace__tree=tree).delete()
        Import.objects.filter(tree=tree).update(tree=None)


def _go(rows: Any) -> None:
    # Newest first: where rows of one table point at each other, they point back in time.
    while ids := list(rows.order_by("-pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            rows.model.objects.filter(pk__in=ids)._raw_delete(rows.db)


def _go_nodes(tree: Tree) -> None:
    newest_first = Node.objects.filter(tree=tree).order_by("-id").values_list("id", flat=True)
    while ids := list(newest_first[:NODES]):
        with transaction.atomic(), connection.cursor() as cursor:
            NodeSource.objects.filter(node__in=ids)._raw_delete(newest_first.db)
            # By hand: the trigger of the index must see each row, and Django would first
            # load them all.
            cursor.execute(
                "DELETE FROM loom_node WHERE tree_id = %s AND id BETWEEN %s AND %s",
                [tree.pk, ids[-1], ids[0]],
            )
