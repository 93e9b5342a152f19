"""Texts of running generations as one process has heard them. Plain values, no sockets."""

from dataclasses import dataclass, field


@dataclass
class Partial:
    """One generation's text so far. `epoch` changes when it had to be started over."""

    uid: str
    text: str = ""
    chunk: int = 0
    epoch: int = 0
    is_catching_up: bool = False
    waiting: dict[int, str] = field(default_factory=dict)

    def hear(self, chunk: int, text: str) -> bool:
        """Takes a delta; whether there is a gap, so that the row has to be read.

        Repeats are dropped, and what came too early waits for the gap to be closed.
        """
        if chunk > self.chunk:
            self.waiting[chunk] = text
        self._close_up()
        return bool(self.waiting)

    def catch_up(self, chunk: int, text: str) -> None:
        """Takes text and chunk from the generation's row, which holds all of it."""
        if chunk > self.chunk or (chunk == self.chunk and text != self.text):
            if not text.startswith(self.text):
                self.epoch += 1
            self.text, self.chunk = text, chunk
        for early in [n for n in self.waiting if n <= self.chunk]:
            del self.waiting[early]
        self._close_up()

    def _close_up(self) -> None:
        while (piece := self.waiting.pop(self.chunk + 1, None)) is not None:
            self.text += piece
            self.chunk += 1


@dataclass
class Reader:
    """How far one socket has been told one generation's text, and when it was told last."""

    epoch: int = 0
    offset: int = 0
    chunk: int = 0
    told_at: float = 0.0

    def is_behind(self, partial: Partial) -> bool:
        """Whether there is something to tell."""
        return (self.epoch, self.chunk) != (partial.epoch, partial.chunk)

    def take(self, partial: Partial, now: float) -> tuple[str, bool]:
        """What is still to be told, and whether it is the whole text; then it counts as told."""
        if self.epoch != partial.epoch:
            self.epoch, self.offset = partial.epoch, 0
        piece, whole = partial.text[self.offset :], self.offset == 0
        self.offset, self.chunk, self.told_at = len(partial.text), partial.chunk, now
        return piece, whole
