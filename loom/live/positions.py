"""Who is where in one stream, as each process reports it of its sockets. Values that expire."""

from dataclasses import dataclass, field
from typing import Any

from loom.engine.presence import LEASE_S

Place = dict[str, Any]  # {participant, node, buffer?}


@dataclass
class Positions:
    """This process's positions by socket, and those that other processes reported, by process."""

    own: dict[int, Place] = field(default_factory=dict)
    others: dict[str, tuple[float, list[Place]]] = field(default_factory=dict)
    version: int = 0

    def put(self, socket: int, place: Place) -> bool:
        """Stores the position of a socket's participant; returns whether it has changed."""
        if self.own.get(socket) == place:
            return False
        self.own[socket] = place
        self.version += 1
        return True

    def leave(self, socket: int) -> bool:
        """Removes a socket; returns whether it had a position."""
        had = self.own.pop(socket, None) is not None
        self.version += had
        return had

    def take(self, process: str, places: list[Place], now: float) -> None:
        """Takes another process's report about its sockets."""
        _, before = self.others.get(process, (0.0, []))
        if places:
            self.others[process] = (now + LEASE_S, places)
        else:
            self.others.pop(process, None)
        self.version += before != places

    def renew(self, process: str, now: float) -> None:
        """Keeps the positions of another process, which has said that it is alive."""
        if process in self.others:
            self.others[process] = (now + LEASE_S, self.others[process][1])

    def expire(self, now: float) -> bool:
        """Removes processes of which nothing was heard for LEASE_S; returns whether there were
        any."""
        gone = [process for process, (until, _) in self.others.items() if until < now]
        for process in gone:
            del self.others[process]
        self.version += bool(gone)
        return bool(gone)

    def places(self) -> list[Place]:
        """Everybody who is present; the same position of the same participant is listed once."""
        places_here: list[Place] = []
        for place in [*self.own.values(), *(p for _, ps in self.others.values() for p in ps)]:
            if place not in places_here:
                places_here.append(place)
        return places_here

    def by_participant(self, process: str) -> dict[str, tuple[str, str]]:
        """The node of each participant and the process that has their page; this one is `process`.
        Of several pages of one participant it is one of this process, if any."""
        others = [(at, place) for at, (_, places) in self.others.items() for place in places]
        own = [(process, place) for place in self.own.values()]
        return {place["participant"]: (place["node"], at) for at, place in others + own}
