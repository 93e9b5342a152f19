"""Erasing a tree: its rows are deleted in batches by a worker."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import SET_NULL, Exists, F, ManyToOneRel, Model, OuterRef, QuerySet

from loom import access
from loom.engine import optional_cache, streams
from loom.engine.models import Event, Receipt, Step, StepItem, Stream
from loom.engine.sweeps import sweeps
from loom.language.ids import ORDINAL_BITS, ids_in
from loom.platform.deletes import delete_without_loading
from loom.platform.upkeep import empty_log
from loom.trees.erased_texts import clear_elsewhere
from loom.trees.models import (
    BranchSettings,
    Chain,
    Draft,
    Item,
    NodeSource,
    Tree,
    VersionChoice,
    Workspace,
)
from loom.trees.queries.lookup import nodes_in

BATCH = 1000
NODES = 300  # each is removed from the trigram index, too
_FULL_LOG = "tasks:full_log"  # set while words of an erased tree may be in the database's log


Belonging = Callable[[Tree], Iterable[QuerySet[Any]]]
_belonging: list[Belonging] = []


def erased_with_tree(belonging: Belonging) -> Belonging:
    """Registers rows of another feature that are deleted with a tree, in their order. Those of a
    feature go before those of the features that it is built upon, and all before the tree's."""
    _belonging.append(belonging)
    return belonging


Stopping = Callable[[Tree], None]
_stopping: list[Stopping] = []


def stops_when_erased(stopping: Stopping) -> Stopping:
    """Registers how another feature stops what is still going on in a tree when somebody erases
    it, in the transaction of the action."""
    _stopping.append(stopping)
    return stopping


def heir_of(tree: Tree) -> Tree | None:
    """The tree of the grove that keeps what was given to documents in an erased one: the first that
    all members see. None for a tree that not all could see, a sandbox too: it would be revealed."""
    rows = Tree.objects.filter(grove=tree.grove_id, erasing_at=None, sandbox_of=None)
    seen_by_all = rows.exclude(access.hidden_from_some()).exclude(pk=tree.pk)
    is_seen = tree.sandbox_of_id is None and not access.is_hidden_from_some(tree.pk)
    return (
        seen_by_all.order_by(F("archived_at").asc(nulls_first=True), "pk").first()
        if is_seen
        else None
    )


def stop_work(tree: Tree) -> None:
    """Stops what is going on in a tree that somebody erases."""
    for stopping in _stopping:
        stopping(tree)


def waiting(*, before: datetime | None = None) -> list[str]:
    """The uids of trees that were marked as erased, `before` a moment, but are still stored. A tree
    that an import is still writing is hidden in the same way, but is not among them.
    """
    rows = Tree.objects.filter(erasing_at__isnull=False)
    rows = rows.filter(erasing_at__lt=before) if before else rows
    return list(rows.exclude(import__status="running").values_list("uid", flat=True))


def erase_rows(tree_uid: str) -> None:
    """Deletes all rows of an erased tree; does nothing if it is gone or not erased."""
    tree = Tree.objects.filter(uid=tree_uid, erasing_at__isnull=False).first()
    if tree is None:
        return
    clear_elsewhere(tree)
    _release(tree)
    views = list(Workspace.objects.filter(tree=tree).values_list("uid", flat=True))
    names = [streams.name_of(tree), *(f"workspace:{uid}" for uid in views)]
    Stream.objects.filter(name__in=names).update(erasing=True)
    # Apps register in the order of config/settings.py, each after those it is built upon.
    for belonging in reversed(_belonging):
        for rows in belonging(tree):
            _delete_in_batches(rows)
    for rows in (
        Event.objects.filter(stream__name__in=names),
        StepItem.objects.filter(step__workspace__tree=tree),
        StepItem.objects.filter(step__workspace=None, step__stream=streams.name_of(tree)),
        Step.objects.filter(workspace__tree=tree),
        Step.objects.filter(workspace=None, stream=streams.name_of(tree)),
        Receipt.objects.filter(tree=tree),
        VersionChoice.objects.filter(workspace__tree=tree),
        Draft.objects.filter(workspace__tree=tree),
        Workspace.objects.filter(tree=tree),
        BranchSettings.objects.filter(tree=tree),
    ):
        _delete_in_batches(rows)
    _delete_nodes(tree)
    _delete_in_batches(_unreferenced(tree))
    with transaction.atomic():
        tree.delete()
        Stream.objects.filter(name__in=names).delete()


