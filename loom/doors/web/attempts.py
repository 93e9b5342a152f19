"""How often somebody may get a password wrong: counted by name and address, for a while."""

import logging

from django.core.cache import cache
from django.http import HttpRequest

from loom.rules.hashes import digest
from loom.rules.refusals import Refused

log = logging.getLogger("heddle.web")

MOST = 10
MINUTES = 15


def _keys(request: HttpRequest, name: str) -> tuple[str, str]:
    """One count for the name, whoever tries it, and one for the address, whatever it tries."""
    address = request.META.get("REMOTE_ADDR", "")
    return (f"wrong:name:{digest(name.casefold())}", f"wrong:from:{digest(address)}")


def demand_patience(request: HttpRequest, name: str) -> None:
    """Refuses where too many attempts went wrong lately."""
    try:
        counts = cache.get_many(_keys(request, name))
    except Exception:  # without the broker nobody could come in otherwise
        log.warning("cannot count attempts", exc_info=True)
        return
    name_key, from_key = _keys(request, name)
    if counts.get(name_key, 0) >= MOST or counts.get(from_key, 0) >= MOST * 5:
        raise Refused(
            "LIMIT_EXCEEDED",
            "Too many attempts went wrong.",
            hint=f"Wait {MINUTES} minutes, or ask for a one-time link.",
        )


def count_wrong(request: HttpRequest, name: str) -> None:
    """Notes an attempt that went wrong."""
    try:
        for key in _keys(request, name):
            cache.add(key, 0, MINUTES * 60)
            cache.incr(key)
    except Exception:
        log.warning("cannot count attempts", exc_info=True)
