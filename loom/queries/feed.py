"""The log as somebody may read it: the events of a stream from a cursor."""

from itertools import accumulate
from typing import Any

from django.db.models import IntegerField, QuerySet, TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Length

from loom.access import Actor
from loom.models import Event, Stream
from loom.queries.nodes import with_texts
from loom.rules.hashes import instant
from loom.rules.permissions import Role

MAX_EVENTS = 1000
MAX_CHARACTERS = 16_000_000  # of payloads in one answer; one event may have more
Body = dict[str, Any]


def events_since(actor: Actor, stream: str, *, since: int, limit: int = MAX_EVENTS) -> Body:
    """`{events: [...], head}`: at most `limit` events after seq `since`, in order, no gaps.

    Fewer where they are very long: at the end is only who has the head. What the actor may
    not see comes as `{seq, kind: "hidden"}`. The head is read first, so that it is never
    ahead of what a next call would give. Four queries.
    """
    found = Stream.objects.filter(name=stream).values_list("id", "head").first()
    if found is None:
        return {"events": [], "head": 0}
    key, head = found
    rows = Event.objects.filter(stream=key, seq__gt=since).order_by("seq")
    rows = rows[: _affordable(rows, limit)]
    columns = rows.values_list("seq", "kind", "actor", "origin", "payload", "at")
    events = hydrated([event_body(*row) for row in columns])
    return {"events": [shown_to(actor, one) for one in events], "head": head}


def _affordable(rows: QuerySet[Event], limit: int) -> int:
    """How many of the rows to read at once: one at least, MAX_CHARACTERS at most."""
    # A text stands three times in the event as it is read: as text, content, and in the proof.
    text = Coalesce(Cast(KT("payload__node__length"), IntegerField()), 0)
    size = Length(Cast("payload", TextField())) + 3 * text
    sizes = rows.annotate(size=size).values_list("size", flat=True)[:limit]
    read = accumulate(sizes)
    return max(1, sum(1 for so_far in read if so_far <= MAX_CHARACTERS))


def event_body(  # noqa: PLR0917 (the columns of one row, in their order)
    seq: int, kind: str, actor: str, origin: str, payload: Any, at: Any
) -> Body:
    """One event as the API shows it."""
    return {
        "seq": seq,
        "kind": kind,
        "actor": actor,
        "origin": origin,
        "payload": payload,
        "at": instant(at),
    }


def hydrated(events: list[Body]) -> list[Body]:
    """The events with the texts of the nodes they tell of: each text is stored once, in its
    node. One query, none where no node was added."""
    added = [one for one in events if one["kind"] == "node.added"]
    bodies = with_texts([one["payload"]["node"] for one in added])
    for event, body in zip(added, bodies, strict=True):
        event["payload"] = {**event["payload"], "node": body}
    return events


def shown_to(actor: Actor, event: Body) -> Body:
    """The event, or where the actor may not see it only its place."""
    if is_hidden(event["kind"], actor.role):
        return hidden_body(event["seq"])
    return event


def hidden_body(seq: int) -> Body:
    """What stands in the place of an event that somebody may not see."""
    return {"seq": seq, "kind": "hidden"}


def is_hidden(kind: str, role: Role) -> bool:
    """Whether events of this kind are kept from members with this role.

    Invitations are for owners. What lies in a tree every member of its grove may see.
    """
    return kind.startswith("invitation.") and role != "owner"
