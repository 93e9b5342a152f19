"""Views that wait for a server outside of Heddle. Each holds the thread of a request for as long as
that server likes, so they have half of the threads only, and each account a few of these: others go
on reading and writing while a model or a page is slow."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from loom.errors import CommandError
from loom.platform.account_places import AccountPlaces

EACH = 4  # waits of one account at once, in one process, or fewer where there are few threads

_waits = AccountPlaces()
_lock = threading.Lock()


def most_waits() -> int:
    """How many views wait at once, in one process."""
    return max(1, int(settings.REQUEST_THREADS) // 2)


@contextmanager
def waits_outside(account: int, what: str) -> Iterator[None]:
    """While a view of this account waits. LIMIT_EXCEEDED if there are too many, in a sentence that
    says of `what`: `models`."""
    most = most_waits()
    each = max(1, min(EACH, most - 1))
    with _lock:
        is_own = not _waits.take(account, most=each)
        is_full = not is_own and _waits.held.total() > most
        if is_full:
            _waits.give_back(account)
    if is_own or is_full:
        whose = "you wait" if is_own else "others wait"
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"Too many answers of {what} are on their way at the moment, for which {whose}.",
            hint="try again in some seconds",
        )
    try:
        yield
    finally:
        with _lock:
            _waits.give_back(account)
