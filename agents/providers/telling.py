"""What an adapter is asked, and what it tells while an answer comes."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.providers.exchange import Exchange, Outgoing
from agents.providers.failures import Failure


@dataclass(frozen=True)
class Blocks:
    """A message by its blocks: up to the `kept`th it stays as it is in later requests."""

    role: str
    texts: tuple[str, ...]
    kept: int = 0


@dataclass(frozen=True)
class Ask:
    """A request in a provider's own words, but for its shape. `messages` for a chat,
    `prompt` for a completion; `many` candidates in one answer; `grammar` in GBNF, to
    which the answer is held. `blocks` are the messages but the system's once more, for
    providers that take them apart; `goes_on`: with the last message, the model's own."""

    base_url: str
    model: str
    messages: tuple[dict[str, str], ...] | None
    prompt: str | None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    many: int = 1
    grammar: str = ""
    blocks: tuple[Blocks, ...] = ()
    goes_on: bool = False
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Delta:
    """Text that came for the candidate `index` (from 0)."""

    text: str
    index: int = 0


@dataclass(frozen=True)
class Finished:
    """The candidate `index` is whole. `reason` is the provider's: stop, length, …"""

    index: int = 0
    reason: str = "stop"


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counted them: of one candidate, or (None) of the whole answer."""

    counts: dict[str, int]
    index: int | None = None


Told = Delta | Finished | Usage | Failure
Body = dict[str, Any]
Shape = Literal["openai"]


class Adapter(Protocol):
    """One shape of API. A failure is told as the last thing, never raised."""

    name: str
    is_exact: bool  # whether the bytes that come are the provider's own

    def body(self, ask: Ask) -> Body:
        """The JSON of the request."""
        ...

    def outgoing(self, ask: Ask, body: Body) -> Outgoing:
        """The request with its key."""
        ...

    def told(self, exchange: Exchange) -> AsyncGenerator[Told, None]:
        """What the answer tells, piece by piece. May raise Broken."""
        ...

    def adjusted(self, body: Body, failure: Failure) -> Body | None:
        """The body without what this server does not take, if that is why it failed."""
        ...
