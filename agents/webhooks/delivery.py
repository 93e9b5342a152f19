"""Sending events to webhooks: in order, each until it was accepted, by a worker.

The log is read from the cursor of each webhook, as its maker may read it. A webhook is held by one
worker at a time; a worker that ends in the middle leaves a lease, after which another sends the
same event again: receivers recognise it by its id.
"""

import json
import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Concat
from django.utils import timezone

from agents.providers.transport import CheckedTransport, Limits, Outgoing, exchange, the_loop
from agents.providers.values import BrokenConnection
from agents.webhooks import commands, signing
from agents.webhooks.models import Webhook
from loom import access
from loom.engine.models import Stream
from loom.errors import CommandError
from loom.trees.queries import event_log

log = logging.getLogger("heddle.webhooks")
LEASE = timedelta(seconds=60)
AT_ONCE = 50  # webhooks that one sweep serves: those that were served longest ago
ALL_S = 20.0  # seconds after which a sweep begins with no other webhook
EVENTS_AT_ONCE = 100
SWEEP_S = 10.0  # seconds that one sweep spends on one webhook
LIMITS = Limits(connect_s=5, first_s=15, idle_s=5, total_s=15, body_bytes=64 * 1024)


@dataclass(frozen=True)
class Refusal:
    """Why an event was not accepted; `is_final`: the receiver wants no more (410)."""

    reason: str
    is_final: bool = False


def sweep(*, failing: bool) -> int:
    """Sends what waits for webhooks whose last try failed, or for the others, so that those do not
    wait for the patience that is had with these; returns how many events were accepted."""
    accepted, until = 0, time.monotonic() + ALL_S
    for key in _behind(failing=failing):
        try:
            accepted += _serve(key)
        except Exception:  # the others all the same; this one is tried again
            log.warning("the webhook %s could not be served", key, exc_info=True)
        if time.monotonic() >= until:
            break
    return accepted


def _behind(*, failing: bool) -> list[int]:
    """The keys of the webhooks that have something to be sent now and that nobody is serving."""
    now = timezone.now()
    # A time further off than any pause is from a clock that was ahead.
    due = Q(due_at__isnull=True) | Q(due_at__lte=now) | Q(due_at__gt=now + signing.LONGEST_PAUSE)
    grove_stream = Concat(Value("grove:"), "grove__uid")
    tree_stream = Concat(Value("tree:"), "tree__uid")
    head = Stream.objects.filter(name=OuterRef("named"), head__gt=OuterRef("cursor"))
    rows = (
        Webhook.objects.filter(_free(now), due, stopped_at__isnull=True)
        .filter(Q(tries__gt=0) if failing else Q(tries=0))
        .alias(named=Case(When(tree__isnull=True, then=grove_stream), default=tree_stream))
        .filter(Exists(head))
        .order_by(F("delivered_at").asc(nulls_first=True), "id")
    )
    return list(rows.values_list("pk", flat=True)[:AT_ONCE])


def _free(now: datetime) -> Q:
    held = Q(lease_until__gte=now, lease_until__lte=now + LEASE)
    return Q(lease_until__isnull=True) | ~held


def _serve(key: int) -> int:
    """Sends the events of one webhook, for a while; returns how many were accepted."""
    now = timezone.now()
    row = Webhook.objects.filter(pk=key)
    if not row.filter(_free(now)).update(lease_until=now + LEASE):
        return 0
    try:
        # Read now: another worker may have sent some of it until it released the webhook.
        webhook = row.select_related("grove", "tree", "maker__user").first()
        return _send_waiting(webhook) if webhook is not None else 0
    finally:
        row.update(lease_until=None)


def _send_waiting(webhook: Webhook) -> int:
    accepted, until = 0, time.monotonic() + SWEEP_S
    while time.monotonic() < until and (events := _waiting(webhook)):
        for event in events:
            refusal = _send(webhook, event)
            if refusal is not None:
                _failed(webhook, refusal)
                return accepted
            accepted += _is_sent(webhook, event)
            # Somebody may have stopped or removed it meanwhile.
            if not _accepted(webhook, event) or time.monotonic() >= until:
                return accepted
    return accepted


