"""Resolving a provider's host once, and checking every address the answer holds."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

from agents.providers.failures import Broken, Failure
from loom.rules.addresses_allowed import Address, Target, not_public, unwrapped, why_not_address

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
RESOLVE_S = 10


async def ask_system(host: str, port: int) -> Sequence[str]:
    """The addresses the system's resolver gives for `host`, in its order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


async def checked_addresses(
    target: Target, allow: Sequence[str], resolve: Resolve = ask_system
) -> list[Address]:
    """The addresses to connect to, in order. One bad answer spoils them all, so that a name
    cannot mix a public address with a private one. Raises Broken."""
    addresses = [target.literal] if target.literal is not None else await _ask(target, resolve)
    for address in addresses:
        why = why_not_address(address, target, allow)
        if why:
            raise Broken(Failure("refused", why))
    return [unwrapped(address) for address in addresses]


async def _ask(target: Target, resolve: Resolve) -> list[Address]:
    try:
        async with asyncio.timeout(RESOLVE_S):
            answers = await resolve(target.host, target.port)
        addresses: list[Address] = [ip_address(one.partition("%")[0]) for one in answers]
    except TimeoutError:
        raise Broken(
            Failure("timeout", f"no answer to the question where {target.host} is")
        ) from None
    except (OSError, ValueError, UnicodeError):
        raise Broken(Failure("network", f"{target.host} has no address")) from None
    if not addresses:
        raise Broken(Failure("network", f"{target.host} has no address"))
    return addresses


def is_public(address: Address) -> bool:
    """Whether anybody may have this address: connections to others are never kept open."""
    return not not_public(address)
