"""An agent behind a scripted provider, a real MCP server on loopback, and tools it was allowed."""

from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from agents.outside_tools import commands
from agents.outside_tools.models import AllowedTool, OutsideTool, ToolCall, ToolConsent, ToolServer
from agents.outside_tools.tasks import ask_for_tools, make_call
from agents.providers.transport import the_loop
from agents.turns import run_turn
from loom.access import Actor
from loom.people.models import Grove, Participant
from loom.turns import turn_lifecycle
from loom.turns.models import OPEN_TURN, Turn
from tests.agents.acting import MOST, run_queued
from tests.agents.conftest import _no_pauses, agent, model, opening  # noqa: F401 (fixtures)
from tests.outside_tools.server import RealServer
from tests.providers.scripted import ScriptedProvider

KEY = "key-of-the-server-123456"


@pytest.fixture
def mcp() -> Iterator[RealServer]:
    """A real MCP server."""
    with RealServer() as server:
        yield server


@pytest.fixture
def provider(settings: Settings, mcp: RealServer) -> Iterator[ScriptedProvider]:
    """A scripted provider; its address and that of the server are allowed."""
    with ScriptedProvider() as scripted:
        settings.PROVIDER_ALLOW = (scripted.entry, mcp.entry)
        yield scripted


def registered(actor: Actor, url: str, name: str = "weather", key: str = KEY) -> ToolServer:
    """A server of the actor's grove, which was asked for its tools."""
    server = commands.add_server(actor, commands.NewToolServer(name=name, url=url, api_key=key))
    the_loop().run(ask_for_tools(server.uid))
    server.refresh_from_db()
    return server


@pytest.fixture
def server(actor: Actor, mcp: RealServer, provider: ScriptedProvider) -> ToolServer:
    """The real server, registered as `weather`."""
    return registered(actor, mcp.url)


Allow = Callable[..., AllowedTool]


@pytest.fixture
def allow(actor: Actor, server: ToolServer, agent: Participant) -> Allow:  # noqa: F811
    """Allows the agent a tool; with the consent of the owner, unless it is to be asked for."""

    def allowing(name: str = "forecast", *, agreed: bool = True) -> AllowedTool:
        tool = OutsideTool.objects.get(server=server, name=name)
        commands.change_tool(actor, commands.ToolChange(tool=tool.uid, agents=(agent.uid,)))
        row = AllowedTool.objects.get(tool=tool, agent=agent)
        if agreed:
            consent = {"by": actor.participant, "fingerprint": tool.fingerprint}
            ToolConsent.objects.create(allowed=row, person=actor.participant, **consent)
        return row

    return allowing


def call_queued(turn: Turn) -> None:
    """Makes the queued calls of a turn, as the worker does."""
    for uid in ToolCall.objects.filter(turn_uid=turn.uid, status="queued").values_list("uid"):
        the_loop().run(make_call(uid[0]))


def moved(turn: Turn) -> Turn:
    """Runs a turn with the tools that it calls, until it has ended or waits for a person."""
    for _ in range(MOST):
        run_turn(turn.uid)
        run_queued(turn)
        call_queued(turn)
        row = turn_lifecycle.turn_again(turn.pk)
        waits = ToolCall.objects.filter(turn_uid=turn.uid, status="asking").exists()
        if row.status not in OPEN_TURN or waits:
            return row
    raise AssertionError("the turn neither ended nor waits")


def calls_of(grove: Grove) -> list[tuple[str, str]]:
    """(name, status) of all calls."""
    rows = ToolCall.objects.filter(workspace__tree__grove=grove).order_by("id")
    return list(rows.values_list("name", "status"))
