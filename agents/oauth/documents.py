"""Client id metadata documents: the id of a program is the https address of a document that says
what it is called and where browsers may be sent back to. Read over checked addresses."""

import json
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from agents.providers.transport import CheckedTransport, Limits, Outgoing, exchange, the_loop
from agents.providers.values import BrokenConnection
from loom.errors import CommandError
from loom.participants.addresses import BadUrl, read_url

MOST_BYTES = 16 * 1024
LIMITS = Limits(connect_s=4, first_s=6, idle_s=4, total_s=8, body_bytes=MOST_BYTES)


def is_address(client_id: str) -> bool:
    """Whether the id of a program is the address of a document: https with a path, or http where
    HEDDLE_PROVIDER_ALLOW lists addresses."""
    if not client_id.isascii() or not client_id.isprintable() or "#" in client_id:
        return False
    schemes = ("https", "http") if settings.PROVIDER_ALLOW else ("https",)
    try:
        parts = urlsplit(client_id)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and parts.path not in ("", "/")


def read(client_id: str) -> dict[str, Any]:
    """The document at this address. Raises CommandError REJECTED with what is wrong with it."""
    try:
        read_url(client_id.partition("?")[0])
    except BadUrl as bad:
        raise _refused(str(bad)) from None
    try:
        status, body = the_loop().run(_get(client_id))
    except BrokenConnection as broken:
        raise _refused(broken.failure.said) from None
    if status != 200:  # a redirect is not followed
        raise _refused(f"Its address answered {status}.")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _refused("Its address has no JSON object.")
    if document.get("client_id") != client_id:
        raise _refused("The document names another address as its client_id.")
    if "client_secret" in document:
        raise _refused("The document has a client_secret, which everybody could read.")
    return document


def _refused(why: str) -> CommandError:
    return CommandError(
        "REJECTED",
        f"The document about this program could not be read. {why}",
        hint="Ask whoever makes the program, or use an API key from Settings, Access.",
        status=400,
    )


async def _get(url: str) -> tuple[int, bytes]:
    transport = CheckedTransport(tuple(settings.PROVIDER_ALLOW))
    headers = {"accept": "application/json", "user-agent": "heddle"}
    try:
        async with exchange(transport, Outgoing(url, headers, b"", "GET"), LIMITS) as came:
            return came.status, b"".join([piece async for piece in came.chunks()])
    finally:
        await transport.aclose()
