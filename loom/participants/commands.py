"""Model participants: who can be asked to write, their settings, and the list of their models."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from loom.access import Actor
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret
from loom.engine.execute import execute
from loom.engine.kept_jobs import enqueue_kept
from loom.errors import CommandError, not_found
from loom.participants import budgets, provider_keys
from loom.participants.addresses import is_readable, private_entry, why_refused
from loom.participants.prices import broken_prices
from loom.participants.provider_keys import (
    allowed_addresses,
    key_of,
    mark_of,
    open_sealed,
    seal,
    sendable,
)
from loom.participants.provider_kinds import (
    REMEMBERED,
    Kind,
    kind_of,
    why_not_litellm,
)
from loom.participants.provider_tools import demand_provider_tools
from loom.participants.seen_values import demand_as_seen
from loom.participants.templates import begun
from loom.people.commands.groves import demand_name, names_taken
from loom.people.models import Participant
from loom.people.names import look_alike
from loom.people.participant_fields import ARCHETYPES
from loom.permissions import LOOM, NEEDS, OF_ROLE, Role, broken_rule, in_order
from loom.text.hashes import digest, instant, instant_or_none

DAY_S = 24 * 3600
PROBE_PATIENCE = timedelta(minutes=5)  # a check takes at most a few requests of 90 s
PROBE, LISTING = "agents.tasks.probe", "agents.tasks.list_models"  # tasks of the worker
Listing = dict[str, Any]


@dataclass(frozen=True)
class ProviderAddress:
    """Where to send requests: a kind of provider, an address ("": the kind's own), a key ("":
    none, or that of the `participant` whose address it is) and how it is sent; and whether an
    owner allows the address if it is private."""

    kind: str
    base_url: str = ""
    api_key: str = ""
    allow_private: bool = False
    participant: str = ""
    auth: str = "bearer"

    @property
    def url(self) -> str:
        """The address of the requests."""
        return self.base_url or kind_of(self.kind).url


def ask_models(actor: Actor, source: ProviderAddress, *, again: bool = False) -> Listing:
    """The known models of an address; if none are known, a worker asks for them. `again`: asks in
    any case. For owners."""
    _demand_askable(actor, kind_of(source.kind), source)
    source = replace(source, api_key=sendable(source.api_key, source.auth))
    key = source.api_key or source.participant
    marks = (actor.grove.uid, source.kind, source.url, mark_of(key, source.url))
    uid = digest("\n".join(marks))[:32]
    known = _read(uid)
    if known is not None and known["status"] == "done" and not again:
        return known
    listing: Listing = {
        "id": uid,
        "grove": actor.grove.uid,
        "kind": source.kind,
        "base_url": source.url,
        "sealed": seal(source.api_key, source.url) if source.api_key else "",
        "participant": source.participant,
        "allow_private": source.allow_private,
        "auth": source.auth,
        "status": "queued",
        "models": [],
        "contexts": {},
        "error": None,
        "at": instant(timezone.now()),
    }
    _write(uid, listing)
    enqueue_kept(LISTING, [uid], queue="continue")
    return listing


def listing_of(actor: Actor, uid: str) -> Listing:
    """A listing of the actor's grove. NOT_FOUND if there is none, or it has expired."""
    listing = _read(uid)
    if listing is None or listing["grove"] != actor.grove.uid:
        raise not_found("This list of models")
    return listing


def asked(uid: str) -> tuple[ProviderAddress, Listing] | None:
    """What a worker should ask for; None if nobody waits for it."""
    listing = _read(uid)
    if listing is None or listing["status"] != "queued":
        return None
    url = listing["base_url"]
    key = open_sealed(listing["sealed"], url) if listing["sealed"] else _kept_key(listing)
    auth = listing.get("auth", "bearer")
    return ProviderAddress(listing["kind"], url, key, listing["allow_private"], auth=auth), listing


def _kept_key(listing: Listing) -> str:
    """The key of the participant that a list is for, if the list is of the participant's
    address."""
    participant = Participant.objects.filter(
        uid=listing["participant"], grove__uid=listing["grove"]
    ).first()
    if participant is None or participant.model_ref.partition(":")[0] != listing["kind"]:
        return ""
    own = (participant.base_url or kind_of(listing["kind"]).url).rstrip("/")
    return key_of(participant) if own == listing["base_url"].rstrip("/") else ""


