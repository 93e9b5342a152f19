"""The embedder of a grove: the embedded one, or an endpoint that its owners choose; stopping and
going on; and the money of an endpoint."""

from datetime import date
from typing import Annotated, Any

from django.db import transaction
from django.db.models import F

from loom.access import Actor
from loom.embedding import embedders
from loom.embedding.embedders import EmbedderFailed
from loom.engine import optional_cache
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.meaning.models import EmbedderSettings, VectorBlock, VectorState
from loom.money import other_spending, spending
from loom.money.days import today
from loom.money.models import Purpose
from loom.money.other_spending import OtherUse
from loom.money.queries.allowances import left_of
from loom.participants.commands import demand_callable
from loom.participants.prices import NANO, TokenCounts, dollars
from loom.participants.provider_keys import allowed_addresses, open_sealed, seal, sendable
from loom.people.models import Grove
from loom.trees.models import Tree

MILLION = 1_000_000
MOST_PRICE = 1_000  # dollars for a million tokens
MOST_WOKEN = 1_000  # trees that are taken up at once when an owner goes on


class NewEmbedder(Args):
    """An endpoint that makes vectors: the name of its model, its address (such as https://…/v1),
    its key (None: the stored one of the same address), whether a private address is allowed, and
    the price of a million tokens."""

    model: str
    base_url: str
    api_key: Annotated[str | None, Secret()] = None
    allow_private: bool = False
    price_usd: float = 0


class NoArguments(Args):
    """None: a grove has one embedder."""


def has_embedder() -> bool:
    """Whether any grove has an embedder; without one nothing has to be looked for."""
    return embedders.embedded() is not None or EmbedderSettings.objects.exclude(model="").exists()


def settings_in(grove: Grove) -> EmbedderSettings:
    """How the grove gets its vectors; what nobody changed is not stored."""
    row = EmbedderSettings.objects.filter(grove=grove).first()
    return row if row is not None else EmbedderSettings(grove=grove)


def set_embedder(actor: Actor, args: NewEmbedder) -> EmbedderSettings:
    """Has an endpoint make the vectors of a grove. For owners."""
    return execute(actor, actor.grove, _set_embedder, args)


@action("set_embedder", stream="grove", role="owner")
def _set_embedder(change: RunningAction, args: NewEmbedder) -> EmbedderSettings:
    """Has an endpoint make the vectors of the grove."""
    model, url = args.model.strip(), args.base_url.strip().rstrip("/")
    if not model or len(model) > 100:
        problem = "A model of embeddings has a name of at most 100 characters."
        raise CommandError("INVALID_SYNTAX", problem, hint="such as text-embedding-3-small")
    if not url:
        problem = "The endpoint needs an address."
        raise CommandError("INVALID_SYNTAX", problem, hint="such as https://api.openai.com/v1")
    demand_callable(change.actor, url, allow_private=args.allow_private)
    if not 0 <= args.price_usd <= MOST_PRICE:
        problem = f"A million tokens cost from 0 to {MOST_PRICE:,} dollars."
        raise CommandError("INVALID_SYNTAX", problem, hint="0: the price is not known")
    before = settings_in(change.grove)
    sealed = before.sealed_key if before.base_url == url else ""
    if args.api_key is not None:
        key = sendable(args.api_key)
        sealed = seal(key, url) if key else ""
    fields = {
        "model": model,
        "base_url": url,
        "allow_private": args.allow_private,
        "sealed_key": sealed,
        "price": round(args.price_usd * NANO),
        "payer": change.actor.person,
        "is_stopped": False,
    }
    named = EmbedderSettings(model=model, base_url=url)
    if before.name != named.name:
        fields["dimensions"] = 0
        _forget_vectors(change.grove)
    row, _ = EmbedderSettings.objects.update_or_create(grove=change.grove, defaults=fields)
    _say(change, row)
    return row


def remove_embedder(actor: Actor) -> EmbedderSettings:
    """Goes back to the embedded embedder. For owners."""
    return execute(actor, actor.grove, _remove_embedder, NoArguments())


@action("remove_embedder", stream="grove", role="owner")
def _remove_embedder(change: RunningAction, args: NoArguments) -> EmbedderSettings:
    """Goes back to the embedded embedder, and forgets the key."""
    if settings_in(change.grove).model:
        _forget_vectors(change.grove)
    fields = {"model": "", "base_url": "", "sealed_key": "", "price": 0, "dimensions": 0}
    row, _ = EmbedderSettings.objects.update_or_create(
        grove=change.grove, defaults={**fields, "allow_private": False, "is_stopped": False}
    )
    _say(change, row)
    return row


def stop_indexing(actor: Actor) -> EmbedderSettings:
    """Makes no more vectors, until an owner goes on. For owners."""
    return execute(actor, actor.grove, _stop_indexing, NoArguments())


