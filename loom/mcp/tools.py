"""The tools: their names, schemas, annotations, and what each does.

They are split by what they may do, so that their annotations are true: `loom_look` changes no tree,
no document and none of your own notes, `loom_write` adds, `loom_destroy` takes away and asks first,
also where what it takes away is the caller's alone. The grouped tools
(`windows`, `result`, `outline`, `augment`, `todo`, `trail`, `claim`) are other ways to write the
same lines; what takes a claim back or commits to it for good is left to `loom_destroy`.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from django.core import signing

from loom.engine import registry
from loom.language.lines import read
from loom.language.refs import ParseError, quote, short
from loom.mcp.api_client import WAIT_S, McpCaller, Refused, Tell
from loom.permissions import GENERATE, WRITE

SALT = "heddle.mcp.session"
MOST_TREES = 100  # the last used ones, among which a title is looked for
LOOK_EVERY_S = 0.3  # how often the generations of a call that tells its progress are read
MOST_NAMED = 20  # trees that a refusal names


@dataclass(frozen=True)
class McpSession:
    """What a session's handle says: the tree in which the caller works."""

    tree: str


@dataclass(frozen=True)
class LoomTool:
    """A tool, and what runs it."""

    declared: types.Tool
    run: Callable[[McpCaller, Mapping[str, Any]], Awaitable[dict[str, Any]]]


def invalid(message: str, hint: str) -> Refused:
    """The refusal of arguments that mean nothing."""
    return Refused({"code": "INVALID_SYNTAX", "message": message, "hint": hint})


# -- sessions


