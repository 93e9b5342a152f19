"""First token and throughput of our own adapter and of LiteLLM, by turns, over the same
scripted provider at 80 tokens a second and as fast as it goes.

Run: python -m bench.providers [rounds]
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence

import httpx

from agents.providers.attempt import ProviderAttempt
from agents.providers.litellm import LiteLLMTransport
from agents.providers.openai import LiteLLM, OpenAI
from agents.providers.transport import CheckedTransport, Limits
from agents.providers.values import Adapter, Delta, ProviderRequest
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

TOKENS, RATE = 80, 80.0
Figures = tuple[float, float, float]


async def once(
    provider: ScriptedProvider, adapter: Adapter, transport: httpx.AsyncBaseTransport, model: str
) -> Figures:
    """Milliseconds to the first token, tokens a second, milliseconds of processor time."""
    messages = ({"role": "user", "content": "Who is Marie?"},)
    ask = ProviderRequest(provider.url, model, messages, None, key="sk-bench")
    attempt = ProviderAttempt(adapter, ask, adapter.body(ask))
    begin, spent, first, count = time.perf_counter(), time.thread_time(), 0.0, 0
    async for event in attempt.events(transport, Limits()):
        if isinstance(event, Delta):
            count += 1
            first = first or time.perf_counter() - begin
    whole = time.perf_counter() - begin
    return first * 1000, count / whole, (time.thread_time() - spent) * 1000


async def measure(provider: ScriptedProvider, rounds: int) -> None:
    """Rounds by turns; the first of each is not counted."""
    own = OpenAI(), CheckedTransport((provider.entry,)), "m"
    other = LiteLLM(), LiteLLMTransport((provider.entry,)), "openai/m"
    for rate in (RATE, 0.0):
        provider.default = tokens(TOKENS, rate)
        by_provider: dict[str, list[Figures]] = {"own": [], "LiteLLM": []}
        for number in range(rounds + 1):
            for name, way in (("own", own), ("LiteLLM", other)):
                figures = await once(provider, *way)
                if number:
                    by_provider[name].append(figures)
        show(f"{rate:g} tokens a second" if rate else "as fast as it goes", by_provider)


def show(title: str, by_provider: dict[str, list[Figures]]) -> None:
    """Medians, and ratios of them."""
    print(f"{title}, {TOKENS} tokens, {len(by_provider['own'])} rounds")
    middle = {name: _medians(rows) for name, rows in by_provider.items()}
    for name, (first, speed, cpu) in middle.items():
        print(f"  {name:8} first token {first:7.1f} ms   {speed:8.1f} tokens/s   cpu {cpu:6.1f} ms")
    ratios = [a / b if b else 0 for a, b in zip(middle["LiteLLM"], middle["own"], strict=True)]
    first, speed, cpu = ratios
    print(f"  LiteLLM / own: first token × {first:.2f}, speed × {speed:.2f}, cpu × {cpu:.2f}")


def _medians(rows: Sequence[Figures]) -> Figures:
    first, speed, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
    return first, speed, cpu


if __name__ == "__main__":
    with ScriptedProvider() as scripted:
        asyncio.run(measure(scripted, int(sys.argv[1]) if len(sys.argv) > 1 else 10))
