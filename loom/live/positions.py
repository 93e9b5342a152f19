"""Who is where in one stream, as each process reports it of its sockets. Values that expire."""

from dataclasses import dataclass, field
from typing import Any

Place = dict[str, Any]  # {participant, node, buffer?}
TTL_S = 25.0


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
            self.others[process] = (now + TTL_S, places)
        else:
            self.others.pop(process, None)
        self.version += before != places

    def expire(self, now: float) -> bool:
        """Removes processes that have not reported for long; returns whether there were any."""
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
