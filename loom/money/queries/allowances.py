"""What a member may spend in a day, what is left of it, and who can raise it."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Sum

from loom.money.days import today
from loom.money.grove_settings import daily_limit
from loom.money.models import DailySpending
from loom.participants.prices import NANO, dollars
from loom.people.models import Grove, Participant
from loom.turns.models import Generation


@dataclass(frozen=True)
class Left:
    """A member's money for one day, in billionths of a dollar. `limit` 0: there is none."""

    limit: int
    spent: int
    reserved: int

    @property
    def rest(self) -> int:
        """What can still be reserved."""
        return max(0, self.limit - self.spent - self.reserved)

    def body(self) -> dict[str, Any]:
        """As the API gives it; `left_usd` None: there is no limit."""
        return {
            "limit_usd": self.limit / NANO,
            "spent_usd": self.spent / NANO,
            "reserved_usd": self.reserved / NANO,
            "left_usd": self.rest / NANO if self.limit else None,
        }


def limit_of(grove: Grove) -> int:
    """The limit per day and member of a grove, in billionths of a dollar: that of its owners, or
    the operator's ceiling if that is lower; 0 means no limit."""
    own = daily_limit(grove.settings)
    return min(own or grove.ceiling, grove.ceiling or own)


def is_by_operator(grove: Grove) -> bool:
    """Whether the limit of a grove is the operator's ceiling, which its owners cannot raise."""
    own = daily_limit(grove.settings)
    return bool(grove.ceiling) and (not own or own >= grove.ceiling)


def who_can_raise(grove: Grove) -> str:
    """Who can allow more than the limit of a grove, for a hint: its owners as far as the ceiling of
    the operator, or an operator where that ceiling is what refuses."""
    if is_by_operator(grove):
        return "the operator of this installation set this limit, and only they can raise it"
    if grove.ceiling:
        return (
            f"an owner can raise it under Money, to {dollars(grove.ceiling)} at most, "
            "which is the operator's limit"
        )
    return "an owner can raise it under Money"


def left_of(person: Participant, day: date) -> Left:
    """What a member has spent and reserved on a day."""
    rows = DailySpending.objects.filter(participant=person, day=day)
    spent = rows.values_list("spent", flat=True)
    held = Generation.objects.filter(payer=person, day=day, ended_at__isnull=True)
    reserved = held.aggregate(all=Sum("reserved"))["all"]
    return Left(limit_of(person.grove), spent.first() or 0, reserved or 0)


def left_body(person: Participant) -> dict[str, Any]:
    """What a member has spent, reserved and left today; `left_usd` None: there is no limit."""
    return left_of(person, today()).body()
