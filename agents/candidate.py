"""One candidate while it comes: its text, what viewers were shown of it, and when.

A piece is shown at once where nothing was shown for 50 ms, else with the next ones, so that
a viewer gets at most 20 messages a second. `chunk` counts messages: the row's text at chunk k
is what messages 1 to k held, so that a viewer who has read the row drops the rest.
"""

import asyncio
import contextlib

from agents.context.seam import Seam
from loom.commands import money
from loom.commands.growth import MAX_NODE_BYTES
from loom.commands.landing import CUT_OFF
from loom.log.announce import send_async
from loom.models import Generation

BETWEEN_MESSAGES_S = 0.05
SEND_S = 2.0  # a broker that hangs holds nothing up: the row has the text


class Candidate:
    """The growing text of one generation, the answer's `index`th. Lives on the loop."""

    def __init__(
        self, generation: Generation, index: int, *, stream: str, seam: Seam | None = None
    ) -> None:
        self.generation = generation
        self._seam = seam
        self.index = index
        self.uid = generation.uid
        self.shown = ""
        self.chunk = 0
        self.is_open = True
        self.is_whole = False
        self.reason = ""
        self._prices = money.allowed(generation)
        self.reserved = generation.reserved
        self._pieces = self._bytes = 0
        self._written = 0
        self._stream = stream
        self._waiting: list[str] = []
        self._room = MAX_NODE_BYTES
        self._news = asyncio.Event()
        self._sending = asyncio.Lock()
        self._sender = asyncio.create_task(self._send_on())

    @property
    def has_text(self) -> bool:
        """Whether anything came at all."""
        return bool(self.shown or self._waiting or (self._seam and self._seam.holds))

    @property
    def note(self) -> str:
        """What was done where it meets the text it goes on with."""
        return self._seam.note if self._seam else ""

    @property
    def whole(self) -> str:
        """How it finished where nothing broke it off: a round tells when it could be no longer."""
        is_cut = self.reason in ("length", "max_tokens") and self.generation.round
        return CUT_OFF if is_cut else "complete"

    @property
    def has_news(self) -> bool:
        """Whether more was shown than its row holds."""
        return self.chunk > self._written

    def written(self) -> tuple[str, int]:
        """What its row is to hold now."""
        self._written = self.chunk
        return self.shown, self.chunk

    @property
    def wrote(self) -> int:
        """About how many tokens came: a piece is one at least."""
        return max(self._pieces, -(-self._bytes // 4))

    @property
    def lacks(self) -> int:
        """What it came to so far, where that is more than is reserved; else 0."""
        if self._prices is None:
            return 0
        cost = self._prices.reading(self.generation.reading) + self._prices.writing(self.wrote)
        return cost if cost > self.reserved else 0

    def add(self, text: str) -> bool:
        """Takes a piece. False where a node can hold no more: the piece is cut there."""
        size = len(text.encode())
        self._pieces += 1
        self._bytes += size
        if size > self._room:
            text = text.encode()[: self._room].decode(errors="ignore")
        self._room -= size
        self._wait(self._seam.hear(text) if self._seam else text)
        return self._room >= 0

    def _wait(self, text: str) -> None:
        if text:
            self._waiting.append(text)
            self._news.set()

    async def _send_on(self) -> None:
        while True:
            await self._news.wait()
            await self._show()
            await asyncio.sleep(BETWEEN_MESSAGES_S)

    async def _show(self) -> None:
        """Sends what waits as one message."""
        async with self._sending:
            self._news.clear()
            text, self._waiting = "".join(self._waiting), []
            if not text:
                return
            self.chunk += 1
            self.shown += text
            message = {"type": "delta", "generation": self.uid, "chunk": self.chunk, "text": text}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(send_async(self._stream, message), SEND_S)

    async def close(self) -> None:
        """Takes no more; shows what still waits."""
        self.is_open = False
        async with self._sending:
            self._sender.cancel()
        if self._seam:
            self._wait(self._seam.rest())
        await self._show()
