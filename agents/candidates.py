"""The growing text of a candidate: stored, announced, ended."""

import asyncio
import contextlib

from agents.context.overlap import Overlap
from agents.providers.values import ToolUsed
from loom.engine.announcements import send_async
from loom.money import spending
from loom.trees.commands.node_writer import MAX_NODE_BYTES
from loom.turns.generation_lifecycle import CUT_OFF, PAUSED
from loom.turns.models import Generation
from loom.workspace.provider_results import MOST_USES, ProviderUse

# The text of one generation while it grows.


BETWEEN_MESSAGES_S = 0.05
PAUSE = "pause_turn"  # why an answer of the Anthropic-shaped API ended before it was whole
SEND_S = 2.0  # seconds; a broker that hangs must not delay the text, which is in the row


class GrowingCandidate:
    """The growing text of one generation, the `index`th of the answer. Used on the event loop
    only."""

    def __init__(
        self,
        generation: Generation,
        index: int,
        *,
        stream: str,
        overlap: Overlap | None = None,
    ) -> None:
        self.generation = generation
        self._overlap = overlap
        self.index = index
        self.uid = generation.uid
        self.shown = ""
        self.chunk = 0
        self.is_open = True
        self.is_whole = False
        self.reason = ""
        self.uses: list[ProviderUse] = []
        self._prices = spending.allowed(generation)
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
        """Whether any text has arrived."""
        return bool(self.shown or self._waiting or (self._overlap and self._overlap.holds))

    @property
    def note(self) -> str:
        """What was changed where the answer meets the text. What was left out of the request is a
        note of its call."""
        return self._overlap.note if self._overlap else ""

    @property
    def is_paused(self) -> bool:
        """Whether its provider paused in the middle of the answer, to be asked to go on."""
        return self.reason == PAUSE

    @property
    def whole(self) -> str:
        """How it finished if nothing interrupted it, also that it reached its limit. A round that
        was paused goes on in the next one, with what its tools returned; nobody asks for the rest
        of another answer but a person."""
        if self.is_paused:
            return PAUSED if self.generation.round > 0 else f"interrupted:{PAUSED}"
        return CUT_OFF if self.reason in ("length", "max_tokens") else "complete"

    @property
    def has_news(self) -> bool:
        """Whether more was shown than its row has stored."""
        return self.chunk > self._written

    def written(self) -> tuple[str, int]:
        """The values that its row should have now."""
        self._written = self.chunk
        return self.shown, self.chunk

    @property
    def wrote(self) -> int:
        """The approximate number of tokens that arrived: at least one for each piece."""
        return max(self._pieces, -(-self._bytes // 4))

    @property
    def tokens(self) -> int:
        """The approximate number of tokens by bytes alone: pieces may be single letters."""
        return -(-self._bytes // 4)

    @property
    def lacks(self) -> int:
        """Its cost so far, if that is more than is reserved; else 0."""
        if self._prices is None:
            return 0
        cost = self._prices.reading(self.generation.reading) + self._prices.writing(self.wrote)
        return cost if cost > self.reserved else 0

    def note_use(self, used: ToolUsed) -> None:
        """Notes what the provider did with a tool of its own, if it is for an agent in a turn."""
        if self.generation.round > 0 and len(self.uses) < MOST_USES:
            self.uses.append(ProviderUse(used.name, used.asked, used.text))

    def add(self, text: str) -> bool:
        """Adds a piece. False if the node would become too large: the piece is cut there."""
        size = len(text.encode())
        self._pieces += 1
        self._bytes += size
        if size > self._room:
            text = text.encode()[: self._room].decode(errors="ignore")
        self._room -= size
        self._wait(self._overlap.feed(text) if self._overlap else text)
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
        """Sends the waiting text as one message."""
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
        """Accepts no more pieces; shows what is still waiting."""
        self.is_open = False
        async with self._sending:
            self._sender.cancel()
        if self._overlap:
            self._wait(self._overlap.rest())
        await self._show()
