"""Asking an authority for a time stamp, and checking what it answered (RFC 3161)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import certifi
from cryptography.x509 import Certificate, load_pem_x509_certificates
from django.conf import settings
from django.utils import timezone
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from agents.providers.transport import CheckedTransport, Limits, Outgoing, exchange, the_loop
from agents.providers.values import BrokenConnection
from agents.timestamps.models import REPLY, host_of
from loom.engine import backoff
from loom.participants.addresses import private_entry

log = logging.getLogger("heddle.timestamps")
LIMITS = Limits(connect_s=5, first_s=20, idle_s=10, total_s=20, body_bytes=64 * 1024)
QUERY = "application/timestamp-query"
GRANTED = 0
MOST_APART = timedelta(minutes=10)  # between the clocks of an authority and of this machine


class NotStamped(Exception):
    """No authority gave a time stamp; the message says why. `retry_s`: seconds after which one of
    them may be asked again."""

    def __init__(self, reason: str, retry_s: float) -> None:
        super().__init__(reason)
        self.retry_s = retry_s


class WrongStamp(Exception):
    """What an authority answered is no time stamp of what it was asked for."""


@dataclass(frozen=True)
class Stamp:
    """A time stamp that was checked: its authority, its time, and the answer as it came."""

    authority: str
    at: datetime
    answer: bytes


def stamp(message: bytes) -> Stamp:
    """A time stamp for the SHA-256 of a message by the first authority that gives one. What is sent
    is the hash. Raises NotStamped."""
    reasons, retry_s = [], float(backoff.LONGEST_S)
    for address in settings.TIMESTAMPS:
        name = f"timestamps:{address}"
        pause_s, reason = backoff.pause(name)
        if not pause_s:
            try:
                given = _asked(address, message)
            except (BrokenConnection, WrongStamp) as error:
                reason = error.failure.said if isinstance(error, BrokenConnection) else str(error)
                pause_s = backoff.failed(name, reason)
                log.warning("%s gave no time stamp, pauses for %d s", host_of(address), pause_s)
            else:
                backoff.worked(name)
                return given
        reasons.append(f"{host_of(address)}: {reason}")
        retry_s = min(retry_s, pause_s)
    raise NotStamped(" · ".join(reasons), retry_s)


def _asked(address: str, message: bytes) -> Stamp:
    builder = TimestampRequestBuilder().data(message).hash_algorithm(HashAlgorithm.SHA256)
    query = builder.build()
    headers = {"content-type": QUERY, "accept": REPLY, "user-agent": "heddle"}
    answer = the_loop().run(_post(Outgoing(address, headers, query.as_bytes())))
    reply = _decoded(answer)
    if query.nonce is not None and reply.tst_info.nonce != query.nonce:
        raise WrongStamp("It answered another request.")
    at = _checked(reply, query.message_imprint.message)
    if abs(at - timezone.now()) > MOST_APART:
        raise WrongStamp(f"It names another time than it is here: {at:%Y-%m-%d %H:%M:%S} UTC.")
    return Stamp(address, at, answer)


async def _post(outgoing: Outgoing) -> bytes:
    # The operator named the address, so that it may be on their own network.
    allow = (*settings.PROVIDER_ALLOW, private_entry(outgoing.url))
    transport = CheckedTransport(tuple(entry for entry in allow if entry))
    try:
        async with exchange(transport, outgoing, LIMITS) as came:
            if came.status != 200:
                raise WrongStamp(f"It answered {came.status}.")
            return b"".join([chunk async for chunk in came.chunks()])
    finally:
        await transport.aclose()


def _decoded(answer: bytes) -> TimeStampResponse:
    """The answer, if a time stamp is in it."""
    try:
        reply = decode_timestamp_response(answer)
        if reply.status == GRANTED:
            reply.tst_info  # noqa: B018 (a refusal has none)
            return reply
        words = " ".join(reply.status_string)[:200]
    except ValueError:
        raise WrongStamp("It answered something that is no time stamp.") from None
    raise WrongStamp(f"It refused: {words or f'status {reply.status}'}.")


def _checked(reply: TimeStampResponse, digest: bytes) -> datetime:
    """The time in a time stamp of a digest, if its signature leads to a certificate that is
    trusted here."""
    if reply.tst_info.message_imprint.message != digest:
        raise WrongStamp("It is a time stamp of another hash.")
    try:
        VerifierBuilder(roots=list(trusted())).build().verify(reply, digest)
    except (VerificationError, ValueError):
        raise WrongStamp(
            "Its signature leads to no certificate that is trusted here "
            "(HEDDLE_TIMESTAMP_ROOTS names others)."
        ) from None
    return reply.tst_info.gen_time.astimezone(UTC)


def why_broken(answer: bytes, digest: bytes) -> str:
    """Why what is stored is no time stamp of a digest; "" if it is one."""
    try:
        _checked(_decoded(answer), digest)
    except WrongStamp as wrong:
        return str(wrong)
    return ""


def trusted() -> Sequence[Certificate]:
    """The certificates to which signatures of authorities must lead: those of the operator's file,
    else those that browsers trust."""
    return _read(settings.TIMESTAMP_ROOTS or certifi.where())


@lru_cache(maxsize=2)
def _read(path: str) -> tuple[Certificate, ...]:
    return tuple(load_pem_x509_certificates(Path(path).read_bytes()))
