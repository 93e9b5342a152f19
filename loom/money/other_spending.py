"""Money that is spent on something other than a generation: a model that a program asked at the
gateway, a search of the web, vectors."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import F

from loom.money import spending
from loom.money.models import OtherSpending, Purpose
from loom.participants.prices import TokenCounts
from loom.people.models import Participant
from loom.trees.models import Tree

NO_TOKENS = TokenCounts()


@dataclass(frozen=True)
class OtherUse:
    """What a member spent money on: by which model, and in which tree, if any. `answers` is 1 for
    something that is asked, 0 for a correction of its cost, and -1 where it failed."""

    purpose: Purpose
    model: Participant | None = None
    tree: Tree | None = None
    counts: TokenCounts = NO_TOKENS
    answers: int = 0


def add(payer: Participant, day: date, nano: int | None, use: OtherUse) -> None:
    """Adds to what a member has spent on a day, in billionths of a dollar; a negative amount is
    given back. None: no price is known, and only tokens are counted. After `spending.lock`, as one
    row of a day holds all of its kind."""
    if nano:
        spending.add_spending(payer, day, nano)
    row, _ = OtherSpending.objects.get_or_create(
        payer=payer, day=day, purpose=use.purpose, model=use.model, tree=use.tree
    )
    changed: dict[str, Any] = {
        "answers": F("answers") + use.answers,
        "tokens_in": F("tokens_in") + use.counts.read,
        "tokens_out": F("tokens_out") + use.counts.wrote,
        "tokens_cached": F("tokens_cached") + use.counts.cached,
    }
    if nano is not None:
        changed["spent"] = nano if row.spent is None else F("spent") + nano
    OtherSpending.objects.filter(pk=row.pk).update(**changed)
