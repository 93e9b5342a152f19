"""Asking the scripted provider as the worker does, and gathering what is told."""

import httpx

from agents.providers.attempt import Adapter, Ask, Attempt, Delta, Finished, StreamEvent
from agents.providers.exchange import Failure, Limits
from agents.providers.openai import OpenAI
from agents.providers.transport import CheckedTransport
from tests.providers.scripted import ScriptedProvider

QUICK = Limits(connect_s=5, first_s=5, idle_s=5, total_s=10, body_bytes=1024 * 1024)


def chat(provider: ScriptedProvider, **more: object) -> Ask:
    """A small chat request."""
    messages = ({"role": "user", "content": "Who is Marie?"},)
    return Ask(provider.url, "m", messages, None, **more)  # type: ignore[arg-type]


def completion(provider: ScriptedProvider, prompt: str = "Once", **more: object) -> Ask:
    """A small completion request."""
    return Ask(provider.url, "m", None, prompt, **more)  # type: ignore[arg-type]


async def ask(
    provider: ScriptedProvider,
    asked: Ask,
    limits: Limits = QUICK,
    adapter: Adapter | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> tuple[list[StreamEvent], Attempt]:
    """Everything one attempt is told."""
    adapter = adapter or OpenAI()
    attempt = Attempt(adapter, asked, adapter.body(asked))
    transport = transport or CheckedTransport((provider.entry,))
    return [event async for event in attempt.events(transport, limits)], attempt


def text_of(events: list[StreamEvent]) -> str:
    """The text that was told."""
    return "".join(one.text for one in events if isinstance(one, Delta))


def failure_of(events: list[StreamEvent]) -> Failure:
    """The failure, which must be the last thing told."""
    assert isinstance(events[-1], Failure), events
    return events[-1]


def is_whole(events: list[StreamEvent]) -> bool:
    """Whether an end was told and no failure."""
    return any(isinstance(one, Finished) for one in events) and not any(
        isinstance(one, Failure) for one in events
    )
