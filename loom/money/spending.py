"""Money: reserved before a call and counted after it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from django.db import transaction
from django.db.models import F

from loom.errors import CommandError, require
from loom.money.days import today
from loom.money.models import DailySpending
from loom.money.queries.allowances import left_of, limit_of, who_can_raise
from loom.participants.prices import Prices, TokenCounts, counts_of, dollars, prices_from, prices_of
from loom.people.models import Grove, Participant
from loom.platform.prepared_queries import Given, PreparedQuery, lock_rows
from loom.turns.models import Call, Generation

USUAL_TOKENS = 1024  # reserved for an answer without a limit, and added when used up
FEWEST_TOKENS = 32  # an answer is not started with fewer
AROUND = 16  # tokens that a provider adds around a request
MARGIN = 1.2  # models other than the one that the estimate fits need somewhat more tokens


@dataclass(frozen=True)
class CandidateRequest:
    """A request for candidates from one participant: how many and how long."""

    participant: Participant
    many: int
    tokens: int | None


@dataclass(frozen=True)
class Share:
    """The part of one candidate: its prices, the tokens it reads, and what is reserved."""

    prices: dict[str, float] | None
    reading: int
    reserved: int


def reserve(
    payer: Participant, requests: Sequence[CandidateRequest], path_tokens: int
) -> tuple[date, list[Share]]:
    """The day, and a share for one candidate of each request. If the rest of the day's limit is too
    small for the full lengths, each gets less. Needs a transaction, which also stores the
    generations.

    Raises CommandError LIMIT_EXCEEDED if the rest is too small even for short answers.
    """
    day = today()
    costs = [_cost(request, path_tokens) for request in requests]
    if not any(cost.full for cost in costs) or not limit_of(payer.grove):
        return day, [Share(cost.prices, cost.reading, 0) for cost in costs]
    lock(payer, day)
    rest = left_of(payer, day).rest
    least = sum(cost.least * request.many for cost, request in zip(costs, requests, strict=True))
    full = sum(cost.full * request.many for cost, request in zip(costs, requests, strict=True))
    if least > rest:
        raise _too_expensive(least, rest, payer.grove)
    part = 1.0 if full <= rest else (rest - least) / (full - least)
    return day, [
        Share(cost.prices, cost.reading, cost.least + int((cost.full - cost.least) * part))
        for cost in costs
    ]


def most_of(request: CandidateRequest, path_tokens: int) -> Share:
    """What one candidate of a request may use at most; nothing is reserved."""
    cost = _cost(request, path_tokens)
    return Share(cost.prices, cost.reading, cost.full)


@dataclass(frozen=True)
class _Cost:
    prices: dict[str, float] | None
    reading: int
    least: int = 0
    full: int = 0


def _cost(request: CandidateRequest, path_tokens: int) -> _Cost:
    agent = request.participant
    own = len(agent.persona.encode()) // 4
    reading = min(round((path_tokens + own) * MARGIN) + AROUND, agent.context_limit)
    prices = prices_of(agent)
    if prices is None:
        return _Cost(None, reading)
    length = request.tokens or agent.max_tokens or USUAL_TOKENS
    read = prices.reading(reading)
    return _Cost(
        prices.body(),
        reading,
        least=read + prices.writing(min(FEWEST_TOKENS, length)),
        full=read + prices.writing(length),
    )


def _too_expensive(least: int, rest: int, grove: Grove) -> CommandError:
    return CommandError(
        "LIMIT_EXCEEDED",
        f"This needs at least {dollars(least)}, but only {dollars(rest)} of today's limit is left.",
        hint="ask for fewer, or from a shorter path; the limit is reset at 00:00 UTC; "
        + who_can_raise(grove),
    )


def lock(payer: Participant, day: date) -> None:
    """Locks a member's money of a day until the end of the transaction."""
    row = DailySpending.objects.select_for_update().filter(participant=payer, day=day)
    if not row.exists():
        DailySpending.objects.get_or_create(participant=payer, day=day)
        row.first()


_PARTS = 4  # of what is left of a day, one is reserved ahead


