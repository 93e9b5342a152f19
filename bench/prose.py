"""How well a chat goes on with a text, by the way in which it is handed over.

Starts the embedded model and has it go on with openings that stop in the middle of a sentence,
every third before a blank and every fourth in the middle of a word. Prints for each way the
share of answers that go on with the text itself, that repeated its end, and whose overlap is
right. Run: python -m bench.prose [openings] [url model]
"""

import asyncio
import re
import statistics
import sys
import time
from dataclasses import dataclass

from agents.context.overlap import Overlap, goes_on
from agents.context.subject_request import PLAIN, handed_over
from agents.providers.attempt import ProviderAttempt
from agents.providers.openai import OpenAI
from agents.providers.transport import CheckedTransport, Limits
from agents.providers.values import Delta, ProviderRequest
from bench.acting import start
from loom.participants.provider_kinds import WAYS

TOKENS = 24
AT_ONCE = 2
PATIENT = Limits(first_s=900, idle_s=900, total_s=1800)  # a busy machine is no failure
OPENINGS = (
    "The old clock struck nine, and Marie opened the",
    "She had never learned to swim, but the river was",
    "By the time the letter arrived, nobody remembered who",
    "The recipe calls for two eggs, a little flour and",
    "He counted the coins twice and put them back into the",
    "Beyond the last house the road turns to sand, and then",
    "The experiment failed because the temperature of the",
    "My grandmother kept bees behind the",
    "When the lights went out, the orchestra went on",
    "To change the wheel, first loosen the",
    "It was raining in the harbour. The ships lay",
    '"You should not have come," she said, and closed the',
    "The cat sat on the wall and watched the",
    "In the spring of that year the bridge was",
    "Nobody had told the children that the school would",
    "The king had three daughters, and the youngest of them",
    "After the war he went back to the village where",
    "The wind came down from the mountains and",
    "Under the stairs there was a door that",
    "They walked until the path ended at a",
)
CHATTERS = re.compile(
    r"\W*(sure|of course|certainly|here('s| is| are)|i'm|i am|i'd|i can|the (text|passage|sentence)"
    r"|this (text|passage|sentence)|that's a|it (seems|sounds)|you)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Tried:
    """One opening, the answer to it, and what would stand in the new node."""

    text: str
    answer: str
    stands: str
    note: str

    @property
    def is_text(self) -> bool:
        """Whether it goes on in the sentence, and does not talk about it."""
        return goes_on(self.text, self.stands) and not CHATTERS.match(self.stands)

    @property
    def fits(self) -> bool:
        """Whether words neither run together nor stand two blanks apart where the two meet."""
        both = self.text[-1:] + self.stands[:1]
        return self.is_text and not both.isspace() and not self.runs_together

    @property
    def runs_together(self) -> bool:
        """A whole word that is gone on with as if it were half a one."""
        is_half = self.text not in OPENINGS
        return not is_half and self.text[-1:].isalnum() and self.stands[:1].isalnum()


def openings(many: int) -> list[str]:
    """The texts: as they are, with a blank at the end, cut in the last word."""
    texts = []
    for number in range(many):
        text = OPENINGS[number % len(OPENINGS)]
        if number % 3 == 2:
            text += " "
        elif number % 4 == 3 and len(text.split()[-1]) > 3:
            text = text[:-2]
        texts.append(text)
    return texts


async def tried(url: str, model: str, text: str, way: str) -> Tried:
    """One opening gone on with; `completion` sends it as a prompt."""
    is_prompt = way == "completion"
    messages = None if is_prompt else handed_over("", text, way)
    ask = ProviderRequest(url, model, messages, text if is_prompt else None, 0.7, TOKENS,
              goes_on=way == "continue_final")  # fmt: skip
    adapter = OpenAI()
    attempt = ProviderAttempt(adapter, ask, adapter.body(ask))
    transport = CheckedTransport(("127.0.0.1",))
    pieces = [
        event.text async for event in attempt.events(transport, PATIENT) if isinstance(event, Delta)
    ]
    answer = "".join(pieces)
    if is_prompt:
        return Tried(text, answer, answer, "")
    overlap = Overlap(text, way)
    stands = overlap.feed(answer) + overlap.rest()
    return Tried(text, answer, stands, overlap.note)


async def measured(url: str, model: str, way: str, texts: list[str]) -> None:
    """A row for one way, and its first answers."""
    places = asyncio.Semaphore(AT_ONCE)
    times: list[float] = []

    async def timed(text: str) -> Tried:
        async with places:
            began = time.perf_counter()
            reply = await tried(url, model, text, way)
            times.append(time.perf_counter() - began)
            return reply

    replies = await asyncio.gather(*(timed(text) for text in texts))
    many = len(replies)
    print(
        f"{way:15} goes on {share(sum(reply.is_text for reply in replies), many)}  "
        f"repeated the end {share(sum('repeat' in reply.note for reply in replies), many)}  "
        f"overlap right {share(sum(reply.fits for reply in replies), many)}  "
        f"median {statistics.median(times):.1f} s",
        flush=True,
    )
    for shown in replies[:3]:
        print(f"    …{shown.text[-24:]!r} → {shown.stands[:60]!r}", flush=True)


def share(some: int, many: int) -> str:
    """So many of how many."""
    return f"{some:3}/{many}"


async def rows(url: str, model: str, many: int) -> None:
    """Every way, the plain ones first."""
    for way in ("completion", PLAIN, *WAYS):
        await measured(url, model, way, openings(many))


def main(many: int, url: str = "", model: str = "smollm2") -> None:
    """Prints the table for a server, or for the embedded model."""
    process = None
    if not url:
        process, url = start()
    try:
        asyncio.run(rows(url, model, many))
    finally:
        if process is not None:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, *sys.argv[2:4])