@action("stop_indexing", stream="grove", role="owner")
def _stop_indexing(change: RunningAction, args: NoArguments) -> EmbedderSettings:
    """Makes no more vectors in the grove; a batch that is being made is the last."""
    return _stopped(change, is_stopped=True)


def resume_indexing(actor: Actor) -> EmbedderSettings:
    """Goes on making vectors. For owners."""
    return execute(actor, actor.grove, _resume_indexing, NoArguments())


@action("resume_indexing", stream="grove", role="owner")
def _resume_indexing(change: RunningAction, args: NoArguments) -> EmbedderSettings:
    """Goes on making vectors in the grove, from where it was stopped."""
    return _stopped(change, is_stopped=False)


def _stopped(change: RunningAction, *, is_stopped: bool) -> EmbedderSettings:
    row, _ = EmbedderSettings.objects.update_or_create(
        grove=change.grove, defaults={"is_stopped": is_stopped}
    )
    _say(change, row)
    _wake(change.grove)
    return row


def _forget_vectors(grove: Grove) -> None:
    """Has every tree of the grove indexed from its beginning. The vectors of texts are deleted tree
    by tree, when it is indexed by another embedder."""
    for model in (VectorState, VectorBlock):
        model.objects.filter(tree__grove=grove).delete()
    _wake(grove)


def _wake(grove: Grove) -> None:
    """Lets the sweeper enqueue trees that wait because an embedder failed or was stopped."""
    uids = Tree.objects.filter(grove=grove).values_list("uid", flat=True)[:MOST_WOKEN]
    optional_cache.forget([waiting_key(uid) for uid in uids])


def waiting_key(uid: str) -> str:
    """The key in the cache by which a tree was enqueued."""
    return f"meaning:{uid}"


def _say(change: RunningAction, row: EmbedderSettings) -> None:
    grove = Grove.objects.get(pk=change.grove.pk)
    body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
    change.writer.append("grove.changed", {**body, "embedder": embedder_body(row)})


def embedder_body(row: EmbedderSettings) -> dict[str, Any]:
    """The embedder of a grove as the API shows it, without its key; `model` is "" for the embedded
    one."""
    return {
        "model": row.model,
        "base_url": row.base_url,
        "has_key": bool(row.sealed_key),
        "allow_private": row.allow_private,
        "price_usd": row.price / NANO,
        "tokens": row.tokens,
        "spent_usd": row.spent / NANO,
        "is_stopped": row.is_stopped,
    }


def connection_to(row: EmbedderSettings) -> tuple[str, tuple[str, ...]]:
    """(the key, the private addresses that may be called) of an endpoint. EmbedderFailed if the key
    can't be read."""
    try:
        key = open_sealed(row.sealed_key, row.base_url) if row.sealed_key else ""
    except CommandError as refused:
        raise EmbedderFailed(refused.message) from None
    return key, allowed_addresses(row.base_url, allow_private=row.allow_private)


def cost_of(row: EmbedderSettings, tokens: int) -> int:
    """What so many tokens cost, in billionths of a dollar."""
    return row.price * tokens // MILLION


def reserve(row: EmbedderSettings, tokens: int) -> date:
    """Reserves the price of so many tokens from the day of who pays, and returns that day.
    EmbedderFailed if too little of it is left."""
    day, cost = today(), cost_of(row, tokens)
    if cost and row.payer is not None:
        with transaction.atomic():
            spending.lock(row.payer, day)
            left = left_of(row.payer, day)
            if left.limit and cost > left.rest:
                raise EmbedderFailed(
                    f"{row.payer.name} pays for vectors, and only {dollars(left.rest)} of their "
                    "limit of today is left."
                )
            other_spending.add(row.payer, day, cost, OtherUse(Purpose.VECTORS, answers=1))
    return day


def settle(row: EmbedderSettings, day: date, *, reserved: int, tokens: int) -> None:
    """Counts what a call has read (0: it failed) instead of the `reserved` tokens."""
    cost = cost_of(row, tokens)
    more = cost - cost_of(row, reserved)
    with transaction.atomic():
        if (cost or more) and row.payer is not None:
            spending.lock(row.payer, day)
            use = OtherUse(
                Purpose.VECTORS, counts=TokenCounts(tokens, 0), answers=0 if tokens else -1
            )
            other_spending.add(row.payer, day, more, use)
        if tokens:
            EmbedderSettings.objects.filter(pk=row.pk).update(
                tokens=F("tokens") + tokens, spent=F("spent") + cost
            )


def demand_dimensions(row: EmbedderSettings, dimensions: int) -> None:
    """Notes how long the vectors of an endpoint are. EmbedderFailed if they were others before."""
    rows = EmbedderSettings.objects.filter(pk=row.pk)
    if not rows.filter(dimensions=dimensions).exists() and not rows.filter(dimensions=0).update(
        dimensions=dimensions
    ):
        raise EmbedderFailed(
            "The endpoint gives vectors of another length now: an owner has to set it again."
        )
