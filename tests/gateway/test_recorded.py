"""Conversations as real programs held them over the gateway, with a scripted provider behind it:
their requests as JSON, each with what the provider answered.

A recording names the program, its address, and what the tree looks like afterwards (`forks`: the
texts that stand beside each other). An exchange has the headers and the body around the messages
where these change, how many messages of the request before it `keep`s, and the `items` after them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from tests.gateway.conftest import Program, run
from tests.gateway.random_sessions import StrictProvider
from tests.gateway.test_hosted import streamed
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)
RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
Exchange = tuple[dict[str, str], dict[str, Any], dict[str, Any]]  # headers, request, answer


def exchanges(recorded: dict[str, Any]) -> Iterator[Exchange]:
    """The headers of each request, its body, and what was answered."""
    key = "input" if recorded["address"] == "/responses" else "messages"
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}
    items: list[Any] = []
    for exchange in recorded["exchanges"]:
        headers, body = exchange.get("headers", headers), exchange.get("body", body)
        items = [*items[: exchange["keep"]], *exchange["items"]]
        yield headers, {**body, key: items}, exchange["answer"]


def events(address: str, answer: dict[str, Any]) -> Script:
    """The answer as its provider streams it."""
    if address != "/responses":
        return streamed(answer)
    response = {"id": f"resp_{answer['id']}", "object": "response", "output": [answer]}
    lines: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": response["id"], "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": answer},
        {"type": "response.output_item.done", "output_index": 0, "item": answer},
        {"type": "response.completed", "response": {**response, "status": "completed"}},
    ]
    body = "".join(f"event: {line['type']}\ndata: {json.dumps(line)}\n\n" for line in lines)
    return Script(body=body.encode(), headers=(("content-type", "text/event-stream"),))


class GrowingProvider:
    """A provider that holds a program to what it was sent before: what the program keeps of its
    last request stands in front of the next one, byte for byte."""

    def __init__(self, key: str) -> None:
        self._key, self._before = key, ([], [])  # type: tuple[str, tuple[list[Any], list[Any]]]

    def look(self, asked: dict[str, Any], sent: dict[str, Any]) -> None:
        """Checks a request against the one before it."""
        earlier, seen = self._before
        if earlier and asked[self._key][: len(earlier)] == earlier:
            assert sent[self._key][: len(seen)] == seen, "bytes changed"
        self._before = asked[self._key], sent[self._key]


@pytest.mark.parametrize("mode", ["observe", "workspace"])
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_conversation_is_one_tree_with_exactly_these_branches(
    actor: Actor, model: Participant, provider: ScriptedProvider, mode: str, path: Path
) -> None:
    recorded: dict[str, Any] = json.loads(path.read_text())
    address = recorded["address"]
    secret = make_key(actor.user, model.uid, name="program", mode=mode)[1]
    growing = GrowingProvider("input" if address == "/responses" else "messages")
    strict = StrictProvider("chat")
    count = 0
    for headers, asked, answer in exchanges(recorded):
        count += 1
        provider.script(events(address, answer))
        got = run(Program(secret, headers).send("POST", address, asked))
        sent = provider.seen[-1].json
        assert got.status == 200 and "x-loom" not in got.headers
        if mode == "observe":
            assert sent == asked
        growing.look(asked, sent)
        if address != "/responses":
            strict.look(asked, sent, "")
    tree = Tree.objects.get(pk__in=GatewaySession.objects.values("tree"))  # one of them all
    below: dict[int | None, list[str]] = {}
    for node in Node.objects.filter(tree=tree).order_by("id"):
        below.setdefault(node.parent_slot_id, []).append(node.text)
    forks = [texts for texts in below.values() if len(texts) > 1]
    assert forks == recorded["forks"]
    assert GatewayRequest.objects.filter(bypass="", status="done").count() == count
