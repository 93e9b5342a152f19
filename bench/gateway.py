"""What the gateway adds to the first token of an answer, beside the same request sent directly.

A whole Heddle in its own processes passes requests on to a scripted provider on loopback. In each
round each way holds a conversation of TURNS requests, in turn, with a short pause before each, as
programs have that run a tool; medians of all requests, and of the first of each conversation.
Run: python -m bench.gateway [rounds]
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx

from config.supervisor.processes import free_port
from tests.kills.heddle import Heddle
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

AIM_MS = 10.0
COUNT, RATE = 20, 200.0
TURNS = 4
PAUSE_S = 0.05


Messages = list[dict[str, str]]


async def first_token(client: httpx.AsyncClient, url: str, key: str, messages: Messages) -> float:
    """Milliseconds from sending a request to the first piece of its text. The answer is added to
    what was `said`."""
    body = {"model": "m", "stream": True, "messages": messages}
    headers = {"authorization": f"Bearer {key}"}
    start, first = time.perf_counter(), 0.0
    pieces = []
    async with client.stream(
        "POST", f"{url}/chat/completions", json=body, headers=headers
    ) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if not first and '"content": "w' in line.replace('":"', '": "'):
                first = time.perf_counter()
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    pieces.append(choice["delta"].get("content") or "")
    messages.append({"role": "assistant", "content": "".join(pieces)})
    return (first - start) * 1000


async def measure(direct: str, gateway: str, keys: dict[str, str], rounds: int) -> None:
    """Prints the medians of both ways and of each mode, and what the gateway adds."""
    ways = {"direct": (direct, "none"), **{mode: (gateway, key) for mode, key in keys.items()}}
    every: dict[str, list[float]] = {name: [] for name in ways}
    opening: dict[str, list[float]] = {name: [] for name in ways}
    async with httpx.AsyncClient(timeout=60) as client:
        for number in range(rounds + 2):
            held: dict[str, Messages] = {name: [] for name in ways}
            for turn in range(TURNS):
                for name, (url, key) in ways.items():
                    await asyncio.sleep(PAUSE_S)
                    held[name].append({"role": "user", "content": f"Round {number} turn {turn}"})
                    took = await first_token(client, url, key, held[name])
                    if number >= 2:  # the first ones load what all use
                        every[name].append(took)
                        opening[name] += [] if turn else [took]
    for title, taken in (("first token", every), ("of a new session", opening)):
        medians = {name: statistics.median(many) for name, many in taken.items()}
        for name, median in medians.items():
            more = median - medians["direct"]
            aim = f"   aim ≤ {AIM_MS:g} {'met' if more <= AIM_MS else 'MISSED'}"
            print(f"  {title + ', ' + name:<28} {median:8.1f} ms {more:+8.1f}{aim if more else ''}")


def prepared(heddle: Heddle, provider: ScriptedProvider) -> dict[str, str]:
    """A gateway key of each mode for a model at the provider."""
    with heddle.client() as client:
        body = {"name": "Scripted", "model_ref": "openai:s", "base_url": provider.url}
        client.post("participants", json=body).raise_for_status()
    keys = {}
    for mode in ("observe", "workspace"):
        output = heddle.manage("gatewaykey", "owner", mode, "--model", "Scripted", "--mode", mode)
        keys[mode] = output.strip().splitlines()[-1]
    return keys


def main() -> None:
    """Measures with a fresh installation."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedProvider(default=tokens(COUNT, RATE)) as provider,
    ):
        heddle = Heddle(Path(folder), allow=provider.entry, port=free_port("127.0.0.1", 0))
        heddle.start()
        try:
            keys = prepared(heddle, provider)
            url = f"{heddle.url}/gateway/v1"
            asyncio.run(measure(provider.url, url, keys, rounds))
        finally:
            heddle.stop()


if __name__ == "__main__":
    main()
