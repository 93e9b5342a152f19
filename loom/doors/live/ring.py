"""The last events of one stream, rendered once, for all sockets of the process."""

from collections import deque
from dataclasses import dataclass, field

MAX_EVENTS = 1024
MAX_CHARACTERS = 16 * 1024 * 1024


@dataclass(frozen=True)
class Entry:
    """One event as a frame. `hidden` is the frame for roles in `hidden_from`."""

    seq: int
    kind: str
    frame: str
    hidden: str = ""
    hidden_from: frozenset[str] = frozenset()

    def frame_for(self, role: str) -> str:
        """What somebody with this role is sent."""
        return self.hidden if role in self.hidden_from else self.frame


@dataclass
class Ring:
    """Entries in order without gaps, from after `floor` to `head`; old ones fall out."""

    head: int
    floor: int = -1
    _entries: deque[Entry] = field(default_factory=deque)
    _size: int = 0

    def __post_init__(self) -> None:
        self.floor = self.head

    def extend(self, entries: list[Entry]) -> None:
        """Takes the entries that follow `head`; repeats are dropped."""
        for entry in entries:
            if entry.seq != self.head + 1:
                if entry.seq <= self.head:
                    continue
                raise ValueError(f"event {entry.seq} does not follow {self.head}")
            self._entries.append(entry)
            self._size += len(entry.frame)
            self.head = entry.seq
        while len(self._entries) > MAX_EVENTS or (
            self._size > MAX_CHARACTERS and len(self._entries) > 1
        ):
            gone = self._entries.popleft()
            self._size -= len(gone.frame)
            self.floor = gone.seq

    def after(self, seq: int, *, limit: int = 64) -> list[Entry]:
        """The next entries after `seq`, which must not lie below the floor."""
        start = seq - self.floor
        return [self._entries[i] for i in range(start, min(start + limit, len(self._entries)))]