def _waiting(webhook: Webhook) -> list[dict[str, Any]]:
    """The next events, as the maker of the webhook may read them; stops the webhook if they are no
    owner any more."""
    try:
        actor = access.get_actor(webhook.maker.user, webhook.grove)  # type: ignore[arg-type]
        access.demand_role(actor, "owner")
    except CommandError:
        _stop(webhook, "The owner who made this webhook no longer owns the grove.")
        return []
    # What was trimmed meanwhile cannot be sent any more.
    cursor = max(webhook.cursor, event_log.floor_of(webhook.stream))
    page = event_log.events_since(actor, webhook.stream, since=cursor, limit=EVENTS_AT_ONCE)
    return list(page["events"])


def _is_sent(webhook: Webhook, event: dict[str, Any]) -> bool:
    return event["kind"] != "hidden" and (not webhook.kinds or event["kind"] in webhook.kinds)


def _send(webhook: Webhook, event: dict[str, Any]) -> Refusal | None:
    """Sends one event; None if it was accepted, or is not to be sent."""
    if not _is_sent(webhook, event):
        return None
    body = body_of(webhook, event)
    event_id, at = f"{webhook.uid}_{event['seq']}", int(time.time())
    try:
        secrets = commands.secrets_of(webhook)
    except CommandError as refused:
        return Refusal(refused.message)
    headers = {
        "content-type": "application/json",
        "user-agent": "heddle",
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": signing.signature(secrets, event_id=event_id, at=at, body=body),
    }
    return the_loop().run(_post(Outgoing(webhook.url, headers, body)))


def body_of(webhook: Webhook, event: dict[str, Any]) -> bytes:
    """What is sent: `{type, timestamp, data: {grove, tree, stream, …the event}}`."""
    data = {
        "grove": webhook.grove.uid,
        "tree": webhook.tree.uid if webhook.tree else None,
        "stream": webhook.stream,
        **event,
    }
    payload = {"type": event["kind"], "timestamp": event["at"], "data": data}
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


async def _post(outgoing: Outgoing) -> Refusal | None:
    transport = CheckedTransport(tuple(settings.PROVIDER_ALLOW))
    try:
        async with exchange(transport, outgoing, LIMITS) as came:
            if 200 <= came.status < 300:
                return None
            return Refusal(f"It answered {came.status}.", is_final=came.status == 410)
    except BrokenConnection as broken:
        return Refusal(broken.failure.said)
    finally:
        await transport.aclose()


def _accepted(webhook: Webhook, event: dict[str, Any]) -> bool:
    """Notes how far the webhook has come; whether it goes on."""
    now = timezone.now()
    webhook.cursor = event["seq"]
    row = Webhook.objects.filter(pk=webhook.pk, cursor__lt=event["seq"])
    changed = row.update(
        cursor=event["seq"],
        tries=0,
        failing_since=None,
        due_at=None,
        error="",
        delivered_at=now,
        lease_until=now + LEASE,
    )
    return bool(changed) and Webhook.objects.filter(pk=webhook.pk, stopped_at=None).exists()


def _failed(webhook: Webhook, refusal: Refusal) -> None:
    """Notes a failed try, and when the next one is due."""
    now = timezone.now()
    since = webhook.failing_since or now
    is_over = now - since > signing.GIVEN_UP and webhook.tries >= signing.FEWEST_TRIES
    if refusal.is_final or is_over:
        _stop(webhook, refusal.reason)
        return
    Webhook.objects.filter(pk=webhook.pk).update(
        tries=F("tries") + 1,
        failing_since=since,
        due_at=now + signing.pause_after(webhook.tries + 1),
        error=refusal.reason[:200],
    )


def _stop(webhook: Webhook, why: str) -> None:
    Webhook.objects.filter(pk=webhook.pk).update(stopped_at=timezone.now(), error=why[:200])
