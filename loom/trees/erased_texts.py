"""Clears what other trees and groves keep of the texts of a tree that is being erased: replies of
steps and stored answers here; stashes, windows and requests that models were sent in the features
that keep them, which register here.

What somebody wrote of their own stays: the lines they gave, and nodes and documents of other
trees. What is cleared says `GONE`, the words for a text that is gone. Everything is done in batches
outside of the locks of trees, and again from the start if the worker dies.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from loom.engine.models import Receipt, Step, StepItem
from loom.language.ids import ids_in
from loom.language.refs import tree_named
from loom.text.quotations import GONE
from loom.text.shortening import plain
from loom.trees.models import Tree

BATCH = 500


Clearing = Callable[[Tree], None]
_clearing: list[Clearing] = []


def clears_texts(clearing: Clearing) -> Clearing:
    """Registers how another feature clears what it keeps elsewhere of the texts of an erased tree.
    Safe to repeat; called outside of a transaction."""
    _clearing.append(clearing)
    return clearing


ClearingSteps = Callable[[list[Step]], None]
_clearing_steps: list[ClearingSteps] = []


def clears_with_steps(clearing: ClearingSteps) -> ClearingSteps:
    """Registers what another feature clears together with the replies of steps, in the same
    transaction."""
    _clearing_steps.append(clearing)
    return clearing


def clear_elsewhere(tree: Tree) -> None:
    """Clears the texts of an erased tree outside of it. Safe to repeat."""
    for steps in _steps(tree):
        _clear_steps(steps)
    for clearing in _clearing:
        clearing(tree)


def batches(rows: QuerySet[Any], size: int) -> Iterator[list[Any]]:
    """The rows in the order of their ids, read with one short query for each batch."""
    rows, last = rows.order_by("pk"), 0
    while batch := list(rows.filter(pk__gt=last)[:size]):
        yield batch
        last = batch[-1].pk


def of_items(tree: Tree) -> Q:
    """The rows whose item is the tree or a node of it."""
    first, last = ids_in(tree.pk)
    return Q(item__gte=first, item__lte=last)


def touching(tree: Tree) -> QuerySet[Step]:
    """The steps elsewhere that touched the tree or a node of it."""
    items = StepItem.objects.filter(of_items(tree), step=OuterRef("pk"))
    return Step.objects.filter(Exists(items)).exclude(workspace__tree=tree)


def _steps(tree: Tree) -> Iterator[list[Step]]:
    """The steps elsewhere that read the tree, in batches: those that touched an item of it, and
    those of its grove whose reply names it, as older ones do that name no items."""
    named = Q(message__contains=tree.uid)
    if (title := own_title(tree)) is not None:
        # As replies name it, and as those of 0.1.0 did.
        former = f'tree:"{plain(tree.title)}"'
        named |= Q(message__contains=title) | Q(message__contains=former)
    naming = Step.objects.filter(named, workspace__tree__grove=tree.grove_id)
    naming = naming.filter(at__gte=tree.created_at).exclude(workspace__tree=tree)
    for rows in (touching(tree), naming):
        yield from batches(rows.select_related("workspace"), BATCH)


def own_title(tree: Tree) -> str | None:
    """How replies name the tree by its title; None if another tree of the grove has it, too."""
    others = Tree.objects.filter(grove=tree.grove_id, title=tree.title).exclude(pk=tree.pk)
    return tree_named(tree.title) if tree.title.strip() and not others.exists() else None


def _clear_steps(steps: list[Step]) -> None:
    """Clears the replies of the steps, what features made of them, and the stored answers."""
    keys = [step.pk for step in steps]
    with transaction.atomic():
        rows = Step.objects.filter(pk__in=keys)
        rows.exclude(message="").update(message=GONE)
        rows.update(quoted=None, hint="")
        for clearing in _clearing_steps:
            clearing(steps)
        _clear_receipts(steps)


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
            row.answer.pop("did", None)
            row.save(update_fields=["answer"])
