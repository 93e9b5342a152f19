"""Asking the scripted provider as the worker does, and gathering the events."""

import asyncio
from dataclasses import replace

import httpx

from agents.providers.attempt import ProviderAttempt
from agents.providers.openai import OpenAI
from agents.providers.transport import CheckedTransport, Limits
from agents.providers.values import Adapter, Delta, Failure, Finished, ProviderRequest, StreamEvent
from tests.patience import pass_time
from tests.providers.scripted import ScriptedProvider

LATER = Limits(connect_s=600, first_s=600, idle_s=600, total_s=3600)  # no machine is so slow
SMALL = replace(LATER, body_bytes=1024 * 1024)


def chat(provider: ScriptedProvider, **more: object) -> ProviderRequest:
    """A small chat request."""
    messages = ({"role": "user", "content": "Who is Marie?"},)
    return ProviderRequest(provider.url, "m", messages, None, **more)  # type: ignore[arg-type]


def completion(provider: ScriptedProvider, prompt: str = "Once", **more: object) -> ProviderRequest:
    """A small completion request."""
    return ProviderRequest(provider.url, "m", None, prompt, **more)  # type: ignore[arg-type]


async def ask(
    provider: ScriptedProvider,
    asked: ProviderRequest,
    limits: Limits = SMALL,
    adapter: Adapter | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> tuple[list[StreamEvent], ProviderAttempt]:
    """Every event of one attempt."""
    adapter = adapter or OpenAI()
    attempt = ProviderAttempt(adapter, asked, adapter.body(asked))
    transport = transport or CheckedTransport((provider.entry,))
    return [event async for event in attempt.events(transport, limits)], attempt


def text_of(events: list[StreamEvent]) -> str:
    """The text of the events."""
    return "".join(event.text for event in events if isinstance(event, Delta))


def failure_of(events: list[StreamEvent]) -> Failure:
    """The failure, which must be the last event."""
    assert isinstance(events[-1], Failure), events
    return events[-1]


def is_whole(events: list[StreamEvent]) -> bool:
    """Whether there was an end and no failure."""
    return any(isinstance(event, Finished) for event in events) and not any(
        isinstance(event, Failure) for event in events
    )


async def ask_as_time_passes(
    provider: ScriptedProvider,
    asked: ProviderRequest,
    seconds: float,
    *,
    after_text: bool = True,
    limits: Limits = LATER,
    adapter: Adapter | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> list[StreamEvent]:
    """Every event where so many seconds pass, by the loop's clock, after the first text
    came; else as soon as the provider has the request."""
    adapter = adapter or OpenAI()
    attempt = ProviderAttempt(adapter, asked, adapter.body(asked))
    transport = transport or CheckedTransport((provider.entry,))
    told: list[StreamEvent] = []

    async def gather() -> None:
        async for event in attempt.events(transport, limits):
            told.append(event)
            if after_text and len(told) == 1:  # once it waits for what comes next
                asyncio.get_running_loop().call_soon(pass_time, seconds)

    gathering = asyncio.create_task(gather())
    if not after_text:
        await asyncio.to_thread(provider.wait_for, len(provider.seen) + 1)
        pass_time(seconds)
    await gathering
    return told
