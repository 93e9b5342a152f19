"""Signatures of what is sent, and when a failed try is repeated. Pure.

Source: the Standard Webhooks specification: the headers webhook-id, webhook-timestamp and
webhook-signature, HMAC-SHA256 over `id.timestamp.body`, secrets with the prefix `whsec_`.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from datetime import timedelta

PREFIX = "whsec_"
SECRET_BYTES = 32
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(hours=1)
GIVEN_UP = timedelta(days=5)  # after failing for this long nothing more is sent
FEWEST_TRIES = 20  # before that: five days in which Heddle was off are no five days of trying


def secret_from(raw: bytes) -> str:
    """A secret as it is shown."""
    return PREFIX + base64.b64encode(raw).decode()


def signature(secrets: Iterable[str], *, event_id: str, at: int, body: bytes) -> str:
    """The value of webhook-signature: one signature for each secret."""
    content = f"{event_id}.{at}.".encode() + body
    return " ".join(f"v1,{_signed(secret, content)}" for secret in secrets)


def _signed(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def pause_after(tries: int) -> timedelta:
    """The time until the next try, after so many failed ones."""
    doublings = max(0, min(tries - 1, 20))
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)
