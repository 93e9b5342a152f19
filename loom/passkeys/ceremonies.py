"""What is asked of a browser, and whether its answer is right: WebAuthn, checked by `fido2`.

A challenge belongs to one browser and one purpose, lasts five minutes and is used up by the first
answer, right or wrong. The address of the installation (`HEDDLE_ORIGINS`) decides for which site a
passkey is made, and from which pages an answer may come.
"""

import json
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    CollectedClientData,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from loom.errors import CommandError
from loom.text.hashes import digest

Purpose = Literal["add", "sign in"]
CHALLENGE, CHALLENGE_S = "passkey_challenge", 300  # in the session
MAX_ANSWER = 64 * 1024  # characters; an answer has one or two thousand
HANDLE_BYTES = 32
log = logging.getLogger("heddle.people")
_VERIFIED = UserVerificationRequirement.REQUIRED


@dataclass(frozen=True)
class Site:
    """What a passkey belongs to: a host, and the addresses of its pages."""

    host: str
    origins: frozenset[str]

    @property
    def server(self) -> Fido2Server:
        """The library's side of the protocol."""
        entity = PublicKeyCredentialRpEntity(id=self.host, name="Heddle")
        return Fido2Server(entity, verify_origin=lambda origin: origin in self.origins)


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def site_of(request: HttpRequest) -> Site:
    """The site of this request among the configured addresses. REJECTED for another host, and for
    an address that is a number: browsers make passkeys for names only."""
    host = urlsplit(f"//{request.get_host()}").hostname or ""
    known: dict[str, set[str]] = {}
    for origin in settings.ORIGINS:
        named = urlsplit(origin).hostname or ""
        if not _is_number(named):
            known.setdefault(named, set()).add(origin.rstrip("/"))
    if host in known:
        return Site(host, frozenset(known[host]))
    if not known:
        raise CommandError(
            "REJECTED",
            "Passkeys need an address with a name, and this one is a number.",
            hint="The operator sets it with HEDDLE_ORIGINS.",
        )
    first = min(next(iter(known.values())))
    raise CommandError(
        "REJECTED", "Passkeys do not work at this address.", hint=f"Open {first} instead."
    )


# A challenge: given once, used once.


def _remember(request: HttpRequest, state: Any, purpose: Purpose, of: int | None) -> None:
    until = time.time() + CHALLENGE_S
    request.session[CHALLENGE] = {"state": state, "for": purpose, "of": of, "until": until}


def _used(request: HttpRequest, purpose: Purpose, of: int | None) -> Any:
    """The state of the challenge that this browser was given for this purpose; it is used up."""
    kept = request.session.pop(CHALLENGE, None)
    if kept is None or kept["for"] != purpose or kept["of"] != of or kept["until"] < time.time():
        raise _refused("This request is over.")
    if not _is_first(digest(kept["state"]["challenge"])):
        raise _refused("This request is over.")
    return kept["state"]


def _is_first(challenge: str) -> bool:
    """Whether the challenge is used for the first time: two requests at once read one session."""
    try:
        return bool(cache.add(f"passkey:{challenge}", 1, CHALLENGE_S))
    except Exception:  # a broker that is down must not prevent everybody from signing in
        log.warning("cannot note a used challenge", exc_info=True)
        return True


def _refused(why: str) -> CommandError:
    return CommandError("UNAUTHENTICATED", why, hint="Try again.")


# Adding a passkey.


def new_handle() -> str:
    """What devices will know a user by: random, so that it says nothing about them."""
    return websafe_encode(secrets.token_bytes(HANDLE_BYTES))


@dataclass(frozen=True)
class Owner:
    """The user for whom a passkey is made, as devices list them."""

    pk: int
    handle: str
    username: str
    shown_as: str


def asks_to_add(
    request: HttpRequest, site: Site, owner: Owner, known: Sequence[bytes]
) -> dict[str, Any]:
    """The options of `navigator.credentials.create`, as JSON; `known` are the credentials that the
    owner has already, which their devices do not make again."""
    user = PublicKeyCredentialUserEntity(
        id=websafe_decode(owner.handle), name=owner.username, display_name=owner.shown_as
    )
    options, state = site.server.register_begin(
        user,
        [_descriptor(passkey) for passkey in known],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=_VERIFIED,
    )
    _remember(request, state, "add", owner.pk)
    return dict(options.public_key)


