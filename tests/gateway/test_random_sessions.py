"""Whatever happens in random sessions, the mode workspace never changes a byte that the provider
has seen. A hundred of them, with kills of the real server: tests/kills/test_gateway_sessions.py."""

import asyncio
import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from agents.gateway import forwarding, hiding, recording, workspace
from agents.gateway.keys import make_key
from agents.gateway.models import GatewaySession
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant
from tests.gateway.conftest import Program, run
from tests.gateway.random_sessions import RandomSession, StrictProvider, written
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db(transaction=True)


class OwnProcess:
    """The gateway in the process of the test."""

    def __init__(self, actor: Actor, provider: ScriptedProvider, secret: str) -> None:
        self.provider = provider
        self._actor, self._secret = actor, secret

    def send(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> int:
        return run(Program(self._secret, headers).send("POST", path, body)).status

    def cut(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> None:
        async def talk() -> None:
            leaves = asyncio.Event()

            async def arrived(_: bytes) -> None:
                leaves.set()

            program = Program(self._secret, headers)
            await program.send("POST", path, body, leaves=leaves, on_piece=arrived)

        run(talk())

    def _session(self) -> GatewaySession:
        rows = GatewaySession.objects.select_related("key__participant", "tree__grove")
        return rows.order_by("-seen_at")[0]

    def line(self, text: str) -> None:
        with contextlib.suppress(CommandError):
            execute_line(self._actor, self._session().tree, Request(text))

    def turn(self, tool_use_id: str, *, visible: bool) -> None:
        with contextlib.suppress(CommandError):
            hiding.change(self._actor, self._session(), tool_use_id, visible=visible, anyway=True)

    def restart(self) -> None:
        forwarding._open.clear()
        forwarding._transports.clear()


class LosingProcess(OwnProcess):
    """The gateway of a process that is often killed before a request or its answer is recorded."""

    def __init__(self, *given: Any, patch: pytest.MonkeyPatch, dice: random.Random) -> None:
        super().__init__(*given)
        self._patch, self._dice = patch, dice

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        lost = self._dice.choice((None, (workspace, "record"), (recording, "end")))
        with self._patch.context() as patch:
            if lost is not None:
                patch.setattr(*lost, lambda *_, **__: 1 / 0)
            yield

    def send(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> int:
        with self._losing():
            return super().send(path, body, headers)

    def cut(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> None:
        with self._losing():
            super().cut(path, body, headers)

    def line(self, text: str) -> None:
        if GatewaySession.objects.exists():
            super().line(text)

    def turn(self, tool_use_id: str, *, visible: bool) -> None:
        if GatewaySession.objects.exists():
            super().turn(tool_use_id, visible=visible)


@pytest.fixture
def world(actor: Actor, model: Participant, provider: ScriptedProvider) -> OwnProcess:
    """The gateway for a program in the mode workspace."""
    Participant.objects.filter(pk=model.pk).update(persona="You are Nestor.")
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    return OwnProcess(actor, provider, secret)


@pytest.mark.parametrize("seed", (*range(4), 17, 38))
def test_no_byte_that_the_provider_has_seen_changes(world: OwnProcess, seed: int) -> None:
    RandomSession(world, seed).hold(12)


@pytest.mark.parametrize("is_named", (False, True))
@pytest.mark.parametrize("seed", (*range(3), 136, 170))
def test_no_byte_changes_where_records_are_lost(
    actor: Actor,
    model: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    is_named: bool,
) -> None:
    Participant.objects.filter(pk=model.pk).update(persona="You are Nestor.")
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    dice = random.Random(seed)
    world = LosingProcess(actor, provider, secret, patch=monkeypatch, dice=dice)
    RandomSession(world, seed, is_named=is_named).hold(8)


@pytest.mark.parametrize("seed", (0, 3))
def test_the_check_finds_a_workspace_that_is_stated_again(
    world: OwnProcess, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing stored, each request states the workspace again behind its newest message."""
    monkeypatch.setattr(workspace, "store", lambda _: None)
    with pytest.raises(AssertionError, match=r"bytes changed|a thinking lost"):
        RandomSession(world, seed).hold(12)


def test_the_check_finds_parted_tools_and_changed_thoughts() -> None:
    strict = StrictProvider("messages")
    use = {"type": "tool_use", "id": "t", "name": "ls", "input": {}}
    history = [{"role": "user", "content": "a"}]
    strict.look({"messages": history}, {"messages": history}, "s")
    assert strict.thoughts == {"s": (written([None, None], history),) * 2}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    other = [{"role": "user", "content": "b"}, {"role": "assistant", "content": [thought]}]
    strict.prefixes.clear()
    with pytest.raises(AssertionError, match="thinking lost"):
        strict.look({"messages": [*history, other[1]]}, {"messages": other}, "")
    parted = [*history, {"role": "assistant", "content": [use]}, {"role": "user", "content": "x"}]
    with pytest.raises((AssertionError, AttributeError)):
        strict.look({"messages": parted}, {"messages": parted}, "")
