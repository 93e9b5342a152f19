"""Orders: which generations one call answers."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from agents.context.overlap import Overlap
from agents.context.subject_request import SubjectPath
from agents.context.values import Portion
from agents.providers.values import (
    ProviderRequest,
)
from loom.participants.prices import caches_from

if TYPE_CHECKING:  # this module is also imported without loaded apps
    from loom.access import Actor
    from loom.trees.models import Tree
    from loom.turns.models import Generation
from agents.providers.registry import Provider

# The order of a generation: the request, its provider and settings, and its calls.


@dataclass(frozen=True)
class AskedParticipant:
    """The participant that is asked, and its provider."""

    provider: Provider
    base_url: str
    model: str


@dataclass(frozen=True)
class GenerationOrder:
    """A request to be made: its participant, its content and its settings."""

    provider: Provider
    reading: SubjectPath
    ask: ProviderRequest
    configuration: str
    left_out: str = ""  # settings that are not sent
    note: str = ""
    purpose: str = "continue"
    text: str = ""  # of a buffer, which a chat continues
    portions: tuple[Portion, ...] = ()  # its sections, for people
    until: datetime | None = None  # of a round: when the time of its turn ends
    allow: tuple[str, ...] = ()  # private addresses that may be called
    sees: "tuple[Actor, Tree] | None" = None  # whose images are sent along, and where

    @property
    def strategy(self) -> str:
        """How a buffer is sent; "" for anything else."""
        return self.reading.strategy or "" if self.purpose == "continue" else ""

    def overlap(self) -> Overlap | None:
        """How the start of an answer is matched with the buffer; None if it is used as it is."""
        return Overlap(self.text, self.strategy) if self.text else None

    @property
    def tokens(self) -> int:
        """The approximate number of tokens sent: a quarter of the bytes."""
        texts = (message["content"] for message in self.ask.messages or ())
        return len("".join([self.ask.prompt or "", *texts]).encode()) // 4

    def shared(self, many: int) -> "GenerationOrder":
        """The order for many candidates in one answer."""
        return replace(self, ask=replace(self.ask, many=many))


@dataclass(frozen=True)
class CallGroup:
    """Generations that this worker runs with one call, under one lease. `primes` is set at the
    first word of this call; `waits_for` is that of another call, which reads the same path first,
    so that the provider has it in its cache."""

    lease: str
    generations: tuple["Generation", ...]
    order: GenerationOrder
    primes: asyncio.Event | None = None
    waits_for: asyncio.Event | None = None

    @property
    def lane(self) -> str:
        """The lane that gets a free place when this ends."""
        return self.generations[0].lane


def by_calls(lease: str, going: list["Generation"], order: GenerationOrder) -> list[CallGroup]:
    """One call for all if the provider shares them out, else a call for each; the first is sent
    ahead if the others can then read its path from the provider's cache."""
    if order.provider.shares and len(going) > 1:
        return [CallGroup(lease, tuple(going), order.shared(len(going)))]
    calls = [CallGroup(lease, (generation,), order) for generation in going]
    least = caches_from(going[0].participant)
    if len(calls) < 2 or least is None or order.tokens < least:
        return calls
    primed = asyncio.Event()
    first, *rest = calls
    return [replace(first, primes=primed), *(replace(call, waits_for=primed) for call in rest)]
