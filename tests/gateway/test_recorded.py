"""Conversations as real programs held them over the gateway, with a scripted provider behind it:
their requests byte for byte in JSON, each with what the provider answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from loom.access import Actor
from loom.people.models import Participant
from tests.gateway.conftest import Program, run
from tests.gateway.random_sessions import StrictProvider
from tests.gateway.test_hosted import streamed
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db(transaction=True)
RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


@pytest.mark.parametrize("mode", ["observe", "workspace"])
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_conversation_is_one_session_and_one_branch(
    actor: Actor, model: Participant, provider: ScriptedProvider, mode: str, path: Path
) -> None:
    recorded: dict[str, Any] = json.loads(path.read_text())
    program = Program(make_key(actor.user, model.uid, name="program", mode=mode)[1])
    strict = StrictProvider("chat")
    for exchange in recorded["exchanges"]:
        provider.script(streamed(exchange["delta"]))
        got = run(program.send("POST", recorded["address"], exchange["asked"]))
        sent = provider.seen[-1].json
        assert got.status == 200 and got.body.endswith(b"data: [DONE]\n\n")
        if mode == "observe":
            assert sent == exchange["asked"]
        strict.look(exchange["asked"], sent, "")
    nodes = list(GatewaySession.objects.get().tree.nodes.order_by("id"))
    assert [one.parent_slot_id for one in nodes[1:]] == [one.slot_id for one in nodes[:-1]]
    last = recorded["exchanges"][-1]["asked"]["messages"]
    assert len(nodes) == 1 + sum(one["role"] != "system" for one in last) + 1  # root, answer
    assert GatewayRequest.objects.filter(bypass="").count() == len(recorded["exchanges"])