async def open_session(caller: McpCaller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Names a tree for the calls to come. The handle is random, and bound to the caller."""
    wanted = str(given.get("tree", ""))
    trees = (await caller.get("trees", limit=str(MOST_TREES)))["results"]
    named = [tree for tree in trees if tree["id"] == wanted]
    named = named or [tree for tree in trees if tree["title"] == wanted]
    if len(named) != 1:
        some = ", ".join(f"{tree['id']} {quote(tree['title'])}" for tree in trees[:MOST_NAMED])
        raise invalid(
            f"{len(named)} of your trees have the id or title {quote(short(wanted))}.",
            f"give the id of one of them: {some or 'you have none yet'}",
        )
    handle = signing.dumps([caller.user, named[0]["id"], secrets.token_hex(8)], salt=SALT)
    title = named[0]["title"] or "Untitled tree"
    return {
        "session": handle,
        "tree": named[0]["id"],
        "message": f"✓ session in {title}; pass its handle as session. → help lists the commands",
    }


def _session(caller: McpCaller, given: Mapping[str, Any]) -> McpSession:
    """The session that a handle names, if it is the caller's own: that of the argument, else that
    of the client's header."""
    try:
        owner, tree, _ = signing.loads(str(given.get("session") or caller.session), salt=SALT)
    except signing.BadSignature:
        raise invalid(
            "This session is unknown.", "call open_session, and pass its session"
        ) from None
    if owner != caller.user:
        raise Refused(
            {
                "code": "PERMISSION_DENIED",
                "message": "This session belongs to somebody else.",
                "hint": "call open_session with your own key",
            }
        )
    return McpSession(tree)


# -- lines


async def _line(
    caller: McpCaller, given: Mapping[str, Any], line: str, *, is_dry: bool = False
) -> dict[str, Any]:
    """What a line answers, in the caller's own workspace."""
    address = f"trees/{_session(caller, given).tree}/commands"
    body = {"line": line, "dry_run": is_dry, "wait": 0 if is_dry else WAIT_S}
    if caller.tell is None or is_dry or GENERATE not in _command(line).permissions:
        answer = await caller.post(address, body)
        return {**answer, "message": answer["reply"]}
    # By its key the same line is known again, and answered with what it started.
    body["key"] = secrets.token_hex(16)
    begun = await caller.post(address, {**body, "wait": 0})
    await _tell(caller, caller.tell, begun["generations"])
    answer = await caller.post(address, body)
    return {**answer, "repeated": False, "message": answer["reply"]}


async def _tell(caller: McpCaller, tell: Tell, generations: list[str]) -> None:
    """Says how many of these generations have ended, whenever that is more than before."""
    end, told, ended = time.monotonic() + WAIT_S, -1, 0
    while ended < len(generations) and time.monotonic() < end:
        states = [await caller.get(f"generations/{key}") for key in generations]
        ended = sum(state["status"] not in ("queued", "running") for state in states)
        if ended > told:
            told = ended
            await tell(ended, len(generations), f"{ended} of {len(generations)} have ended")
        if ended < len(generations):
            await asyncio.sleep(LOOK_EVERY_S)


def _parsed(line: str) -> tuple[registry.Command, Mapping[str, object]]:
    """The command that a line is, and its values. Raises Refused."""
    try:
        parsed = read(line, registry.language())
    except ParseError as bad:
        raise Refused({"code": bad.code, "message": bad.message, "hint": bad.hint}) from None
    return registry.find(parsed.verb, parsed.form), parsed.values


def _command(line: str) -> registry.Command:
    """The command that a line is. Raises Refused."""
    return _parsed(line)[0]


def _asks_first() -> list[str]:
    """The verbs that take something away, so that a person is asked first."""
    return sorted({command.verb for command in registry.every() if command.facts.asks_first})


def _tool_for(command: registry.Command, values: Mapping[str, object]) -> str:
    """The tool that runs a line of a command with these values."""
    if command.facts.asks_first or command.takes_away(values):
        return "loom_destroy"
    keeps = not command.world and command.klass != "write"
    is_look = keeps and command.permissions.isdisjoint({GENERATE, WRITE})
    return "loom_look" if is_look else "loom_write"


def _demand(line: str, tool: str) -> None:
    """Refuses a line that belongs to another tool."""
    command, values = _parsed(line)
    right = _tool_for(command, values)
    if right != tool:
        raise Refused(
            {
                "code": "REJECTED",
                "message": f"This line of {command.verb} is not for {tool}.",
                "hint": f"call {right} with the same line",
            }
        )


async def look(caller: McpCaller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a line that changes nothing but what is in view."""
    line = str(given.get("line", ""))
    _demand(line, "loom_look")
    return await _line(caller, given, line)


async def write(caller: McpCaller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a line that adds something, or asks a model."""
    line = str(given.get("line", ""))
    _demand(line, "loom_write")
    return await _line(caller, given, line)


async def destroy(caller: McpCaller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Says what a line would take away; with `confirm` runs it."""
    line = str(given.get("line", ""))
    _demand(line, "loom_destroy")
    if given.get("confirm") is True:
        return await _line(caller, given, line)
    answer = await _line(caller, given, line, is_dry=True)
    asks = "Nothing has changed yet: call again with confirm true."
    return {**answer, "message": f"{answer['message']}\n{asks}", "needs_confirmation": True}


# -- grouped tools: each operation is a line, with the caller's words after it

GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "windows": (
        "Windows on nodes and documents. `rest`: what follows, such as `a7x2 lines:10-20`, "
        '`"whales" max:5`, `#3 lines:5-9`, `#3`.',
        {
            "open_frame": "open",
            "open_range": "open",
            "open_search": "open",
            "update": "resize",
            "refresh": "refresh",
            "close": "close",
            "clear_all": "close all",
            "status": "memory windows",
        },
    ),
    "result": (
        "What is shown of earlier results. `rest`: numbers such as `#3 #4`; in the tree of a "
        "session of the gateway also the program's own ids of its calls, such as `toolu_01A`.",
        {"hide": "hide", "show": "show", "collapse_all": "hide all"},
    ),
    "outline": (
        "The outline of the tree. `rest`: such as `from a7x2 depth:3`, or a node or link type.",
        {"show": "tree", "expand": "expand", "collapse": "collapse", "reset": "tree reset"},
    ),
    "augment": (
        "Documents that are loaded as instructions. `rest`: a name or pattern.",
        {
            "list": "augment list",
            "load": "augment load",
            "unload": "augment unload",
            "pin": "augment pin",
            "unpin": "augment unpin",
        },
    ),
    "todo": (
        'Your tasks. `rest`: such as `"check the date"` or `t3`.',
        {
            "list": "todo list",
            "add": "todo add",
            "toggle": "todo toggle",
            "done": "todo done",
            "archive": "todo archive",
            "remove": "todo remove",
            "note": "todo note",
            "clear": "todo clear",
        },
    ),
    "trail": (
        'The way you took through the tree. `rest`: such as `n:20`, `"name"`, '
        '`"name" n:2 "why"`, `"name" at:3 save:"other"`.',
        {
            "recent": "trail",
            "windows": "trail show windows",
            "list": "trail list",
            "show": "trail show",
            "save": "trail save",
            "note": "trail note",
            "replay": "trail replay",
            "fork": "trail fork",
            "join": "trail join",
            "share": "trail share",
            "unshare": "trail unshare",
        },
    ),
    "claim": (
        'Claims and their evidence. `rest`: such as `"It was her." about a7x2 cite:b3k9`, '
        '`c1x2`, `b3k9 for c1x2 "why" words:"the lamp"`, `c1x2 "It was her."`. '
        "To commit or withdraw, use loom_destroy.",
        {
            "list": "",
            "read": "view",
            "open": "claim",
            "cite": "cite",
            "answer": "address",
            "conclude": "conclude",
        },
    ),
}
ALONE = {"clear_all", "status", "collapse_all"}  # operations that nothing follows
REMOVE = {"todo"}  # groups with operations that take something away
MOST_CLAIMS = 50  # of a tree that are listed, the last changed first


def _grouped(group: str) -> Callable[[McpCaller, Mapping[str, Any]], Awaitable[dict[str, Any]]]:
    operations = GROUPS[group][1]

    async def run(caller: McpCaller, given: Mapping[str, Any]) -> dict[str, Any]:
        operation = str(given.get("operation", ""))
        if operation not in operations:
            raise invalid(
                f"{group} has no operation {quote(short(operation))}.",
                f"one of {', '.join(operations)}",
            )
        rest = "" if operation in ALONE else str(given.get("rest", ""))
        if "\n" in rest:
            raise invalid("rest is one line.", "send lines with blocks by loom_write")
        if not operations[operation]:
            return await _claims(caller, given)
        if group == "result":
            return await _results(caller, given, operation, rest.split())
        line = f"{operations[operation]} {rest}".strip()
        verb = operations[operation].split()[0]
        if _command(line).verb != verb:
            raise invalid(f"{quote(short(line))} is no line of {group}.", f"→ help {verb}")
        return await _line(caller, given, line)

    return run


_OF_WINDOWS = re.compile(r"#?\d+|all|full|label:.*")


async def _results(
    caller: McpCaller, given: Mapping[str, Any], operation: str, names: list[str]
) -> dict[str, Any]:
    """What hides or shows results answers, with how many were `modified` and the names that were
    `not_found`. Windows are named by their numbers, results that a program has sent through the
    gateway by its own ids."""
    own = [name for name in names if not _OF_WINDOWS.fullmatch(name)]
    if not own:
        answer = await _line(caller, given, f"{GROUPS['result'][1][operation]} {' '.join(names)}")
        done, _, missing = answer["message"].partition("\n")[0].partition("not found")
        numbers = re.findall(r"#\d+", done)
        return {**answer, "modified": len(numbers), "not_found": re.findall(r"#\d+", missing)}
    if len(own) < len(names):
        raise invalid("Numbers and ids of a program are two calls.", "send the numbers alone")
    tree = _session(caller, given).tree
    sessions = (await caller.get("sessions", tree=tree))["results"]
    changed: list[str] = []
    for tool_use_id in own:
        if await _changed(caller, sessions, tool_use_id, operation):
            changed.append(tool_use_id)
    missing_ids = [tool_use_id for tool_use_id in own if tool_use_id not in changed]
    if not changed:
        raise Refused(
            {
                "code": "NOT_FOUND",
                "message": f"No result here is called {', '.join(missing_ids)}.",
                "hint": "ids are those of the results in the last request of the session",
                "modified": 0,
                "not_found": missing_ids,
            }
        )
    word = "hidden" if operation == "hide" else "shown"
    more = f" · not found {' '.join(missing_ids)}" if missing_ids else ""
    return {
        "message": f"✓ {word} {' '.join(changed)}{more}",
        "modified": len(changed),
        "not_found": missing_ids,
    }


async def _changed(
    caller: McpCaller, sessions: list[dict[str, Any]], tool_use_id: str, operation: str
) -> bool:
    """Hides or shows a result in the session whose last request has it; False if none has."""
    sent = {"tool_use_id": tool_use_id, "visible": operation == "show"}
    for session in sessions:
        try:
            await caller.post(f"sessions/{session['id']}/results", sent)
        except Refused as refusal:
            if refusal.body.get("code") != "NOT_FOUND":
                raise
        else:
            return True
    return False


async def _claims(caller: McpCaller, given: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of the session's tree."""
    tree = _session(caller, given).tree
    page = await caller.get("claims", tree=tree, limit=str(MOST_CLAIMS))
    claims = page["results"]
    lines = [
        f"{claim['id']} · {claim['state']} · {claim['strong']} strong, "
        f"{claim['moderate']} moderate, {claim['weak']} weak, {claim['against']} against · "
        f"{short(claim['statement'])}"
        for claim in claims
    ]
    head = f"{len(claims)} of {page['count']} claims, the last changed first"
    return {"claims": claims, "message": "\n".join([head, *lines])}


# -- the list

_TEXT = {"type": "string"}
_SESSION = {
    "type": "string",
    "description": "The handle from open_session; without it the header X-Loom-Session counts.",
}
_LINE = {
    "type": "string",
    "description": "One command, such as `view a7x2`; a text may follow below it, closed by ←.",
}
_OUTPUT = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "loom": {"const": True},
        "message": _TEXT,
        "code": {"type": "string", "description": "Why it was refused."},
        "session": {"type": "string", "description": "The handle for all other tools."},
        "tree": _TEXT,
        "refs": {"type": "array", "items": _TEXT, "description": "What was made, by id."},
        "generations": {"type": "array", "items": _TEXT},
        "needs_confirmation": {"type": "boolean"},
        "claims": {"type": "array", "items": {"type": "object"}},
        "modified": {"type": "integer", "description": "How many results were hidden or shown."},
        "not_found": {"type": "array", "items": _TEXT},
    },
    "required": ["success", "loom", "message"],
}


def _declared(
    name: str,
    description: str,
    properties: dict[str, Any],
    *,
    required: tuple[str, ...],
    reads: bool = False,
    destroys: bool = False,
    outside: bool = False,
) -> types.Tool:
    return types.Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        output_schema=_OUTPUT,
        annotations=types.ToolAnnotations(
            read_only_hint=reads, destructive_hint=destroys, open_world_hint=outside
        ),
    )


