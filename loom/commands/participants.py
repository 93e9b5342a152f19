"""Model participants: who may be asked to write, with what settings, and whose key."""

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from loom.access import Actor
from loom.commands.groves import demand_name
from loom.commands.sealing import seal
from loom.log import streams
from loom.models import Participant
from loom.rules.addresses_allowed import why_refused
from loom.rules.permissions import NAMES, OF_ROLE, broken_rule
from loom.rules.refusals import Refused

MAX_NAME = 80
# Fields that may be set, in the words of MM §2.1; the rest of a participant is derived.
PLAIN = (
    "name",
    "model_ref",
    "base_url",
    "endpoint",
    "capabilities",
    "persona",
    "temperature",
    "max_tokens",
    "stop",
    "context_limit",
    "archetype",
    "authority",
    "budget",
    "tool_filter",
)


@dataclass(frozen=True)
class Changes:
    """What a caller sent: `fields` of `PLAIN`; a new key, or None to leave the old one;
    permissions and loom_aware, None where they were not sent."""

    fields: dict[str, Any] = field(default_factory=dict)
    api_key: str | None = None
    permissions: list[str] | None = None
    loom_aware: bool | None = None


def participant_body(one: Participant, role: str = "") -> dict[str, Any]:
    """A participant as API and events show it; a key is shown as `has_key` only."""
    permissions = one.permissions
    if one.kind == "human":
        permissions = [name for letter, name in NAMES.items() if letter in _letters(role)]
    return {
        "id": one.uid,
        "grove": one.grove.uid,
        "kind": one.kind,
        **{name: getattr(one, name) for name in PLAIN},
        "loom_aware": one.kind == "model" and "loom_aware" in permissions,
        "permissions": permissions,
        "has_key": bool(one.sealed_key),
        "archived_at": one.archived_at,
    }


def _letters(role: str) -> frozenset[str]:
    return frozenset(OF_ROLE.get(role, frozenset()))  # type: ignore[call-overload]


def make_participant(actor: Actor, changes: Changes) -> Participant:
    """A new model participant of the actor's grove."""
    if not changes.fields.get("name"):
        raise Refused("INVALID_SYNTAX", "A participant needs a name.", hint="send name")
    return _store(actor, Participant(grove=actor.grove, kind="model"), changes, "added")


def change_participant(actor: Actor, one: Participant, changes: Changes) -> Participant:
    """Changes a participant. Another base_url drops the key, which was for the old one."""
    if one.kind == "human":
        raise Refused(
            "REJECTED", "A person is changed among the members.", hint="PATCH the grove's members"
        )
    return _store(actor, one, changes, "changed")


def archive_participant(actor: Actor, one: Participant) -> None:
    """Takes a model out of the grove; what it wrote stays its own."""
    if one.kind == "human":
        raise Refused(
            "REJECTED", "A person is removed among the members.", hint="DELETE the grove's member"
        )
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        one.archived_at = one.archived_at or timezone.now()
        one.save(update_fields=["archived_at"])
        writer.append("participant.changed", {"participant": event_body(one)})
        writer.flush()


def _store(actor: Actor, one: Participant, changes: Changes, deed: str) -> Participant:
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        _apply(one, changes)
        _demand_free_name(one)
        one.save()
        writer.append(f"participant.{deed}", {"participant": event_body(one)})
        writer.flush()
    return one


def event_body(one: Participant) -> dict[str, Any]:
    """The body for an event: times as text."""
    from loom.rules.hashes import instant

    body = participant_body(one)
    return {**body, "archived_at": instant(one.archived_at) if one.archived_at else None}


def _apply(one: Participant, changes: Changes) -> None:
    before = one.base_url
    for name, value in changes.fields.items():
        setattr(one, name, value)
    demand_name(one.name, most=MAX_NAME)
    _demand_callable(one.base_url)
    if one.base_url != before:
        one.sealed_key = ""
    if changes.api_key is not None:
        one.sealed_key = seal(changes.api_key, one.base_url) if changes.api_key else ""
    one.permissions = _permissions(one, changes)


def _permissions(one: Participant, changes: Changes) -> list[str]:
    """The permission list; `loom_aware: true` without a list is the list of that one."""
    names = changes.permissions
    if names is None:
        names = list(one.permissions)
        if changes.loom_aware is True and "loom_aware" not in names:
            names = ["loom_aware"]
        if changes.loom_aware is False:
            names = []
    sentence = broken_rule(names)
    if not sentence and changes.loom_aware not in (None, "loom_aware" in names):
        sentence = "loom_aware and the list of permissions contradict each other."
    if sentence:
        raise Refused("INVALID_SYNTAX", sentence, hint="send the list of permissions only")
    return [name for name in NAMES.values() if name in names]


def _demand_callable(base_url: str) -> None:
    if not base_url:
        return
    sentence = why_refused(base_url, settings.PROVIDER_ALLOW)
    if sentence:
        raise Refused("REJECTED", sentence, hint="add the line, and start Heddle again")


def _demand_free_name(one: Participant) -> None:
    others = Participant.objects.filter(grove=one.grove, name__iexact=one.name)
    if others.exclude(pk=one.pk).exists():
        raise Refused(
            "CONFLICT", f"The grove has a participant called {one.name}.", hint="use another name"
        )
