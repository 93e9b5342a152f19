"""Clears what other trees and groves keep of the texts of a tree that is being erased: replies of
steps, stashes, windows, stored answers, and requests that models were sent.

What somebody wrote of their own stays: the lines they gave, and nodes and documents of other
trees. What is cleared says `GONE`, the words for a text that is gone. Everything is done in batches
outside of the locks of trees, and again from the start if the worker dies.
"""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from loom.engine.models import Receipt, Step, StepItem
from loom.language.ids import ids_in
from loom.people.names import tree_named
from loom.text.quotations import GONE
from loom.transfer.models import Import, ImportPart
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree
from loom.turns.models import OPEN_TURN, SUMMARY, Call, Generation, Turn
from loom.workspace.models import Window

BATCH = 500
CALLS = 50  # each is unpacked
PATIENCE_S = 10.0  # for turns elsewhere that have read the tree; a worker stops them in about 1 s
LOOK_S = 0.2


def clear_elsewhere(tree: Tree) -> None:
    """Clears the texts of an erased tree outside of it. Safe to repeat."""
    views: dict[int, None] = {}
    for steps in _steps(tree):
        views.update(dict.fromkeys(step.workspace_id for step in steps if step.workspace_id))
        _clear_steps(steps)
    _clear_windows(Window.objects.filter(_of_items(tree)).exclude(workspace__tree=tree))
    _stop_turns(tree)
    _clear_calls(tree)
    ImportPart.objects.filter(tree=tree).update(title="", error=None)
    Import.objects.filter(Q(tree=tree) | Q(parts__tree=tree)).update(report={})


def _batches(rows: QuerySet[Any], size: int) -> Iterator[list[Any]]:
    """The rows in the order of their ids, read with one short query for each batch."""
    rows, last = rows.order_by("pk"), 0
    while batch := list(rows.filter(pk__gt=last)[:size]):
        yield batch
        last = batch[-1].pk


def _of_items(tree: Tree) -> Q:
    """The rows whose item is the tree or a node of it."""
    first, last = ids_in(tree.pk)
    return Q(item__gte=first, item__lte=last)


def _touching(tree: Tree) -> QuerySet[Step]:
    """The steps elsewhere that touched the tree or a node of it."""
    items = StepItem.objects.filter(_of_items(tree), step=OuterRef("pk"))
    return Step.objects.filter(Exists(items)).exclude(workspace__tree=tree)


def _steps(tree: Tree) -> Iterator[list[Step]]:
    """The steps elsewhere that read the tree, in batches: those that touched an item of it, and
    those of its grove whose reply names it, as older ones do that name no items."""
    named = Q(message__contains=tree.uid)
    if (title := _own_title(tree)) is not None:
        named |= Q(message__contains=title)
    naming = Step.objects.filter(named, workspace__tree__grove=tree.grove_id)
    naming = naming.filter(at__gte=tree.created_at).exclude(workspace__tree=tree)
    for rows in (_touching(tree), naming):
        yield from _batches(rows.select_related("workspace"), BATCH)


def _own_title(tree: Tree) -> str | None:
    """How replies name the tree by its title; None if another tree of the grove has it, too."""
    others = Tree.objects.filter(grove=tree.grove_id, title=tree.title).exclude(pk=tree.pk)
    return tree_named(tree.title) if tree.title.strip() and not others.exists() else None


def _clear_steps(steps: list[Step]) -> None:
    """Clears the replies of the steps, the windows that they opened, and the stored answers."""
    keys = [step.pk for step in steps]
    with transaction.atomic():
        rows = Step.objects.filter(pk__in=keys)
        rows.exclude(message="").update(message=GONE)
        rows.update(quoted=None, hint="")
        _clear_windows(Window.objects.filter(step__in=keys))
        _clear_receipts(steps)


def _clear_windows(rows: QuerySet[Window]) -> None:
    rows.exclude(text="").update(text=GONE)
    rows.update(nodes=[], place="")


def _clear_receipts(steps: Iterable[Step]) -> None:
    numbers: dict[tuple[int, int], set[int]] = {}
    for step in steps:
        if step.workspace is not None:
            whose = (step.workspace.participant_id, step.workspace.tree_id)
            numbers.setdefault(whose, set()).add(step.seq)
    for (participant, home), seqs in numbers.items():
        rows = Receipt.objects.filter(participant=participant, tree=home, answer__step__in=seqs)
        for row in rows:
            row.answer = {**row.answer, "reply": GONE, "refs": [], "quoted": None}
            row.save(update_fields=["answer"])


# Requests of models.


def _reading_turns(tree: Tree) -> QuerySet[Turn]:
    """The turns elsewhere that may have been sent a text of the tree: those of a workspace after
    one of its steps touched the tree."""
    first = (
        _touching(tree)
        .filter(workspace__participant=OuterRef("participant"), workspace__tree=OuterRef("tree"))
        .order_by()
        .values("workspace")
        .annotate(first=Min("at"))
        .values("first")
    )
    rows = Turn.objects.exclude(tree=tree)
    return rows.filter(Q(ended_at__isnull=True) | Q(ended_at__gte=first[:1])).filter(Exists(first))


def _stop_turns(tree: Tree) -> None:
    """Stops the turns that still go on: their next request would have the texts again. Waits for
    them for a while, because a call is stored when it ends."""
    reading = _reading_turns(tree).filter(status__in=OPEN_TURN)
    if not reading.exists():
        return
    Turn.objects.filter(pk__in=list(reading.values_list("pk", flat=True))).update(stop_asked=True)
    until = time.monotonic() + PATIENCE_S
    while reading.exists() and time.monotonic() < until:
        time.sleep(LOOK_S)


def _clear_calls(tree: Tree) -> None:
    """Clears the requests that had a text of the tree: those of turns that read it, and those of
    its grove that name it, as links and embeds do. An answer stays: it is the work of its model."""
    turns = _reading_turns(tree).values("pk")
    rows = Call.objects.exclude(tree=tree).exclude(request=b"")
    for calls in _batches(rows.filter(turn__in=turns).only("pk"), BATCH):
        _clear_requests([call.pk for call in calls])
    words = [tree.uid, *([title] if (title := _own_title(tree)) is not None else [])]
    written = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
    later = rows.filter(tree__grove=tree.grove_id, started_at__gte=tree.created_at)
    for calls in _batches(later.only("pk", "request"), CALLS):
        said = {call.pk: json.dumps(call.request, ensure_ascii=False) for call in calls}
        # A text within a text is escaped twice, so quotes are compared without their escapes.
        _clear_requests(
            key
            for key, text in said.items()
            if any(word.replace("\\", "") in text.replace("\\", "") for word in written)
        )


def _clear_requests(calls: Iterable[int]) -> None:
    keys = list(calls)
    if not keys:
        return
    with transaction.atomic():
        Call.objects.filter(pk__in=keys).update(request={"erased": GONE})
        made = Generation.objects.filter(call__in=keys, round=SUMMARY, about__isnull=False)
        items = [one for one in made.values_list("about", flat=True) if one is not None]
        grove_texts().forget_summaries(items)