def note_models(listing: Listing, models: Mapping[str, int], error: dict[str, Any] | None) -> None:
    """Stores the result, without the key: the models by name with their context in tokens, 0 if
    the provider does not report it."""
    changed = {
        "sealed": "",
        "status": "failed" if error else "done",
        "models": list(models),
        "contexts": {name: tokens for name, tokens in models.items() if tokens},
        "error": error,
    }
    _write(listing["id"], {**listing, **changed, "at": instant(timezone.now())})


def why_not_allowed_by(actor: Actor) -> str:
    """Why this owner may not allow a private address, as a sentence; "" if they may."""
    if settings.PRIVATE_ADDRESSES == "nobody":
        return "This Heddle does not allow private addresses in its pages."
    if settings.PRIVATE_ADDRESSES == "operator" and not actor.user.is_operator:
        return "Only the operator of this Heddle can allow private addresses."
    return ""


def _demand_askable(actor: Actor, kind: Kind, source: ProviderAddress) -> None:
    url = source.url
    if not kind.lists:
        raise CommandError(
            "REJECTED", f"{kind.title} does not list models.", hint="Enter the model's name."
        )
    if not url:
        raise CommandError(
            "INVALID_SYNTAX", "The base URL is missing.", hint="Enter the base URL first."
        )
    demand_callable(actor, url, allow_private=source.allow_private)


def _read(uid: str) -> Listing | None:
    try:
        listing: Listing | None = cache.get(f"models:{uid}")
    except Exception as error:
        raise _away() from error
    return listing


def _write(uid: str, listing: Listing) -> None:
    try:
        cache.set(f"models:{uid}", listing, DAY_S)
    except Exception as error:
        raise _away() from error


def _away() -> CommandError:
    return CommandError(
        "UNAVAILABLE", "Models can't be listed at the moment.", hint="Enter its name."
    )


MAX_NAME = 80
# Fields that can be set, named as in docs/model.md §2.1; the rest of a participant is derived.
PLAIN = (
    "name",
    "model_ref",
    "base_url",
    "allow_private",
    "auth",
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
    "provider_tools",
    "parallel",
    "prices",
)
CHOICES = {
    "auth": provider_keys.WAYS_OF_AUTH,
    "endpoint": ("chat", "completion"),
    "archetype": ARCHETYPES,
    "budget": tuple(budgets.BUDGETS),
}
RANGES = {
    "temperature": (0, 2),
    "max_tokens": (1, 1_000_000),
    "context_limit": (256, 10_000_000),
    "authority": (0, 3),
    "parallel": (1, 256),
}
MODEL_REF = r"[A-Za-z0-9_.-]+:[^\s\x00-\x1f\x7f]+"
_MODEL_REF = re.compile(rf"{MODEL_REF}\Z")


class ParticipantChangeArgs(Args):
    """The values that a caller sent: `fields` of `PLAIN`; a new key ("" removes it, None keeps
    it); permissions, loom_aware and archived, None if they were not sent; for a new participant
    the `template` that it begins with. `seen`: marks of the values that the caller saw, by which
    it is refused to replace what somebody else has changed since (seen_values.py)."""

    fields: dict[str, Any] = {}
    api_key: Annotated[str | None, Secret()] = None
    permissions: list[str] | None = None
    loom_aware: bool | None = None
    archived: bool | None = None
    template: str = ""
    seen: dict[str, str] = {}


def participant_body(participant: Participant, role: Role | None = None) -> dict[str, Any]:
    """A participant as the API and events show it; `role` is a person's, None if they are not a
    member. A key is shown as `has_key` only."""
    permissions = list(participant.permissions)
    if participant.kind == "human":
        permissions = in_order(OF_ROLE[role]) if role else []
    return {
        "id": participant.uid,
        "grove": participant.grove.uid,
        "kind": participant.kind,
        "user": participant.user.username if participant.user else None,
        **{name: getattr(participant, name) for name in PLAIN},
        "loom_aware": LOOM in permissions,
        "permissions": permissions,
        "has_key": bool(participant.sealed_key),
        "probe": probe_of(participant),
        "created_at": instant(participant.created_at),
        "archived_at": instant_or_none(participant.archived_at),
    }


