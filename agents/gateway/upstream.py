"""Where a request goes: the address, the headers and the key of the participant's provider."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.providers.registry import addressed
from loom.participants.provider_keys import allowed_addresses, key_of
from loom.people.models import Participant

# Not sent on: what belongs to one connection, to this program's key, or to Heddle.
_OWN = frozenset(
    """host connection keep-alive proxy-connection proxy-authenticate proxy-authorization te
    trailer transfer-encoding upgrade content-length authorization x-api-key api-key cookie
    accept-encoding expect forwarded x-forwarded-for x-forwarded-proto x-forwarded-host
    x-real-ip x-loom-session""".split()
)
# Of an answer: what belongs to the connection, and cookies of the provider.
_OF_CONNECTION = frozenset(
    """connection keep-alive proxy-connection te trailer transfer-encoding upgrade set-cookie
    content-length""".split()
)


@dataclass(frozen=True)
class Upstream:
    """A provider: its address without a slash at the end, the headers that carry the key, and the
    private addresses that may be called."""

    name: str
    base_url: str
    secret: str = field(repr=False)
    key_headers: dict[str, str] = field(repr=False)
    allow: tuple[str, ...]


def upstream_of(participant: Participant) -> Upstream:
    """The provider of a participant. Raises CommandError if its provider key may not be sent
    there."""
    provider, base_url, _ = addressed(participant)
    secret = key_of(participant)
    headers: dict[str, str] = {}
    if secret and provider.name == "anthropic":
        headers["x-api-key"] = secret
    elif secret:
        basic = b64encode(secret.encode()).decode()
        is_basic = participant.auth == "basic"
        headers["authorization"] = f"Basic {basic}" if is_basic else f"Bearer {secret}"
    allow = allowed_addresses(base_url, allow_private=participant.allow_private)
    return Upstream(provider.name, base_url.rstrip("/"), secret, headers, allow)


def headers_sent(given: Mapping[str, str]) -> dict[str, str]:
    """The headers of a program's request that go on to the provider, without any key. The answer is
    asked for without compression, so that its bytes can be read as they pass."""
    kept = {name: value for name, value in given.items() if name not in _OWN}
    return {**kept, "accept-encoding": "identity"}


def headers_returned(given: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """The headers of the provider's answer that go back to the program."""
    kept = ((name.lower(), value) for name, value in given.items())
    return [
        (name.encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in kept
        if name not in _OF_CONNECTION
    ]