def _tools() -> dict[str, LoomTool]:
    by_line = {"session": _SESSION, "line": _LINE}
    tools = [
        LoomTool(
            _declared(
                "open_session",
                "Begin here: names the tree to work in, and gives the session for all other tools.",
                {"tree": {"type": "string", "description": "The id or title of a tree."}},
                required=("tree",),
                reads=True,
            ),
            open_session,
        ),
        LoomTool(
            _declared(
                "loom_look",
                "Look at the tree: view, list, tree, find, graph, open, memory, help. "
                "Changes nothing but what you have in view. `help` lists everything.",
                by_line,
                required=("line",),
                reads=True,
                outside=True,
            ),
            look,
        ),
        LoomTool(
            _declared(
                "loom_write",
                "Add to the tree: respond, edit, annotate, link, tag, write, continue; or to your "
                "own notes: todo add, stash, scratchpad with append.",
                by_line,
                required=("line",),
                outside=True,
            ),
            write,
        ),
        LoomTool(
            _declared(
                "loom_destroy",
                f"Take away: {', '.join(_asks_first())}; and of your own notes todo clear and "
                "remove, scratchpad, stash with replace. Without confirm it only says what it "
                "would do. Ask the person first.",
                {**by_line, "confirm": {"type": "boolean", "default": False}},
                required=("line",),
                destroys=True,
            ),
            destroy,
        ),
    ]
    for group, (description, operations) in GROUPS.items():
        properties = {
            "session": _SESSION,
            "operation": {"type": "string", "enum": list(operations)},
            "rest": {"type": "string", "default": ""},
        }
        declared = _declared(
            group, description, properties, required=("operation",), destroys=group in REMOVE
        )
        tools.append(LoomTool(declared, _grouped(group)))
    return {tool.declared.name: tool for tool in tools}


TOOLS = _tools()