def more(generation_uid: str, *, lease: str, needed: int) -> int | None:
    """The amount that a running generation has reserved, once it is at least `needed`; None if the
    day's limit is too low, and the stream has to be cut off."""
    with transaction.atomic():
        # The row before the money of its payer, as in `settle`.
        lock_rows(Generation, uid=generation_uid)
        row = _held(generation_uid, lease)
        if row is None or row.payer is None or row.day is None:
            return None
        lock(row.payer, row.day)
        left = left_of(row.payer, row.day)
        prices = prices_from(row.prices)
        step = prices.writing(USUAL_TOKENS) if prices else 0
        missing = needed - row.reserved
        if left.limit:
            if missing > left.rest:
                return None
            # Only a part of the rest: answers that run beside it may need more too.
            step = min(step, (left.rest - missing) // _PARTS)
        granted = missing + step
        Generation.objects.filter(pk=row.pk).update(reserved=F("reserved") + granted)
        return row.reserved + granted


def _held(generation_uid: str, lease: str) -> Generation | None:
    rows = Generation.objects.select_related("payer__grove")
    return rows.filter(uid=generation_uid, lease=lease, status="running").first()


def settle(row: Generation, text: str, wrote: int, *, is_whole: bool) -> None:
    """Sets the cost of an ending generation: by the provider's usage if it reported any other than
    zeros, otherwise by the estimated tokens of its input and the tokens that arrived. The caller
    stores the row in this transaction."""
    counts = counts_of(row.usage)
    if counts.is_empty:
        counts = _estimated(row, text, wrote)
    if row.error is not None or not is_whole:  # the usage of a broken stream is too low
        counts = replace(counts, wrote=max(counts.wrote, wrote))
    row.tokens_in, row.tokens_out = counts.read, counts.wrote
    row.tokens_cached = counts.cached
    row.reserved = 0
    prices = prices_from(row.prices)
    if prices is None or row.payer is None or row.day is None:
        return
    lost, row.spent = row.spent or 0, prices.of(counts)
    _spend(row, row.spent)
    row.spent += lost


def _estimated(row: Generation, text: str, wrote: int) -> TokenCounts:
    """A call that began has read the path, unless it was refused before any text arrived."""
    refused = row.error is not None and not text
    if row.call_id is None or refused:
        return TokenCounts()
    return TokenCounts(row.reading, max(wrote, estimate(text)))


def estimate(text: str) -> int:
    """About how many tokens a text has: a quarter of its bytes."""
    return -(-len(text.encode()) // 4)


def _spend(row: Generation, nano: int) -> None:
    payer, day = require(row.payer, "who pays"), require(row.day, "the day of spending")
    lock(payer, day)
    add_spending(payer, day, nano)


def add_spending(payer: Participant, day: date, nano: int) -> None:
    """Adds to what a member has spent on a day; a negative amount is given back. The row is made by
    `lock`."""
    DailySpending.objects.filter(participant=payer, day=day).update(spent=F("spent") + nano)


_SHARING = PreparedQuery(
    lambda: (
        Generation.objects.select_related("payer__grove", "node")
        .filter(call=Given("call"))
        .order_by("index")
    )
)


def share_out(call: Call, usage: dict[str, Any]) -> None:
    """Corrects the costs of the candidates of one answer if the provider only counted them
    together: the first one read the input for all. Needs a transaction."""
    lock_rows(Generation, call=call.pk)
    rows = _SHARING.all(call=call.pk)
    counts = counts_of(usage)
    if len(rows) < 2 or not counts.read:
        return
    words = [max(1, estimate(row.shown)) for row in rows]
    left = counts.wrote
    for place, (row, size) in enumerate(zip(rows, words, strict=True)):
        last = place == len(rows) - 1
        wrote = left if last else min(left, round(counts.wrote * size / sum(words)))
        left -= wrote
        first = place == 0
        _correct(
            row,
            TokenCounts(counts.read, wrote, counts.cached, counts.kept)
            if first
            else TokenCounts(0, wrote),
        )


def _correct(row: Generation, counts: TokenCounts) -> None:
    prices = prices_from(row.prices)
    changed: dict[str, int] = {
        "tokens_in": counts.read,
        "tokens_out": counts.wrote,
        "tokens_cached": counts.cached,
    }
    if prices is not None and row.spent is not None:
        changed["spent"] = prices.of(counts)
        _spend(row, changed["spent"] - row.spent)
    Generation.objects.filter(pk=row.pk).update(**changed)


def lose(row: Generation) -> bool:
    """Counts a call whose worker was lost before any text arrived: its path was sent, and no usage
    was reported. Returns whether the day's limit allows another attempt. Needs a transaction."""
    prices = prices_from(row.prices)
    if prices is None or row.payer is None or row.day is None or row.call_id is None:
        return True
    cost = prices.reading(row.reading)
    _spend(row, cost)
    row.spent = (row.spent or 0) + cost
    Generation.objects.filter(pk=row.pk).update(spent=row.spent)
    left = left_of(row.payer, row.day)
    return not left.limit or left.spent + left.reserved <= left.limit


def used_up(grove: Grove) -> CommandError:
    """The error of a stream that was cut off, or not started again."""
    return CommandError(
        "LIMIT_EXCEEDED",
        "Today's limit is used up.",
        hint=f"the limit is reset at 00:00 UTC; {who_can_raise(grove)}",
    )


def allowed(row: Generation) -> Prices | None:
    """The prices by which a running stream is checked; None if there is no limit."""
    return prices_from(row.prices) if row.reserved else None
