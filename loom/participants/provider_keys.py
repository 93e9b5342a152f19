"""Keys of providers: encrypted with the installation's secret and bound to one base URL."""

import base64
import hmac
import json

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from loom.errors import CommandError
from loom.participants.addresses import private_entry
from loom.participants.provider_kinds import kind_of
from loom.people.models import Participant

# Stored provider keys: encrypted with the installation's secret, bound to one base URL.


COPY_AGAIN = "copy the key again, without blanks, line breaks or invisible characters"
WAYS_OF_AUTH = ("bearer", "basic", "none")  # how a key is sent


def demand_auth(participant: Participant, key: str | None) -> None:
    """Refuses a way of sending the key that does not fit; `key` is a new one, None if the stored
    one stays."""
    provider = participant.model_ref.partition(":")[0]
    if participant.auth != "bearer" and provider == "litellm":
        raise CommandError(
            "REJECTED", "litellm: sends keys in its own way.", hint="send auth bearer"
        )
    if participant.auth != "basic":
        return
    held = (
        open_sealed(participant.sealed_key, participant.base_url)
        if key is None and participant.sealed_key
        else key
    )
    if held and ":" not in held:
        raise CommandError(
            "INVALID_SYNTAX",
            "With basic authentication the key is a name and a password.",
            hint="send api_key name:password",
        )


def sendable(key: str, auth: str = "bearer") -> str:
    """A new key without the blanks around it, which come with a paste. Refuses, with
    INVALID_SYNTAX, characters that no header can carry; basic authentication encodes any."""
    key = key.strip()
    if sentence := "" if auth == "basic" else _why_not_sent(key):
        raise CommandError("INVALID_SYNTAX", sentence, hint=COPY_AGAIN)
    return key


def _why_not_sent(key: str) -> str:
    """Which character of a key cannot be sent, as a sentence; "" if all can."""
    bad = next((letter for letter in key if not letter.isascii() or not letter.isprintable()), "")
    return f"The key has a character that cannot be sent: U+{ord(bad):04X}." if bad else ""


def seal(key: str, base_url: str) -> str:
    """The key, encrypted together with the address that it may be sent to."""
    bound = json.dumps({"key": key, "base_url": _bare(base_url)})
    return _fernet().encrypt(bound.encode()).decode()


def open_sealed(sealed: str, base_url: str) -> str:
    """The key that was sealed for `base_url`. Raises CommandError REJECTED for any other address,
    and if the installation's secret has changed."""
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
    """The key for a participant's calls: its own, else one from the environment if HEDDLE_ENV_KEYS
    names the participant's id. A key from the environment is only sent to its provider's default
    address. "" if there is none, or none may be sent. CommandError REJECTED if the key cannot be
    read, or was stored when nobody looked whether it can be sent."""
    if participant.auth == "none":
        return ""
    if participant.sealed_key:
        key = open_sealed(participant.sealed_key, participant.base_url)
        if sentence := "" if participant.auth == "basic" else _why_not_sent(key):
            raise CommandError("REJECTED", sentence, hint=COPY_AGAIN)
        return key
    if participant.uid not in settings.ENV_KEYS:
        return ""
    kind = kind_of(participant.model_ref.partition(":")[0])
    if not kind.variable or _bare(participant.base_url) not in ("", kind.url):
        return ""
    return settings.PROVIDER_KEY(kind.variable)


def allowed_addresses(base_url: str, *, allow_private: bool) -> tuple[str, ...]:
    """The private addresses that may be called for a participant: those of the environment and its
    own address, if an owner allowed it and the environment does not forbid it."""
    own = private_entry(base_url) if allow_private and base_url else ""
    is_open = own and settings.PRIVATE_ADDRESSES != "nobody"
    return (*settings.PROVIDER_ALLOW, own) if is_open else tuple(settings.PROVIDER_ALLOW)


def mark_of(key: str, base_url: str) -> str:
    """A value that is the same for the same key and address, and reveals neither."""
    secret = _derived(b"heddle lanes")
    return hmac.new(secret, f"{_bare(base_url)}\n{key}".encode(), "sha256").hexdigest()


def _bare(base_url: str) -> str:
    return base_url.rstrip("/")


def _fernet() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_derived(b"heddle provider keys")))


def _derived(what: bytes) -> bytes:
    # Each use has its own key, so that no other use of the secret can open a seal.
    derived = HKDF(SHA256(), length=32, salt=None, info=what)
    return derived.derive(settings.SECRET_KEY.encode())
