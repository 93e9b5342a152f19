"""How often a password may be wrong: counted for each name from each address, for a while.

An attempt is counted before its password is checked, so that attempts that are made at the same
time cannot all slip in below the limit; a right password takes its count back. A name alone
locks nobody out: whoever attacks it from elsewhere leaves its owner's own attempts.
"""

import logging
from ipaddress import IPv6Address, ip_address, ip_network

from django.core.cache import cache
from django.http import HttpRequest

from loom.rules.hashes import digest
from loom.rules.refusals import Refused

log = logging.getLogger("heddle.web")

MOST = 10  # for one name from one address
MOST_FROM = 50  # for one address, whatever names it tries
MOST_FOR = 100  # for one name from everywhere: from then on each address has FEW attempts
FEW = 3
MINUTES = 15


class Attempt:
    """One attempt to sign in. Counted when it is made."""

    def __init__(self, request: HttpRequest, name: str) -> None:
        address, who = _network(request), digest(name.casefold())
        self._keys = (
            f"wrong:both:{who}:{digest(address)}",
            f"wrong:from:{digest(address)}",
            f"wrong:name:{who}",
        )
        try:
            is_allowed = self._counts()
        except Exception:  # without the broker nobody could sign in otherwise
            log.warning("cannot count attempts", exc_info=True)
            return
        if not is_allowed:
            raise Refused(
                "LIMIT_EXCEEDED",
                "Too many attempts went wrong.",
                hint=f"Wait {MINUTES} minutes, or ask for a one-time link.",
            )

    def _counts(self) -> bool:
        """Counts the attempt; whether it is within the limits. One that is not counts no
        further, so that one address cannot use up the attempts of all."""
        both, from_here, for_name = self._keys
        here = _counted(both)
        if here > MOST or _counted(from_here) > MOST_FROM:
            return False
        return here <= (MOST if _counted(for_name) <= MOST_FOR else FEW)

    def succeeded(self) -> None:
        """Takes the count back: the password was right."""
        both, *rest = self._keys
        try:
            cache.delete(both)
            for key in rest:
                cache.decr(key)
        except Exception:  # a count that has run out meanwhile, or no broker
            log.info("an attempt could not be taken back")


def _counted(key: str) -> int:
    """The count with this attempt; it lives MINUTES from the first one."""
    cache.add(key, 0, MINUTES * 60)
    return cache.incr(key)


def _network(request: HttpRequest) -> str:
    """The address, of IPv6 the /64 that one customer has."""
    given = request.META.get("REMOTE_ADDR", "")
    try:
        address = ip_address(given)
    except ValueError:
        return str(given)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)
