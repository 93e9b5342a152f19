"""How many sockets and streams of events a process holds. They stay open for hours: without a limit
of their own they take every connection of the process, and requests find none.
"""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.conf import settings

from loom.errors import CommandError

log = logging.getLogger("heddle.live")

FULL = 1013  # "try again later": the close code for who finds no room
MOST_ANSWERED = 32  # sockets that are told so at the same time; more are refused with 503
LOGGED_S = 60.0


class Capacity:
    """The places of one process."""

    def __init__(self) -> None:
        self.held = 0
        self.refused = 0  # since the start
        self.answered = 0  # who found none and is being told
        self._logged_at = -LOGGED_S

    @asynccontextmanager
    async def place(self) -> AsyncIterator[bool]:
        """Holds a place, and yields whether there was one."""
        if self.held >= settings.SOCKETS:
            self._log()
            self.refused += 1
            self.answered += 1
            try:
                yield False
            finally:
                self.answered -= 1
            return
        self.held += 1
        try:
            yield True
        finally:
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
