"""Tools of one grove are nothing to another, also for a member of both; and addresses are checked
at each call."""

from typing import Any

import pytest
from pytest_django import Settings

from agents.outside_tools import commands, connection
from agents.outside_tools.models import AllowedTool, OutsideTool, ToolCall, ToolConsent, ToolServer
from agents.outside_tools.tasks import ask_for_tools
from agents.providers.transport import CheckedTransport, the_loop
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.turns.models import Turn
from tests.agents.acting import asked, step
from tests.outside_tools.conftest import KEY, moved
from tests.outside_tools.server import RealServer
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.two_groves import Side, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
LINE = '→ use "weather.forecast" {"city": "Bern"}'


def owner_of(side: Side) -> User:
    """The owner of a side."""
    return User.objects.get(username=f"{side.grove.name.lower()}owner")


def registered_in(side: Side, url: str) -> ToolServer:
    """The server, registered in the grove of a side."""
    given = commands.NewToolServer(name="weather", url=url, api_key=KEY)
    server = commands.add_server(side.actor(owner_of(side)), given)
    the_loop().run(ask_for_tools(server.uid))
    return server


def agent_of(groves: TwoGroves, side: Side, provider: ScriptedProvider) -> Participant:
    """An agent of a side behind the scripted provider."""
    return groves.agent(side, base_url=provider.url)


def test_a_tool_of_one_grove_is_nothing_to_an_agent_of_another(
    two_groves: TwoGroves, provider: ScriptedProvider, mcp: RealServer
) -> None:
    left, right = two_groves.left, two_groves.right
    server = registered_in(right, mcp.url)
    tool = OutsideTool.objects.get(server=server, name="forecast")
    stranger = agent_of(two_groves, left, provider)
    with pytest.raises(CommandError) as refused:
        change = commands.ToolChange(tool=tool.uid, agents=(stranger.uid,))
        commands.change_tool(right.actor(owner_of(right)), change)
    assert refused.value.code == "NOT_FOUND"
    with pytest.raises(CommandError) as refused:
        commands.change_tool(left.actor(owner_of(left)), change)
    assert refused.value.code == "NOT_FOUND"
    # Not even a row that should not be there opens it.
    allowed = AllowedTool.objects.create(agent=stranger, tool=tool)
    both = left.actor(two_groves.both)
    consent = {"by": both.participant, "fingerprint": tool.fingerprint}
    ToolConsent.objects.create(allowed=allowed, person=both.participant, **consent)
    provider.script(says(LINE), says("No."))
    turn = moved(asked(both, left.tree, stranger))
    assert step(turn, "1.1").outcome == "NOT_FOUND" and not mcp.calls
    assert "weather" not in str(provider.seen[0].json)


def test_writers_of_both_groves_neither_see_nor_change_servers(
    two_groves: TwoGroves, mcp: RealServer, provider: ScriptedProvider
) -> None:
    server = registered_in(two_groves.right, mcp.url)
    tool = OutsideTool.objects.get(server=server, name="forecast")
    grove = two_groves.right.grove.uid
    addresses: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
        ("get", f"/api/groves/{grove}/tool-servers", None),
        ("get", f"/api/tool-servers/{server.uid}", None),
        ("patch", f"/api/tool-servers/{server.uid}", {"api_key": "x"}),
        ("patch", f"/api/tool-servers/{server.uid}/tools/{tool.uid}", {"on": False}),
        ("post", f"/api/tool-servers/{server.uid}/tools", {}),
        ("delete", f"/api/tool-servers/{server.uid}", None),
        ("get", f"/groves/{grove}/tools", None),
    )
    for user, status in ((two_groves.both, 403), (owner_of(two_groves.left), 404)):
        client = two_groves.client(user)
        for method, address, body in addresses:
            more: dict[str, Any] = {"format": "json"} if method != "get" else {}
            answer = getattr(client, method)(address, body, **more)
            assert answer.status_code == status, (address, answer.status_code)
            assert KEY not in answer.content.decode()
    tool.refresh_from_db()
    assert tool.is_on and ToolServer.objects.get().sealed_key == server.sealed_key


def test_only_who_started_a_turn_and_owners_agree_and_for_that_person_alone(
    two_groves: TwoGroves, provider: ScriptedProvider, mcp: RealServer
) -> None:
    side = two_groves.right
    server = registered_in(side, mcp.url)
    agent = agent_of(two_groves, side, provider)
    tool = OutsideTool.objects.get(server=server, name="forecast")
    change = commands.ToolChange(tool=tool.uid, agents=(agent.uid,))
    commands.change_tool(side.actor(owner_of(side)), change)
    provider.script(says(LINE), says("Rain."), says(LINE))
    turn = moved(asked(side.actor(two_groves.both), side.tree, agent))
    body = {"tool": "weather.forecast", "allow": True}

    def granted_by(user: User, *, turn: Turn = turn) -> int:
        client = two_groves.client(user)
        return int(client.post(f"/api/turns/{turn.uid}/tools", body, format="json").status_code)

    assert granted_by(two_groves.only_right) == 403
    assert granted_by(two_groves.only_left) == 404
    assert not ToolConsent.objects.exists()
    assert granted_by(owner_of(side)) == 200
    assert moved(turn).status == "done"
    consent = ToolConsent.objects.get()
    assert consent.person.user == two_groves.both and consent.by.user == owner_of(side)
    # Another member is asked for their own turns.
    moved(asked(side.actor(two_groves.only_right), side.tree, agent))
    assert list(ToolCall.objects.order_by("id").values_list("status", flat=True)) == [
        "done",
        "asking",
    ]


def test_an_address_is_checked_at_each_call_whatever_its_name_was_before(
    two_groves: TwoGroves,
    provider: ScriptedProvider,
    mcp: RealServer,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side = two_groves.right
    settings.PROVIDER_ALLOW = (provider.entry, f"127.0.0.1:{mcp.port}")
    answers = ["127.0.0.1"]

    async def resolve(host: str, port: int) -> list[str]:
        return list(answers)

    def checked(allow: tuple[str, ...]) -> CheckedTransport:
        return CheckedTransport(allow, resolve)

    monkeypatch.setattr(connection, "CheckedTransport", checked)
    url = f"http://mcp.example.org:{mcp.port}/mcp"
    settings.PROVIDER_ALLOW = (*settings.PROVIDER_ALLOW, "198.51.100.0/24")
    server = registered_in(side, url)
    tool = OutsideTool.objects.get(server=server, name="forecast")
    agent = agent_of(two_groves, side, provider)
    change = commands.ToolChange(tool=tool.uid, agents=(agent.uid,))
    commands.change_tool(side.actor(owner_of(side)), change)
    owner = side.actor(owner_of(side))
    allowed = AllowedTool.objects.get()
    consent = {"by": owner.participant, "fingerprint": tool.fingerprint}
    ToolConsent.objects.create(allowed=allowed, person=owner.participant, **consent)
    answers[:] = ["169.254.169.254"]  # the name leads elsewhere now
    provider.script(says(LINE), says("No."))
    line = step(moved(asked(owner, side.tree, agent)), "1.1")
    assert line.outcome == "REJECTED" and "metadata" in line.message and not mcp.calls