def make_participant(actor: Actor, changes: ParticipantChangeArgs) -> Participant:
    """A new model participant of the actor's grove."""
    return execute(actor, actor.grove, _make_participant, changes)


@action("make_participant", stream="grove", role="owner")
def _make_participant(change: RunningAction, args: ParticipantChangeArgs) -> Participant:
    """Adds a model to a grove."""
    participant = begun(change.grove, args.template, args.fields)
    for name in ("name", "model_ref"):
        if not (args.fields.get(name) or getattr(participant, name)):
            raise CommandError(
                "INVALID_SYNTAX", f"A participant needs a {name}.", hint=f"send {name}"
            )
    return _store(change, participant, args)


class ParticipantChanges(Args):
    """A participant, and the changes to it."""

    participant: str
    changes: ParticipantChangeArgs


def change_participant(
    actor: Actor, participant: Participant, changes: ParticipantChangeArgs
) -> Participant:
    """Changes a participant, even to another model: what it wrote before keeps the hash of the
    configuration that wrote it. Another provider or base_url removes the key, which was for the
    old one."""
    args = ParticipantChanges(participant=participant.uid, changes=changes)
    return execute(actor, actor.grove, _change_participant, args)


@action("change_participant", stream="grove", role="owner")
def _change_participant(change: RunningAction, args: ParticipantChanges) -> Participant:
    """Changes the settings, key or permissions of a model."""
    participant = _named(change, args.participant)
    if participant.kind == "human":
        raise CommandError(
            "REJECTED", "People are changed on the members page.", hint="PATCH the grove's members"
        )
    return _store(change, participant, args.changes)


class ParticipantNamed(Args):
    """A participant by its uid."""

    participant: str


def _named(change: RunningAction, uid: str) -> Participant:
    """The participant of the grove that is changed. NOT_FOUND if it has none with this uid."""
    rows = Participant.objects.select_related("grove").filter(grove=change.grove, uid=uid)
    row = rows.first()
    if row is None:
        raise not_found("This participant")
    return row


def archive_participant(actor: Actor, participant: Participant) -> Participant:
    """Removes a model from the grove; what it wrote remains attributed to it."""
    args = ParticipantNamed(participant=participant.uid)
    return execute(actor, actor.grove, _archive_participant, args)


@action("archive_participant", stream="grove", role="owner")
def _archive_participant(change: RunningAction, args: ParticipantNamed) -> Participant:
    """Removes a model from the grove; what it wrote remains attributed to it."""
    participant = _named(change, args.participant)
    if participant.kind == "human":
        raise CommandError(
            "REJECTED", "People are removed on the members page.", hint="DELETE the grove's member"
        )
    return _store(change, participant, ParticipantChangeArgs(archived=True))


def _store(
    change: RunningAction, participant: Participant, changes: ParticipantChangeArgs
) -> Participant:
    """Applies the changes to the current row, under the grove's lock. A probe writes it without."""
    row = participant
    if participant.pk is not None:
        rows = Participant.objects.select_for_update(of=("self",)).select_related("grove")
        row = rows.get(pk=participant.pk)
    before = None if row.pk is None else participant_body(row)
    _apply(change.actor, row, changes)
    _demand_free_name(row)
    row.save()
    body = participant_body(row)
    if body != before or changes.api_key is not None:
        kind = "participant.changed" if before else "participant.added"
        change.writer.append(kind, {"participant": body})
    return row


