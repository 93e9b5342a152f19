"""Fixtures of worker tests: a scripted provider, a participant that uses it, and lines to run."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from pytest_django import Settings

from agents import leases, runs
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, Participant
from loom.trees.models import Tree
from loom.turns.models import Generation
from tests.agents.acting import run_lane
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider


@pytest.fixture
def provider(settings: Settings) -> Iterator[ScriptedProvider]:
    """An OpenAI-shaped provider over real HTTP that answers as scripted; its address is allowed."""
    with ScriptedProvider() as scripted:
        settings.PROVIDER_ALLOW = (scripted.entry,)
        yield scripted


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the pauses between attempts."""
    monkeypatch.setattr(runs, "BACKOFF_S", 0.0)


@pytest.fixture
def model(grove: Grove, provider: ScriptedProvider) -> Participant:
    """A subject behind the scripted provider."""
    return Participant.objects.create(
        grove=grove,
        kind="model",
        name="Echo",
        model_ref="openai:echo-1",
        base_url=provider.url,
        persona="You write plainly.",
    )


@pytest.fixture(autouse=True)
def _a_fresh_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resets what an earlier test's sweeper observed about a busy database."""
    monkeypatch.setattr(leases, "watch", leases.LeaseWatch())


AGENT = ["loom_aware", "loom_write", "loom_generate", "doc_read", "doc_write", "cross_tree"]


@pytest.fixture
def agent(model: Participant) -> Participant:
    """A loom-aware agent behind the scripted provider."""
    model.name, model.permissions, model.context_limit = "Marie", AGENT, 50_000
    model.save()
    return model


@pytest.fixture
def opening(actor: Actor, tree: Tree) -> str:
    """A first text in the tree; returns its local id."""
    return str(execute_line(actor, tree, Request('respond root "Who is Marie?"')).body["refs"][0])


Say = Callable[..., list[Generation]]


@pytest.fixture
def ask(actor: Actor, tree: Tree, model: Participant) -> Say:
    """Runs a line in the tree; returns the generations that it queued."""

    def say(line: str = "continue", **where: Any) -> list[Generation]:
        answer = execute_line(actor, where.get("tree", tree), Request(line))
        uids = answer.body["generations"]
        return list(Generation.objects.filter(uid__in=uids).order_by("index"))

    return say


def run(generation: Generation) -> Generation:
    """Runs a generation to its end as the worker does; returns its row afterwards."""
    run_lane(generation.lane)
    return again(generation)


def again(generation: Generation) -> Generation:
    """The current row."""
    return Generation.objects.select_related("node", "call").get(pk=generation.pk)


async def a_moment() -> None:
    """A short wait before reading a row that a run writes four times a second."""
    await asyncio.sleep(0.02)


class Running:
    """A generation that runs in a thread, as in the worker."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            run_lane(self._generation.lane)
        finally:
            connections.close_all()

    def ended(self) -> Generation:
        """Its row, once it has ended."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the generation did not end"
        return again(self._generation)
