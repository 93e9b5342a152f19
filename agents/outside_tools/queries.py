"""Servers and tools as somebody may see or use them."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Prefetch, QuerySet

from agents.outside_tools import arguments
from agents.outside_tools.models import AllowedTool, OutsideTool, ToolServer
from loom import access
from loom.access import Actor
from loom.errors import not_found
from loom.people.models import Grove, Participant, User
from loom.text.hashes import instant_or_none


def servers_of(grove: Grove) -> QuerySet[ToolServer]:
    """The servers of a grove with their tools, and the agents that may use each. Three queries."""
    allowed = AllowedTool.objects.select_related("agent").filter(agent__archived_at=None)
    tools = OutsideTool.objects.prefetch_related(Prefetch("allowed", allowed))
    rows = ToolServer.objects.filter(grove=grove).select_related("grove")
    return rows.prefetch_related(Prefetch("tools", tools))


def get_server(user: User, uid: str) -> tuple[Actor, ToolServer]:
    """A server, for an owner of its grove; NOT_FOUND for anybody who is no member."""
    actor, server = access.of_grove(user, _SERVER, uid, "This server")
    access.demand_role(actor, "owner")
    return actor, server


_SERVER = access.by_uid(ToolServer, "grove")


def server_named(grove: Grove, uid: str) -> ToolServer:
    """A server of a grove. NOT_FOUND if it has none with this id."""
    server = ToolServer.objects.select_related("grove").filter(grove=grove, uid=uid).first()
    if server is None:
        raise not_found("This server")
    return server


def usable_by(agent: Participant) -> QuerySet[AllowedTool]:
    """The tools that an agent may use now: allowed, switched on, listed by their server, and of a
    server of its own grove."""
    rows = AllowedTool.objects.filter(agent=agent, tool__is_on=True, tool__is_gone=False)
    rows = rows.filter(tool__server__grove=agent.grove_id)
    return rows.select_related("tool__server").order_by("tool__server__name", "tool__name")


def tool_named(rows: Iterable[AllowedTool], name: str) -> AllowedTool | None:
    """That of the allowed tools which has this full name."""
    return next((row for row in rows if row.tool.full_name == name), None)


def tools_of(agent: Participant) -> list[AllowedTool]:
    """The tools that an agent may use, read once for this instance of its row: a request names
    them in its instructions and in a section."""
    rows: list[AllowedTool] | None = getattr(agent, "_outside_tools", None)
    if rows is None:
        rows = list(usable_by(agent))
        agent._outside_tools = rows  # type: ignore[attr-defined]
    return rows


def host_of(server: ToolServer) -> str:
    """The host of a server, which says where what is sent to it goes."""
    return urlsplit(server.url).hostname or server.url


def tool_body(tool: OutsideTool) -> dict[str, Any]:
    """A tool as the API shows it."""
    return {
        "id": tool.uid,
        "name": tool.full_name,
        "description": tool.description,
        "schema": tool.schema,
        "arguments": arguments.brief(tool.schema),
        "on": tool.is_on,
        "gone": tool.is_gone,
        "agents": [row.agent.uid for row in tool.allowed.all()],
    }


def server_body(server: ToolServer) -> dict[str, Any]:
    """A server as the API shows it, without its key."""
    return {
        "id": server.uid,
        "grove": server.grove.uid,
        "name": server.name,
        "url": server.url,
        "has_key": bool(server.sealed_key),
        "allow_private": server.allow_private,
        "error": server.error,
        "listed_at": instant_or_none(server.listed_at),
        "tools": [tool_body(tool) for tool in server.tools.all()],
    }
