"""Carets in a document: the awareness protocol of Yjs, with names that come from the login."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pycrdt import Decoder, write_var_uint

from loom.live.reads import Guest
from loom.rules.shared_text import HostileError

EXPIRES_S = 40.0  # clients of Yjs say every 15 s that they are still there
MOST_STATE = 2048  # bytes of a caret
MOST_CLIENTS = 4  # ids of Yjs that one socket may speak for
COLOURS = "30bced 6eeb83 ffbc42 ecd444 ee6352 9ac2c9 8acb88 1be7ff".split()


@dataclass
class Seen:
    """What one client of Yjs says of itself: its caret. `owner` is a socket, or the name of
    another process."""

    clock: int
    state: str  # JSON; "null": gone
    owner: object
    at: float


def entries_of(body: bytes) -> list[tuple[int, int, str]]:
    """(client, clock, state as JSON) of an awareness update. Raises HostileError."""
    try:
        decoder = Decoder(body)
        many = decoder.read_var_uint()
        if many > 1000:
            raise HostileError("too many clients")
        return [
            (decoder.read_var_uint(), decoder.read_var_uint(), decoder.read_var_string())
            for _ in range(many)
        ]
    except (IndexError, RuntimeError, ValueError):
        raise HostileError("the awareness update cannot be read") from None


@dataclass
class Awareness:
    """The carets in one document, by client. Who somebody is comes from their login, whatever the
    client says."""

    clients: dict[int, Seen] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)

    def take(
        self, owner: object, guest: Guest, entries: list[tuple[int, int, str]], now: float
    ) -> None:
        """What a socket says of its own clients; what it says of others is dropped."""
        own = sum(1 for one in self.clients.values() if one.owner is owner)
        for client, clock, said in entries:
            known = self.clients.get(client)
            if known is not None and known.owner is not owner:
                continue
            if known is None:
                own += 1
                if own > MOST_CLIENTS:
                    continue
            self._put(client, Seen(clock, _state(said, guest), owner, now))

    def take_from(self, process: str, entries: Iterable[Any], now: float) -> None:
        """What another process has sent of its clients."""
        for client, clock, state in entries:
            known = self.clients.get(client)
            if known is None or known.owner == process:
                self._put(client, Seen(clock, state, process, now))

    def _put(self, client: int, seen: Seen) -> None:
        known = self.clients.get(client)
        is_new = known is None or seen.clock > known.clock
        is_end = known is not None and seen.clock == known.clock and seen.state == "null"
        if is_new or is_end:
            self.clients[client] = seen
            self.changed.add(client)
        elif known is not None:
            known.at = seen.at

    def leave(self, owner: object) -> None:
        """The clients of a socket are gone."""
        for client, seen in list(self.clients.items()):
            if seen.owner is owner:
                self.clients[client] = Seen(seen.clock + 1, "null", seen.owner, seen.at)
                self.changed.add(client)

    def expire(self, now: float) -> None:
        """Forgets clients of whom nothing was heard for long."""
        for client, seen in list(self.clients.items()):
            if now - seen.at > EXPIRES_S:
                if seen.state == "null":
                    del self.clients[client]
                else:
                    self.clients[client] = Seen(seen.clock + 1, "null", seen.owner, now)
                    self.changed.add(client)

    def encoded(self, only: Iterable[int] | None = None) -> bytes:
        """The carets as an awareness update of Yjs."""
        chosen = self.clients if only is None else {one: self.clients[one] for one in only}
        parts = [write_var_uint(len(chosen))]
        for client, seen in chosen.items():
            state = seen.state.encode()
            parts += [write_var_uint(client), write_var_uint(seen.clock)]
            parts += [write_var_uint(len(state)), state]
        return b"".join(parts)


def _state(said: str, guest: Guest) -> str:
    """A caret as it is passed on: its place from the client, its name from the login."""
    if len(said) > MOST_STATE:
        raise HostileError("the caret is too long")
    try:
        given = json.loads(said)
    except (ValueError, RecursionError):
        raise HostileError("the caret is no JSON") from None
    if given is None:
        return "null"
    colour = f"#{COLOURS[sum(guest.participant.encode()) % len(COLOURS)]}"
    user = {"id": guest.participant, "name": guest.name, "color": colour}
    state: dict[str, Any] = {"user": {**user, "colorLight": f"{colour}33"}}
    if isinstance(given, dict) and isinstance(given.get("cursor"), dict | None):
        state["cursor"] = given.get("cursor")
    return json.dumps(state)
