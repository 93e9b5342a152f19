"""The page of a grove's outside tools, for its owners."""

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from agents.outside_tools import arguments, commands
from agents.outside_tools.models import OutsideTool, ToolServer
from agents.outside_tools.queries import server_named, servers_of
from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.participants import commands as participants
from loom.people.models import Grove, Participant
from loom.permissions import LOOM
from loom.site.forms import Flag, PageForm, Word, Words
from loom.site.page_requests import PersonRequest, as_shown, frame, in_one_line, person


class ToolServerForm(PageForm):
    """A new server."""

    name = Word()
    url = Word()
    api_key = Word(empty=None)
    allow_private = Flag()


class ToolsForm(PageForm):
    """What happens to a server: `action`; another key; the tools that are switched on, and who may
    use them, as `tool:agent`."""

    action = Word()
    api_key = Word()
    on = Words()
    allow = Words()


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@person
@sensitive_variables()
def tools_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The outside servers of a grove, their tools, and who may use them; a POST registers one."""
    actor, grove = access.get_grove(request.user, uid, role="owner")
    if request.method != "POST":
        return _shown(request, actor, grove)
    try:
        commands.add_server(actor, commands.NewToolServer(**ToolServerForm.read(request)))
    except CommandError as refused:
        return _shown(request, actor, grove, refused)
    return HttpResponseRedirect(f"/groves/{uid}/tools")


def _shown(
    request: PersonRequest, actor: Actor, grove: Grove, refused: CommandError | None = None
) -> HttpResponse:
    """The page; with the reason if a server was `refused`, and what was entered but its key."""
    rows = list(servers_of(grove))
    agents = [
        agent
        for agent in Participant.objects.filter(grove=grove, kind="model", archived_at=None)
        if LOOM in agent.permissions
    ]
    typed: dict[str, Any] = {}
    if refused:
        form = ToolServerForm.of(request)
        typed = {**form.typed("name", "url"), "allow_private": "allow_private" in form.data}
    context = {
        **frame(request, actor, "settings"),
        "servers": [(server, _tools_of(server, agents)) for server in rows],
        "agents": agents,
        "typed": typed,
        "refused": refused and as_shown(refused),
        "private_why": participants.why_not_allowed_by(actor),
    }
    status = refused.status if refused else 200
    return render(request, "outside_tools/tools.html", context, status=status)


def _tools_of(server: ToolServer, agents: Iterable[Participant]) -> list[dict[str, Any]]:
    """The tools of a server, each with its arguments in brief and (agent, may it)."""
    rows = []
    for tool in server.tools.all():
        may = {row.agent_id for row in tool.allowed.all()}
        allowed = [(agent, agent.pk in may) for agent in agents]
        brief = arguments.brief(tool.schema)
        rows.append({"tool": tool, "arguments": brief, "agents": allowed, "many": len(may)})
    return rows


@never_cache
@require_POST
@person
@sensitive_variables()
def change(request: PersonRequest, uid: str, server: str) -> HttpResponse:
    """Stores which tools of a server are on and who may use them, asks it for its tools again,
    gives it another key, or removes it."""
    actor, grove = access.get_grove(request.user, uid, role="owner")
    try:
        form = ToolsForm.read(request)
        row = server_named(grove, server)
        _change(actor, row, form)
        messages.success(request, _said(form["action"]))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/groves/{uid}/tools")


def _said(action: str) -> str:
    if action == "remove":
        return gettext("The server and its tools have been removed.")
    return gettext("The server is asked for its tools.") if action == "list" else gettext("Saved.")


def _change(actor: Actor, server: ToolServer, form: dict[str, Any]) -> None:
    if form["action"] == "remove":
        commands.remove_server(actor, commands.ToolServerNamed(server=server.uid))
    elif form["action"] == "list":
        commands.list_again(actor, commands.ToolServerNamed(server=server.uid))
    elif form["action"] == "key":
        given = commands.ToolServerChange(server=server.uid, api_key=form["api_key"])
        commands.change_server(actor, given)
    else:
        for tool in OutsideTool.objects.filter(server=server).prefetch_related("allowed__agent"):
            _save(actor, tool, form)


def _save(actor: Actor, tool: OutsideTool, form: dict[str, Any]) -> None:
    """Stores what the form says of a tool, if that is something new."""
    pairs = (pair.partition(":") for pair in form["allow"])
    wanted = {agent for named, _, agent in pairs if named == tool.uid}
    known = {row.agent.uid for row in tool.allowed.all() if row.agent.archived_at is None}
    is_on = tool.uid in form["on"]
    if wanted != known or is_on != tool.is_on:
        changes = commands.ToolChange(tool=tool.uid, on=is_on, agents=tuple(sorted(wanted)))
        commands.change_tool(actor, changes)
