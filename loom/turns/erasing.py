"""What turns keep of an erased tree: its rows, and the requests elsewhere that had its texts."""

import json
import time
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from loom.text.quotations import GONE
from loom.trees.erased_texts import batches, clears_texts, own_title, touching
from loom.trees.erasing import erased_with_tree, stops_when_erased
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree
from loom.turns.models import OPEN_TURN, SUMMARY, Ask, Call, Generation, Turn

BATCH = 500
CALLS = 50  # each is unpacked
PATIENCE_S = 10.0  # for turns elsewhere that have read the tree; a worker stops them in about 1 s
LOOK_S = 0.2


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Questions, generations, calls and turns."""
    _release(tree)
    return [rows.objects.filter(tree=tree) for rows in (Ask, Generation, Call, Turn)]


def _release(tree: Tree) -> None:
    """Cuts what the rows refer to each other by, and to those that `promote` moved to or from this
    tree."""
    Turn.objects.filter(Q(tree=tree) | Q(generation__tree=tree)).update(generation=None)
    generations = Generation.objects.exclude(tree=tree)
    generations.filter(turn__tree=tree).update(turn=None)
    generations.filter(call__tree=tree).update(call=None)
    Call.objects.filter(turn__tree=tree).exclude(tree=tree).update(turn=None)


@stops_when_erased
def _stop_generations(tree: Tree) -> None:
    """Asks the generations of the tree to stop."""
    Generation.objects.filter(tree=tree).update(stop_asked=True)


@clears_texts
def _clear_requests_with(tree: Tree) -> None:
    """Stops the turns elsewhere that have read the tree, and clears their requests."""
    _stop_turns(tree)
    _clear_calls(tree)


def _reading_turns(tree: Tree) -> QuerySet[Turn]:
    """The turns elsewhere that may have been sent a text of the tree: those of a workspace after
    one of its steps touched the tree."""
    first = (
        touching(tree)
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
    for calls in batches(rows.filter(turn__in=turns).only("pk"), BATCH):
        _clear_requests([call.pk for call in calls])
    words = [tree.uid, *([title] if (title := own_title(tree)) is not None else [])]
    written = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
    later = rows.filter(tree__grove=tree.grove_id, started_at__gte=tree.created_at)
    for calls in batches(later.only("pk", "request"), CALLS):
        texts = {call.pk: json.dumps(call.request, ensure_ascii=False) for call in calls}
        # A text within a text is escaped twice, so quotes are compared without their escapes.
        _clear_requests(
            key
            for key, text in texts.items()
            if any(word.replace("\\", "") in text.replace("\\", "") for word in written)
        )


def _clear_requests(calls: Iterable[int]) -> None:
    keys = list(calls)
    if not keys:
        return
    with transaction.atomic():
        Call.objects.filter(pk__in=keys).update(request={"erased": GONE})
        generations = Generation.objects.filter(call__in=keys, round=SUMMARY, about__isnull=False)
        items = [item for item in generations.values_list("about", flat=True) if item is not None]
        grove_texts().forget_summaries(items)
