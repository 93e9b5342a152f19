"""Outside servers and their tools in the API, for owners of a grove; and allowing an agent the tool
that its turn asks for."""

from typing import Any

from django.db.models import QuerySet
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.outside_tools import calls, commands
from agents.outside_tools.models import ToolServer
from agents.outside_tools.queries import get_server, server_body, servers_of
from loom import access
from loom.errors import not_found
from loom.site import responses
from loom.site.api_requests import Body, PartialBody, read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, operation, paged
from loom.turns import access as turn_access
from loom.turns.api import TurnSchema
from loom.turns.queries import turn_body, turns


class ToolServerSent(Body):
    """A new server: what lines call it, its address, its key (null or empty: none), and whether an
    address on the network of this installation is allowed."""

    name: str = Field(min_length=1, max_length=30)
    url: str = Field(min_length=1, max_length=500)
    api_key: str | None = Field(None, max_length=500)
    allow_private: bool = False


class ToolServerKey(Body):
    """Another key of a server; empty: none."""

    api_key: str = Field(max_length=500)


class ToolChanged(PartialBody):
    """Changes to a tool: whether anybody may use it, and the ids of all agents that may."""

    on: bool = True
    agents: list[str] = Field(default_factory=list, max_length=200)


class ToolDecided(Body):
    """The name of the tool that a turn asks for, and whether its agent may use it."""

    tool: str = Field(min_length=1, max_length=160)
    allow: bool


class ToolBody(Returned):
    """A tool as its server describes it; `arguments` is its schema in brief, `gone` says that the
    server lists it no more, `agents` are the ids of those that may use it."""

    id: str
    name: str
    description: str
    # Any: a schema of the server's.
    input_schema: dict[str, Any] = Field(alias="schema")
    arguments: str
    on: bool
    gone: bool
    agents: list[str]


class ToolServerBody(Returned):
    """A server with its tools, without its key. `listed_at` is null while it is asked for them,
    `error` why it did not answer."""

    id: str
    grove: str
    name: str
    url: str
    has_key: bool
    allow_private: bool
    error: str
    listed_at: str | None
    tools: list[ToolBody]


def _shown(server: ToolServer) -> dict[str, Any]:
    """The body of a server as it is now."""
    return server_body(_with_tools(server).get(pk=server.pk))


def _with_tools(server: ToolServer) -> QuerySet[ToolServer]:
    return servers_of(server.grove)


@operation(
    "GET",
    "tool_servers list",
    "Servers with tools that agents may be allowed",
    answers=responses.Page[ToolServerBody],
    asks=PAGES,
)
@operation(
    "POST",
    "tool_servers add",
    "Register a server with tools",
    body=ToolServerSent,
    answers=ToolServerBody,
    status=201,
)
@api_view(["GET", "POST"])
def servers(request: Request, uid: str) -> Response:
    """The servers of a grove; or a new one, which is asked for its tools after this response."""
    actor, grove = access.get_grove(user_of(request), uid, role="owner")
    if request.method == "POST":
        sent = read(request, ToolServerSent)
        server = commands.add_server(actor, commands.NewToolServer(**sent.model_dump()))
        return Response(_shown(server), status=201)
    return paged(request, servers_of(grove), server_body)


@operation("GET", "tool_servers one", "A server with tools", answers=ToolServerBody)
@operation(
    "PATCH",
    "tool_servers change",
    "Give a server another key",
    body=ToolServerKey,
    answers=ToolServerBody,
)
@operation("DELETE", "tool_servers remove", "Remove a server", answers=responses.Gone)
@api_view(["GET", "PATCH", "DELETE"])
def server(request: Request, uid: str) -> Response:
    """One server: read, given another key, or removed."""
    actor, row = get_server(user_of(request), uid)
    if request.method == "DELETE":
        commands.remove_server(actor, commands.ToolServerNamed(server=row.uid))
        return Response({"ok": True})
    if request.method == "PATCH":
        sent = read(request, ToolServerKey)
        given = commands.ToolServerChange(server=row.uid, api_key=sent.api_key)
        commands.change_server(actor, given)
    return Response(_shown(row))


@operation(
    "POST",
    "tool_servers list_tools",
    "Ask a server for its tools again",
    answers={202: ToolServerBody},
)
@api_view(["POST"])
def tools(request: Request, uid: str) -> Response:
    """Asks a server for its tools once more; they change after this response."""
    actor, row = get_server(user_of(request), uid)
    commands.list_again(actor, commands.ToolServerNamed(server=row.uid))
    return Response(_shown(row), status=202)


@operation(
    "PATCH",
    "tool_servers change_tool",
    "Switch a tool, and allow it to agents",
    body=ToolChanged,
    answers=ToolServerBody,
)
@api_view(["PATCH"])
def tool(request: Request, uid: str, tool: str) -> Response:
    """Switches a tool on or off, and says which agents may use it."""
    actor, row = get_server(user_of(request), uid)
    if not row.tools.filter(uid=tool).exists():
        raise not_found("This tool")
    given = read(request, ToolChanged).sent
    agents = given.get("agents")
    changes = commands.ToolChange(
        tool=tool, on=given.get("on"), agents=None if agents is None else tuple(agents)
    )
    commands.change_tool(actor, changes)
    return Response(_shown(row))


@operation(
    "POST",
    "turns allow_tool",
    "Allow or refuse the tool that a turn asks for",
    body=ToolDecided,
    answers=TurnSchema,
)
@api_view(["POST"])
def decide(request: Request, uid: str) -> Response:
    """Allows an agent the outside tool that its turn asks for, from now on, or refuses it. For the
    person who started the turn, and owners."""
    actor, turn = turn_access.get_turn(user_of(request), uid)
    sent = read(request, ToolDecided)
    calls.decide(actor, turn, tool=sent.tool, allow=sent.allow)
    return Response(turn_body(turns().get(pk=turn.pk)))