@dataclass(frozen=True)
class MadePasskey:
    """What a device made: the digest of its id, itself, and its counter."""

    digest: str
    credential: bytes
    count: int


def made_by(request: HttpRequest, site: Site, user_pk: int, answer: str) -> MadePasskey:
    """The passkey in the browser's answer. UNAUTHENTICATED if anything about it is wrong."""
    state = _used(request, "add", user_pk)
    try:
        response = RegistrationResponse.from_dict(_read(answer))
        _demand_own_page(response.response.client_data)
        data = site.server.register_complete(state, response)
        credential = AttestedCredentialData(bytes(data.credential_data or b""))
        if credential.public_key[3] not in [
            algorithm.alg for algorithm in site.server.allowed_algorithms
        ]:
            raise ValueError("The algorithm of the key is not one that was asked for.")
    except Exception as error:  # of a parser that is given a stranger's bytes
        raise _refused(f"This passkey was not accepted: {_reason(error)}") from None
    return MadePasskey(digest_of(credential.credential_id), bytes(credential), data.counter)


# Signing in.


def asks_to_sign_in(
    request: HttpRequest, site: Site, known: Sequence[bytes] | None, of: int | None
) -> dict[str, Any]:
    """The options of `navigator.credentials.get`, as JSON: of any passkey of this site, or of one
    of the `known`, where it is clear whose it has to be."""
    wanted = None if known is None else [_descriptor(passkey) for passkey in known]
    options, state = site.server.authenticate_begin(wanted, user_verification=_VERIFIED)
    _remember(request, state, "sign in", of)
    return dict(options.public_key)


@dataclass(frozen=True)
class SignedAnswer:
    """What a browser answers to being asked for a passkey, before anything of it is checked."""

    digest: str
    response: AuthenticationResponse

    @property
    def handle(self) -> str:
        """What the device says that it knows the user by; "" if it says nothing."""
        given = self.response.response.user_handle
        return websafe_encode(given) if given else ""

    @property
    def count(self) -> int:
        """How often the device says that it has signed."""
        return self.response.response.authenticator_data.counter


def answer_in(answer: str) -> SignedAnswer:
    """The answer, read. UNAUTHENTICATED if it cannot be."""
    try:
        response = AuthenticationResponse.from_dict(_read(answer))
        return SignedAnswer(digest_of(response.raw_id), response)
    except Exception as error:  # of a parser that is given a stranger's bytes
        raise _refused(f"This passkey was not accepted: {_reason(error)}") from None


def demand_signed(
    request: HttpRequest,
    site: Site,
    answer: SignedAnswer,
    credential: bytes | None,
    *,
    of: int | None,
) -> None:
    """Refuses an answer that this credential did not sign for this browser's challenge, on a page
    of this site, with a finger, face or PIN. The challenge is used up in any case."""
    state = _used(request, "sign in", of)
    if credential is None:
        raise _refused("This passkey is not known here.")
    try:
        _demand_own_page(answer.response.response.client_data)
        known = AttestedCredentialData(credential)
        site.server.authenticate_complete(state, [known], answer.response)
    except Exception as error:  # of a parser that is given a stranger's bytes
        raise _refused(f"This passkey was not accepted: {_reason(error)}") from None


def _demand_own_page(client_data: CollectedClientData) -> None:
    if client_data.cross_origin:
        raise ValueError("It was used inside the page of another site.")


def _descriptor(credential: bytes) -> PublicKeyCredentialDescriptor:
    known = AttestedCredentialData(credential)
    return PublicKeyCredentialDescriptor(
        type=PublicKeyCredentialType.PUBLIC_KEY, id=known.credential_id
    )


def digest_of(credential_id: bytes) -> str:
    """Under what a credential is found."""
    return digest(websafe_encode(credential_id))


def _read(answer: str) -> Any:
    if len(answer) > MAX_ANSWER:
        raise ValueError("It is too long.")
    return json.loads(answer)


def _reason(error: Exception) -> str:
    """The library's sentence, where it has one; not what its parser met."""
    given = str(error) if type(error) is ValueError else ""
    return given if given.endswith(".") and len(given) < 100 else "It cannot be read."