def empty_log_soon() -> None:
    """Empties the log of the database, in which the words of what was erased may be; the sweeper
    does it if somebody reads the log just now."""
    if not empty_log():
        optional_cache.keep(_FULL_LOG, 1, None)


@sweeps
def empty_log_again() -> int:
    """Empties the log of the database if it was read when a tree had been erased; returns how often
    it has done so."""
    if optional_cache.get(_FULL_LOG) is None:
        return 0
    optional_cache.forget([_FULL_LOG])  # first, as another erasing can ask for it meanwhile
    if empty_log():
        return 1
    optional_cache.keep(_FULL_LOG, 1, None)
    return 0


def _release(tree: Tree) -> None:
    """Removes references from outside: workspaces of other trees with their position here move to
    their own root."""
    with transaction.atomic():
        strangers = Workspace.objects.filter(position__tree=tree).exclude(tree=tree)
        for view in strangers:
            strangers.filter(pk=view.pk).update(position=(view.tree_id << ORDINAL_BITS) + 1)
        VersionChoice.objects.filter(node__tree=tree).exclude(workspace__tree=tree).delete()


def _delete_in_batches(rows: Any) -> None:
    # Newest first: rows of one table only point at older rows.
    # Their ids are read once: where only other columns find them, each batch would read all again.
    newest_first = rows.order_by("-pk").values_list("pk", flat=True)
    while ids := array("q", newest_first.iterator(chunk_size=BATCH)):
        for first in range(0, len(ids), BATCH):
            some = list(ids[first : first + BATCH])
            with transaction.atomic():
                _release_from(rows.model, some)
                delete_without_loading(rows.model.objects.filter(pk__in=some))


def _release_from(model: type[Model], keys: list[int]) -> None:
    """Removes what rows that stay name of those, such as the trail that another was forked from."""
    for relation in model._meta.related_objects:
        if relation.on_delete is SET_NULL:
            column = relation.field.name
            rows = relation.related_model._default_manager.filter(**{f"{column}__in": keys})
            rows.update(**{column: None})


def _unreferenced(tree: Tree) -> QuerySet[Item]:
    """The items of the tree that nothing points at any more. The others stay, so that links from
    other trees are shown as broken."""
    items = Item.objects.filter(pk__range=ids_in(tree.pk))
    for rows, column in _pointing():
        items = items.exclude(Exists(rows._default_manager.filter(**{column: OuterRef("pk")})))
    return items


def _pointing() -> Iterator[tuple[type[Model], str]]:
    """Every table that points at items, of whatever feature, with the name of its column."""
    for relation in Item._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel):
            yield relation.related_model, relation.field.name


def _delete_nodes(tree: Tree) -> None:
    newest_first = nodes_in(tree.pk).order_by("-id").values_list("id", flat=True)
    while ids := list(newest_first[:NODES]):
        with transaction.atomic(), connection.cursor() as cursor:
            delete_without_loading(NodeSource.objects.filter(node__in=ids))
            delete_without_loading(Chain.objects.filter(pk__range=(ids[-1], ids[0])))
            # By hand: the trigger of the index must see each row, and Django would first
            # load them all.
            cursor.execute("DELETE FROM trees_node WHERE id BETWEEN %s AND %s", [ids[-1], ids[0]])


# Public links: an owner lets anybody read a tree for some days, and can revoke the link.


MAX_DAYS = 365
MAX_OPEN = 50
