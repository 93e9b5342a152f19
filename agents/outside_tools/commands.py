"""Registering outside servers, switching their tools, and allowing them to agents. For owners."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from django.db import transaction
from django.utils import timezone

from agents.outside_tools import arguments
from agents.outside_tools.consents import fingerprint_of
from agents.outside_tools.models import AllowedTool, OutsideTool, ToolServer
from agents.outside_tools.queries import server_body, server_named, servers_of
from loom.access import Actor
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret
from loom.engine.execute import execute
from loom.engine.kept_jobs import enqueue_kept
from loom.errors import CommandError, not_found
from loom.language.refs import short
from loom.participants.commands import demand_callable
from loom.participants.provider_keys import seal, sendable
from loom.people.models import Grove, Participant
from loom.permissions import LOOM
from loom.platform.prepared_queries import lock_rows

MOST_SERVERS = 20  # of a grove
MOST_NAMED = 5  # tools that were left out
MOST_DESCRIPTION = 2_000  # characters of it that are kept
LISTING = "agents.outside_tools.list_tools"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,29}")
# Without a dot before it, so that `server.tool` can be read in one way only.
_TOOL = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_UNSTORED = re.compile(r"[\x00\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class NewToolServer(Args):
    """A server: what lines call it, its address, its key (None or empty: none), and whether a
    private address is allowed."""

    name: str
    url: str
    api_key: Annotated[str | None, Secret()] = None
    allow_private: bool = False


class ToolServerChange(Args):
    """A server by its uid, and another key ("": none)."""

    server: str
    api_key: Annotated[str, Secret()] = ""


class ToolServerNamed(Args):
    """A server by its uid."""

    server: str


class ToolChange(Args):
    """A tool by its uid; whether anybody may use it, and all agents that may, by their uids (None:
    as before)."""

    tool: str
    on: bool | None = None
    agents: tuple[str, ...] | None = None


def add_server(actor: Actor, args: NewToolServer) -> ToolServer:
    """Registers a server; a worker asks it for its tools. For owners."""
    return execute(actor, actor.grove, _add_server, args)


@action("add_tool_server", stream="grove", role="owner")
def _add_server(change: RunningAction, args: NewToolServer) -> ToolServer:
    """Registers an MCP server whose tools agents may be allowed."""
    name, url = args.name.strip(), args.url.strip()
    if not _NAME.fullmatch(name):
        reason = f"{short(name) or 'An empty text'} is no name of a server."
        hint = "a small letter, then letters, digits, - and _, such as weather"
        raise CommandError("INVALID_SYNTAX", reason, hint=hint)
    if not url or len(url) > 500:
        reason, hint = "A server needs an address.", "such as https://mcp.example.org/mcp"
        raise CommandError("INVALID_SYNTAX", reason, hint=hint)
    demand_callable(change.actor, url, allow_private=args.allow_private)
    key = sendable(args.api_key or "")
    rows = ToolServer.objects.filter(grove=change.grove)
    if rows.filter(name=name).exists():
        reason = f"The grove already has a server called {name}."
        raise CommandError("CONFLICT", reason, hint="use another name")
    if rows.count() >= MOST_SERVERS:
        reason = f"A grove has at most {MOST_SERVERS} servers with tools."
        raise CommandError("LIMIT_EXCEEDED", reason, hint="remove one that is not needed")
    server = ToolServer.objects.create(
        grove=change.grove,
        name=name,
        url=url,
        allow_private=args.allow_private,
        sealed_key=seal(key, url) if key else "",
    )
    _ask(server)
    _say(change)
    return server


def change_server(actor: Actor, args: ToolServerChange) -> ToolServer:
    """Gives a server another key. Another address is another server. For owners."""
    return execute(actor, actor.grove, _change_server, args)


@action("change_tool_server", stream="grove", role="owner")
def _change_server(change: RunningAction, args: ToolServerChange) -> ToolServer:
    """Gives a server another key."""
    server = server_named(change.grove, args.server)
    key = sendable(args.api_key)
    server.sealed_key = seal(key, server.url) if key else ""
    server.save(update_fields=["sealed_key"])
    _ask(server)
    _say(change)
    return server


def list_again(actor: Actor, args: ToolServerNamed) -> ToolServer:
    """Asks a server for its tools once more. For owners."""
    return execute(actor, actor.grove, _list_again, args)


@action("list_tools_again", stream="grove", role="owner")
def _list_again(change: RunningAction, args: ToolServerNamed) -> ToolServer:
    """Asks a server for its tools once more."""
    server = server_named(change.grove, args.server)
    _ask(server)
    return server


def _ask(server: ToolServer) -> None:
    """Has a worker ask for the tools."""
    server.listed_at, server.error = None, ""
    server.save(update_fields=["listed_at", "error"])
    enqueue_kept(LISTING, [server.uid], queue="continue")


def remove_server(actor: Actor, args: ToolServerNamed) -> None:
    """Removes a server with its key, and what agents were allowed of it. For owners."""
    execute(actor, actor.grove, _remove_server, args)


@action("remove_tool_server", stream="grove", role="owner")
def _remove_server(change: RunningAction, args: ToolServerNamed) -> None:
    """Removes a server with its key, and what agents were allowed of it."""
    server_named(change.grove, args.server).delete()
    _say(change)


def change_tool(actor: Actor, args: ToolChange) -> OutsideTool:
    """Switches a tool on or off, and says which agents may use it. For owners."""
    return execute(actor, actor.grove, _change_tool, args)


@action("change_tool", stream="grove", role="owner")
def _change_tool(change: RunningAction, args: ToolChange) -> OutsideTool:
    """Switches a tool of an outside server on or off, and says which agents may use it."""
    tool = _tool_of(change.grove, args.tool)
    if args.on is not None:
        tool.is_on = args.on
        tool.save(update_fields=["is_on"])
    if args.agents is not None:
        _allow(tool, args.agents)
    _say(change)
    return tool


def _allow(tool: OutsideTool, uids: Sequence[str]) -> None:
    """Lets exactly these agents use a tool: whoever was allowed it before keeps the consents."""
    grove = tool.server.grove
    rows = Participant.objects.filter(grove=grove, kind="model", archived_at=None, uid__in=uids)
    agents = {agent.uid: agent for agent in rows}
    for uid in uids:
        if uid not in agents:
            raise not_found("This agent")
        if LOOM not in agents[uid].permissions:
            reason = f"{agents[uid].name} is not loom-aware: it is sent text only."
            raise CommandError("REJECTED", reason, hint="allow the tool to a loom-aware agent")
    AllowedTool.objects.filter(tool=tool).exclude(agent__in=agents.values()).delete()
    for agent in agents.values():
        AllowedTool.objects.get_or_create(agent=agent, tool=tool)


def _tool_of(grove: Grove, uid: str) -> OutsideTool:
    rows = OutsideTool.objects.select_related("server__grove")
    tool = rows.filter(server__grove=grove, uid=uid).first()
    if tool is None:
        raise not_found("This tool")
    return tool


def _say(change: RunningAction) -> None:
    grove = Grove.objects.get(pk=change.grove.pk)
    servers = [_in_brief(server_body(server)) for server in servers_of(grove)]
    body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
    change.writer.append("grove.changed", {**body, "tool_servers": servers})


def _in_brief(body: dict[str, Any]) -> dict[str, Any]:
    """A server as events name it: what its tools say of themselves is read where it is needed."""
    named = ("id", "name", "on", "agents")
    tools = [{key: tool[key] for key in named} for tool in body["tools"]]
    return {**body, "tools": tools}


# The part that a worker runs.


def store_tools(server: ToolServer, described: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
    """Stores what a server says its tools are, as (name, description, schema); those that it names
    no more are kept as gone, so that what was switched and allowed is not lost. Two that are told
    at once store one after the other."""
    with transaction.atomic():
        lock_rows(ToolServer, pk=server.pk)
        _store_tools(server, described)


def _store_tools(server: ToolServer, described: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
    rows = {tool.name: tool for tool in OutsideTool.objects.filter(server=server)}
    present: set[str] = set()
    left_out: list[str] = []
    for name, description, given in described:
        schema = _kept(given)
        if not _TOOL.fullmatch(name) or len(str(schema)) > arguments.MOST_SCHEMA:
            left_out.append(short(_CONTROLS.sub(" ", name)))
            continue
        present.add(name)
        text = _CONTROLS.sub(" ", description)[:MOST_DESCRIPTION].strip()
        tool = rows.get(name) or OutsideTool(server=server, name=name)
        tool.description, tool.schema, tool.is_gone = text, schema, False
        tool.fingerprint = fingerprint_of(server.url, name, text, schema)
        tool.save()
    gone = [tool.pk for name, tool in rows.items() if name not in present]
    OutsideTool.objects.filter(pk__in=gone).update(is_gone=True)
    named = ", ".join(left_out[:MOST_NAMED])
    error = f"Left out, for their names or the length of their schemas: {named}" if named else ""
    rows_of_server = ToolServer.objects.filter(pk=server.pk)
    rows_of_server.update(listed_at=timezone.now(), error=error[:300])


def _kept(value: Any) -> Any:
    """A value of JSON without the characters that not every database stores."""
    if isinstance(value, str):
        return _UNSTORED.sub("", value)
    if isinstance(value, list):
        return [_kept(part) for part in value]
    if isinstance(value, dict):
        return {_kept(name): _kept(part) for name, part in value.items()}
    return value


def note_failure(server: ToolServer, why: str) -> None:
    """Stores why a server did not list its tools; those that it listed before stay."""
    rows = ToolServer.objects.filter(pk=server.pk)
    rows.update(listed_at=timezone.now(), error=_CONTROLS.sub(" ", why)[:300])