def _apply(actor: Actor, participant: Participant, changes: ParticipantChangeArgs) -> None:
    model, recipient, base_url = (
        participant.model_ref,
        _recipient(participant),
        participant.base_url,
    )
    was_allowed = participant.allow_private
    demand_as_seen(participant, seen=changes.seen, given=_given(changes))
    _demand_capabilities(changes.fields.get("capabilities", []), participant.capabilities)
    for name, value in changes.fields.items():
        _demand_value(name, value)
        setattr(participant, name, value)
    participant.name = demand_name(participant.name, most=MAX_NAME)
    if "model_ref" in changes.fields and not _MODEL_REF.match(participant.model_ref):
        raise CommandError(
            "INVALID_SYNTAX",
            "A model_ref must have the form provider:identifier.",
            hint="such as openai:gpt-5",
        )
    if participant.base_url != base_url and "allow_private" not in changes.fields:
        participant.allow_private = False
    if (participant.base_url, participant.allow_private) != (base_url, was_allowed):
        demand_callable(actor, participant.base_url, allow_private=participant.allow_private)
    if participant.model_ref != model or participant.base_url != base_url:
        participant.probe = {}
    if (_recipient(participant), participant.base_url) != (recipient, base_url):
        participant.sealed_key = participant.lane = ""
    if model and participant.model_ref != model:
        _forget_model(participant, changes.fields)
    key = changes.api_key
    if key is not None:
        key = sendable(key, participant.auth)
        participant.sealed_key = seal(key, participant.base_url) if key else ""
        participant.lane = mark_of(key, participant.base_url) if key else ""
    provider_keys.demand_auth(participant, key)
    if participant.model_ref != model:
        _demand_checked_provider(participant)
    participant.permissions = _permissions(participant, changes)
    if changes.archived is not None:
        participant.archived_at = (
            (participant.archived_at or timezone.now()) if changes.archived else None
        )


def _given(changes: ParticipantChangeArgs) -> dict[str, Any]:
    """The values that were sent, by field."""
    sent = {} if changes.permissions is None else {"permissions": changes.permissions}
    return {**changes.fields, **sent}


def _demand_checked_provider(participant: Participant) -> None:
    """Refuses a `litellm:` model whose provider is not on the checked list, or that has no key.
    One that was stored before is refused when it is called."""
    provider, _, model = participant.model_ref.partition(":")
    if provider != "litellm":
        return
    if why := why_not_litellm(model, has_key=bool(participant.sealed_key)):
        raise CommandError(
            "REJECTED", why, hint="send model_ref litellm:provider/model and its api_key"
        )


def _recipient(participant: Participant) -> str:
    """The recipient of the key if no base_url is set: the provider of the model."""
    provider, _, model = participant.model_ref.partition(":")
    return f"{provider}:{model.partition('/')[0]}" if provider == "litellm" else provider


def _forget_model(participant: Participant, fields: dict[str, Any]) -> None:
    """Clears what was known about the previous model: the result of its probe, and its prices."""
    if "capabilities" not in fields:
        participant.capabilities = [
            name for name in participant.capabilities if name not in REMEMBERED
        ]
    if "prices" not in fields:
        participant.prices = {}


def _demand_capabilities(names: list[str], kept: list[str]) -> None:
    """Refuses a new capability that nothing here uses: it would be stored without effect."""
    unknown = [name for name in names if name not in (*REMEMBERED, *kept)]
    if unknown:
        raise CommandError(
            "INVALID_SYNTAX",
            f"There is no capability {unknown[0][:40]!r}.",
            hint=f"there are {', '.join(REMEMBERED)}",
        )


def _demand_value(name: str, value: Any) -> None:
    if name in CHOICES and value not in CHOICES[name]:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no {name} {value[:40]!r}.", hint=" or ".join(CHOICES[name])
        )
    sentence = broken_prices(value) if name == "prices" else ""
    if sentence:
        raise CommandError("INVALID_SYNTAX", sentence, hint="USD per million tokens, {} for none")
    if name == "provider_tools":
        demand_provider_tools(value)
    low, high = RANGES.get(name, (0, 0))
    if name in RANGES and value is not None and not low <= value <= high:
        raise CommandError(
            "LIMIT_EXCEEDED" if value > high else "INVALID_SYNTAX",
            f"{name} must be between {low} and {high}.",
            hint=f"{name}: {low}",
        )


