"""Which models an address offers, asked for by an owner before there is a participant.

A worker asks; what it found is kept for a day, for whoever asks with the same key. The key is
kept sealed only until the answer is there.
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from loom.access import Actor
from loom.commands.sealing import mark_of, open_sealed, seal
from loom.log.jobs import enqueue
from loom.rules.addresses_allowed import why_refused
from loom.rules.hashes import digest, instant
from loom.rules.provider_kinds import Kind, kind_of
from loom.rules.refusals import Refused, not_found

DAY_S = 24 * 3600
Listing = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Where to ask: a kind's name, an address ("": the kind's own), a key ("": none)."""

    kind: str
    base_url: str = ""
    api_key: str = ""

    @property
    def url(self) -> str:
        """The address that is asked."""
        return self.base_url or kind_of(self.kind).url


def ask_models(actor: Actor, source: Source, *, anew: bool = False) -> Listing:
    """What is known of an address's models; where nothing is, a worker asks. `anew`: even
    where something is. For owners."""
    _demand_askable(kind_of(source.kind), source.url)
    marks = (actor.grove.uid, source.kind, source.url, mark_of(source.api_key, source.url))
    uid = digest("\n".join(marks))[:32]
    known = _read(uid)
    if known is not None and known["status"] == "done" and not anew:
        return known
    listing: Listing = {
        "id": uid,
        "grove": actor.grove.uid,
        "kind": source.kind,
        "base_url": source.url,
        "sealed": seal(source.api_key, source.url) if source.api_key else "",
        "status": "queued",
        "models": [],
        "error": None,
        "at": instant(timezone.now()),
    }
    _write(uid, listing)
    enqueue("agents.tasks.list_models", [uid], queue="continue")
    return listing


def listing_of(actor: Actor, uid: str) -> Listing:
    """A listing of the actor's grove. NOT_FOUND where there is none (any more)."""
    found = _read(uid)
    if found is None or found["grove"] != actor.grove.uid:
        raise not_found("This list of models")
    return found


def asked(uid: str) -> tuple[Source, Listing] | None:
    """What a worker is to ask; None where nobody waits for it."""
    found = _read(uid)
    if found is None or found["status"] != "queued":
        return None
    url = found["base_url"]
    key = open_sealed(found["sealed"], url) if found["sealed"] else ""
    return Source(found["kind"], url, key), found


def note_models(listing: Listing, models: list[str], error: dict[str, Any] | None) -> None:
    """Keeps what was found, without the key."""
    status = "failed" if error else "done"
    told = {"sealed": "", "status": status, "models": models, "error": error}
    _write(listing["id"], {**listing, **told, "at": instant(timezone.now())})


def _demand_askable(kind: Kind, url: str) -> None:
    if not kind.lists:
        raise Refused(
            "REJECTED", f"{kind.title} lists no models.", hint="Write the model's name yourself."
        )
    if not url:
        raise Refused("INVALID_SYNTAX", "Where is it?", hint="Write its base URL first.")
    sentence = why_refused(url, settings.PROVIDER_ALLOW)
    if sentence:
        raise Refused("REJECTED", sentence, hint="add the line, and start Heddle again")


def _read(uid: str) -> Listing | None:
    try:
        found: Listing | None = cache.get(f"models:{uid}")
    except Exception as error:
        raise _away() from error
    return found


def _write(uid: str, listing: Listing) -> None:
    try:
        cache.set(f"models:{uid}", listing, DAY_S)
    except Exception as error:
        raise _away() from error


def _away() -> Refused:
    return Refused(
        "UNAVAILABLE", "Lists of models cannot be asked for now.", hint="Write its name yourself."
    )
