"""Who is where in one stream, over all processes. Plain values with an expiry."""

from dataclasses import dataclass, field
from typing import Any

Place = dict[str, Any]  # {participant, node, buffer?}
TTL_S = 50.0


@dataclass
class Here:
    """This process's places by socket, and those other processes told of, by process."""

    own: dict[int, Place] = field(default_factory=dict)
    others: dict[str, tuple[float, list[Place]]] = field(default_factory=dict)
    version: int = 0

    def put(self, socket: int, place: Place) -> bool:
        """Notes where a socket's participant is; whether that is news."""
        if self.own.get(socket) == place:
            return False
        self.own[socket] = place
        self.version += 1
        return True

    def leave(self, socket: int) -> bool:
        """Forgets a socket; whether it had a place."""
        had = self.own.pop(socket, None) is not None
        self.version += had
        return had

    def hear(self, process: str, places: list[Place], now: float) -> None:
        """Takes what another process says about its own sockets."""
        _, before = self.others.get(process, (0.0, []))
        if places:
            self.others[process] = (now + TTL_S, places)
        else:
            self.others.pop(process, None)
        self.version += before != places

    def expire(self, now: float) -> bool:
        """Forgets processes not heard of for long; whether there were any."""
        gone = [process for process, (until, _) in self.others.items() if until < now]
        for process in gone:
            del self.others[process]
        self.version += bool(gone)
        return bool(gone)

    def places(self) -> list[Place]:
        """Everybody who is here; the same place of the same participant is told once."""
        told: list[Place] = []
        for place in [*self.own.values(), *(p for _, ps in self.others.values() for p in ps)]:
            if place not in told:
                told.append(place)
        return told
