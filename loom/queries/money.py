"""Money: what a participant's tokens cost, and what is left of a member's day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from django.db import connection
from django.db.models import Sum

from loom.access import Actor
from loom.models import Generation, Grove, Node, Participant, Purse, Tree, Workspace
from loom.queries.path import path_ids
from loom.queries.rows import fetch, listed
from loom.rules import prices as table
from loom.rules.prices import NANO, Prices

DAILY_USD = 1.0  # the default of a grove's setting


@dataclass(frozen=True)
class Left:
    """A member's money of one day, in billionths of a dollar. `limit` 0: there is none."""

    limit: int
    spent: int
    reserved: int

    @property
    def rest(self) -> int:
        """What may still be reserved."""
        return max(0, self.limit - self.spent - self.reserved)


def today() -> date:
    """The day that money is counted by."""
    return datetime.now(UTC).date()


def prices_of(participant: Participant) -> Prices | None:
    """What an owner set, else what the price table says; None where no price is known."""
    own = table.prices_from(participant.prices)
    return own or table.listed(participant.model_ref, participant.base_url)


def caches_from(participant: Participant) -> int | None:
    """From how many tokens on its provider keeps a prompt's beginning at a lower price; None
    where that is not known, or is no cheaper."""
    least = (participant.prices or {}).get("caches_from") or table.caches_from(
        participant.model_ref
    )
    prices = prices_of(participant)
    return int(least) if least and prices is not None and prices.caching_pays else None


def limit_of(grove: Grove) -> int:
    """The grove's limit a day and member; 0: there is none."""
    return round(float(grove.settings.get("daily_budget_usd", DAILY_USD)) * NANO)


def left_of(person: Participant, day: date) -> Left:
    """What a member has spent and reserved on a day."""
    spent = Purse.objects.filter(participant=person, day=day).values_list("spent", flat=True)
    held = Generation.objects.filter(payer=person, day=day, ended_at__isnull=True)
    reserved = held.aggregate(all=Sum("reserved"))["all"]
    return Left(limit_of(person.grove), spent.first() or 0, reserved or 0)


def path_tokens(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> int:
    """About how many tokens the path to `node` has: a quarter of its bytes, which is right
    for English and too many rather than too few for other scripts."""
    ids = [version for _, version in path_ids(actor, tree, workspace, node)]
    return -(-bytes_of(ids) // 4)


def bytes_of(nodes: Iterable[int]) -> int:
    """The bytes of the texts of nodes together."""
    size = (
        "octet_length(text)" if connection.vendor == "postgresql" else "length(CAST(text AS BLOB))"
    )
    rows = fetch(f"SELECT SUM({size}) FROM loom_node WHERE id IN ({listed(nodes)})")
    return int(rows[0][0] or 0)
