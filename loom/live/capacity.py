"""How many sockets and streams of events a process holds, and how many of them each account. They
stay open for hours: without a limit of their own they take every connection of the process, and
requests find none; without one for each account, a single key takes the places of everybody.
"""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.conf import settings

from loom.errors import CommandError
from loom.platform.account_places import AccountPlaces

log = logging.getLogger("heddle.live")

FULL = 1013  # "try again later": the close code for who finds no room
SCOPE_KEY = "heddle.place"  # in the scope of a socket: its place
MOST_ANSWERED = 32  # sockets that are told so at the same time; more are refused with 503
LOGGED_S = 60.0


class Place:
    """The place of one connection. It belongs to an account once that is known."""

    def __init__(self, held_by: AccountPlaces) -> None:
        self._held_by = held_by
        self._account: int | None = None

    def take_for(self, account: int) -> None:
        """Counts the place as one of this account's. Raises CommandError LIMIT_EXCEEDED if the
        account has no more."""
        if not self._held_by.take(account, most=settings.SOCKETS_EACH):
            raise CommandError(
                "LIMIT_EXCEEDED",
                "Too many windows and programs of your account are connected at the moment.",
                hint="close some of them and connect again; requests are still answered",
            )
        self._account = account

    def give_back(self) -> None:
        """Takes it off the account's count; nothing if it was nobody's."""
        account, self._account = self._account, None
        if account is not None:
            self._held_by.give_back(account)


class Capacity:
    """The places of one process."""

    def __init__(self) -> None:
        self.held = 0
        self.held_by = AccountPlaces()
        self.refused = 0  # since the start
        self.answered = 0  # who found none and is being told
        self._logged_at = -LOGGED_S

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Place | None]:
        """Holds a place, and yields it; None if there was none."""
        if self.held >= settings.SOCKETS:
            self._log()
            self.refused += 1
            self.answered += 1
            try:
                yield None
            finally:
                self.answered -= 1
            return
        self.held += 1
        place = Place(self.held_by)
        try:
            yield place
        finally:
            place.give_back()
            self.held -= 1

    def _log(self) -> None:
        now = time.monotonic()
        if now - self._logged_at >= LOGGED_S:
            self._logged_at = now
            log.warning("%d sockets are open; more are refused (HEDDLE_SOCKETS)", self.held)


def refusal() -> CommandError:
    """What somebody is told who finds no place."""
    return CommandError(
        "UNAVAILABLE",
        "Too many people are connected to this server at the moment.",
        hint="connect again in a while; requests are still answered",
    )


capacity = Capacity()
