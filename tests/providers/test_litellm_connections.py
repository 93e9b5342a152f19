"""Where LiteLLM connects: every provider that may be asked, with every connect watched.

The providers run in one process of their own, since an audit hook cannot be taken off again. It
sees each connection that Python opens, by whatever client, and each name that is resolved.
"""

import json
import os
import subprocess
import sys

import pytest

from loom.participants.provider_kinds import LITELLM_BY_HANDLER, LITELLM_BY_SDK
from tests.patience import PATIENCE_S

PROVEN = sorted(LITELLM_BY_SDK | LITELLM_BY_HANDLER)
SECRET = "key-of-the-operator"
CHILD = r"""
import asyncio, json, sys
opened = []

def watch(event, args):
    if event == "socket.connect":
        opened.append(list(args[1][:2]) if isinstance(args[1], tuple) else [str(args[1]), ""])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        opened.append([str(args[0]), "resolved"])

sys.addaudithook(watch)
from agents.providers import registry
assert "litellm" not in sys.modules
from agents.providers.litellm import _library
_library()
assert "litellm" in sys.modules
print(json.dumps({"name": "the import", "opened": opened}), flush=True)
from agents.providers.attempt import ProviderAttempt
from agents.providers.registry import LiteLLM, LiteLLMTransport
from agents.providers.transport import Limits
from agents.providers.values import ProviderRequest
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import redirects, says

LIMITS = Limits(connect_s=60, first_s=60, idle_s=60, total_s=90)

async def asked(name, server, base):
    opened.clear()
    server.seen.clear()
    said = ({"role": "user", "content": "x"},)
    ask = ProviderRequest(base, f"{name}/m", said, None, key="sk-own-key-of-it")
    attempt = ProviderAttempt(LiteLLM(), ask, LiteLLM().body(ask))
    told = [str(one) async for one in attempt.events(LiteLLMTransport((server.entry,)), LIMITS)]
    heads = [one.head.decode("latin-1") + one.body.decode() for one in server.seen]
    return {"opened": list(opened), "heads": heads, "told": told}

async def main():
    with ScriptedProvider() as server, ScriptedProvider() as inside:
        home = ["127.0.0.1", int(server.entry.rsplit(":", 1)[1])]
        for name in sys.argv[1:]:
            server.default = says("a", "b")
            plain = await asked(name, server, server.url)
            server.default = redirects(f"{inside.url}/chat/completions", 307)
            moved = await asked(name, server, server.url)
            away = await asked(name, server, "https://litellm.invalid/v1")
            moved["inside"] = len(inside.seen)
            row = {"name": name, "home": home, "plain": plain, "moved": moved, "away": away}
            print(json.dumps(row), flush=True)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, object]]:
    """What each provider did: at its address, redirected, and without an address of its own."""
    names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "GROQ", "MISTRAL", "XAI", "DEEPSEEK")
    proxy = "http://127.0.0.1:9"
    env = os.environ | {f"{name}_API_KEY": SECRET for name in names}
    env |= {"AWS_ACCESS_KEY_ID": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET, "OPENAI_ORG_ID": ""}
    env |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"), proxy)
    env.pop("NO_PROXY", None)
    env.pop("no_proxy", None)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *PROVEN],
        env=env,
        capture_output=True,
        text=True,
        timeout=6 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    listed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["name"]: row for row in listed}


def test_it_is_imported_only_when_it_is_used_and_then_asks_no_network(
    rows: dict[str, dict[str, object]],
) -> None:
    assert rows["the import"]["opened"] == []


@pytest.mark.parametrize("name", PROVEN)
def test_it_connects_to_the_checked_address_only(name: str, rows: dict[str, dict]) -> None:  # type: ignore[type-arg]
    row = rows[name]
    for case in ("plain", "moved"):
        assert row[case]["heads"], row[case]["told"]
        elsewhere = [
            connection
            for connection in row[case]["opened"]
            if connection != row["home"] and connection != ["127.0.0.1", "resolved"]
        ]
        assert elsewhere == [], case
        assert "sk-own-key-of-it" in row[case]["heads"][0]
        assert SECRET not in str(row[case]["heads"])
    assert row["moved"]["inside"] == 0


@pytest.mark.parametrize("name", PROVEN)
def test_without_an_address_it_asks_for_one_host_alone(name: str, rows: dict[str, dict]) -> None:  # type: ignore[type-arg]
    hosts = {host for host, what in rows[name]["away"]["opened"] if what == "resolved"}
    assert len(hosts) <= 1
    assert not [connection for connection in rows[name]["away"]["opened"] if connection[1] == 9], (
        "the proxy was asked"
    )