def _permissions(participant: Participant, changes: ParticipantChangeArgs) -> list[str]:
    """The permission list. `loom_aware: true` without a list means a list of that one permission;
    `false` without a list removes it along with the permissions that require it."""
    names = changes.permissions
    if names is None:
        names = list(participant.permissions)
        if changes.loom_aware is True and LOOM not in names:
            names = [LOOM.value]
        if changes.loom_aware is False:
            gone = {LOOM, *(permission for permission, base in NEEDS.items() if base == LOOM)}
            names = [name for name in names if name not in gone]
    if sentence := broken_rule(names):
        hint = "send a list in which each permission has the one that it needs"
        raise CommandError("INVALID_SYNTAX", sentence, hint=hint)
    if changes.loom_aware not in (None, LOOM in names):
        raise CommandError(
            "INVALID_SYNTAX",
            "loom_aware and the list of permissions contradict each other.",
            hint="send the list of permissions only",
        )
    return in_order(names)


def demand_callable(actor: Actor, base_url: str, *, allow_private: bool) -> None:
    """Refuses an address that may not be called, or that the actor may not allow."""
    if not base_url or not why_refused(base_url, settings.PROVIDER_ALLOW):
        return
    why_not = why_not_allowed_by(actor) if allow_private else ""
    if why_not:
        raise CommandError("PERMISSION_DENIED", why_not, hint="Use a public https address.")
    allow = allowed_addresses(base_url, allow_private=allow_private)
    sentence = why_refused(base_url, allow)
    if not sentence:
        return
    if not is_readable(base_url):
        hint = "such as https://…/v1"
    elif private_entry(base_url) and not why_not_allowed_by(actor):
        hint = "allow it here"
    else:
        hint = "add the line and restart Heddle"
    raise CommandError("REJECTED", sentence, hint=hint)


def _demand_free_name(participant: Participant) -> None:
    if participant.archived_at is not None:
        return
    others = names_taken(participant.grove).exclude(pk=participant.pk)
    taken = look_alike(participant.name, others.values_list("name", flat=True))
    if taken:
        why = "" if taken.casefold() == participant.name.casefold() else ", which looks the same"
        raise CommandError(
            "CONFLICT",
            f"The grove already has a participant called {taken}{why}.",
            hint="use another name",
        )


def ask_probe(actor: Actor, participant: Participant) -> Participant:
    """Queues a probe of what a participant's endpoint can do. For owners."""
    args = ParticipantNamed(participant=participant.uid)
    return execute(actor, actor.grove, _ask_probe, args)


@action("probe_participant", stream="grove", role="owner")
def _ask_probe(change: RunningAction, args: ParticipantNamed) -> Participant:
    """Queues a probe of what a participant's endpoint can do."""
    participant = _named(change, args.participant)
    if participant.kind == "human":
        raise CommandError("REJECTED", "A person can't have an endpoint.", hint="choose a model")
    participant.probe = {"status": "queued", "found": {}, "error": None, "at": instant(change.now)}
    Participant.objects.filter(pk=participant.pk).update(probe=participant.probe)
    enqueue_kept(PROBE, [participant.uid], queue="continue")
    return participant


def probe_of(participant: Participant) -> dict[str, Any]:
    """The last probe. One that goes on but has said nothing for PROBE_PATIENCE has failed: its
    worker was lost."""
    kept = participant.probe
    goes_on = kept.get("status") in ("queued", "running")
    if not goes_on or kept.get("at", "") > instant(timezone.now() - PROBE_PATIENCE):
        return dict(kept)
    error = {"code": "UNAVAILABLE", "message": "The test was interrupted.", "hint": "Test again."}
    return {**kept, "status": "failed", "error": error}


def note_probe(participant: Participant, body: dict[str, Any]) -> None:
    """Stores the progress of a probe; once it has ended, its result sets the capabilities."""
    with transaction.atomic():
        row = Participant.objects.select_for_update(of=("self",)).get(pk=participant.pk)
        row.probe = {**body, "at": instant(timezone.now())}
        if body.get("context"):  # the provider refuses more than the model can read
            row.context_limit = min(row.context_limit, max(256, body["context"]))
        if body["status"] == "done":
            sampler_names = {name for name in REMEMBERED if body["found"].get(name)}
            kept = [name for name in row.capabilities if name not in REMEMBERED]
            row.capabilities = [*kept, *sorted(sampler_names)]
        row.save(update_fields=["probe", "capabilities", "context_limit"])
