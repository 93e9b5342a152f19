"""Provider keys at rest: encrypted with the installation's secret, bound to one base URL.

A changed base_url must not carry the key elsewhere, so a seal opens only for its own.
"""

import base64
import hmac
import json

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from config.env import provider_key
from loom.models import Participant
from loom.rules.errors import CommandError
from loom.rules.provider_kinds import kind_of


def seal(key: str, base_url: str) -> str:
    """The key encrypted together with the address it may be sent to."""
    bound = json.dumps({"key": key, "base_url": _bare(base_url)})
    return _fernet().encrypt(bound.encode()).decode()


def open_sealed(sealed: str, base_url: str) -> str:
    """The key of a seal made for `base_url`. Raises CommandError REJECTED for any other
    address, and where the installation's secret has changed."""
    try:
        bound = json.loads(_fernet().decrypt(sealed.encode()))
    except (InvalidToken, ValueError):
        raise CommandError(
            "REJECTED",
            "The provider key can't be decrypted with this installation's secret.",
            hint="Enter the key again.",
        ) from None
    if bound["base_url"] != _bare(base_url):
        raise CommandError(
            "REJECTED",
            "The provider key belongs to another address.",
            hint="Enter the key again for the new base_url.",
        )
    return str(bound["key"])


def key_of(participant: Participant) -> str:
    """The key that a participant's calls are made with: its own, else one of the environment
    where HEDDLE_ENV_KEYS names the participant's id. An environment's key is sent to its
    provider's default address only. "" where there is none."""
    if participant.sealed_key:
        return open_sealed(participant.sealed_key, participant.base_url)
    if participant.uid not in settings.ENV_KEYS:
        return ""
    found = kind_of(participant.model_ref.partition(":")[0])
    if not found.variable or _bare(participant.base_url) not in ("", found.url):
        return ""
    return provider_key(found.variable)


def mark_of(key: str, base_url: str) -> str:
    """What is the same for the same key at the same address, and reveals nothing of either."""
    secret = _derived(b"heddle lanes")
    return hmac.new(secret, f"{_bare(base_url)}\n{key}".encode(), "sha256").hexdigest()


def _bare(base_url: str) -> str:
    return base_url.rstrip("/")


def _fernet() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_derived(b"heddle provider keys")))


def _derived(what: bytes) -> bytes:
    # A key for each use, so that the secret's other uses can never open a seal.
    derived = HKDF(SHA256(), length=32, salt=None, info=what)
    return derived.derive(settings.SECRET_KEY.encode())
