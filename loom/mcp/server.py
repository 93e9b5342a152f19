"""The MCP endpoint, `/mcp`: streamable HTTP without sessions of its own, by the official SDK.
Answers are JSON; a call that asks for its progress, and a subscription, are answered by a stream.
Needs an API key; every call has the rights of that key, and no others."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import mcp_types as types
from django.conf import settings
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from loom.errors import CommandError
from loom.language.refs import short
from loom.mcp import resources, subscriptions
from loom.mcp.api_client import McpCaller, Refused
from loom.mcp.tools import TOOLS
from loom.site.api_requests import bearer_challenge, demand_few_values

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

MOST_HANDLE = 1000  # characters of a session's handle
MOST_BYTES = 4 * 1024 * 1024
INSTRUCTIONS = (
    "Heddle holds texts in a branching tree. Call open_session with a tree first; pass its session "
    "to the other tools. A line such as `tree`, `view a7x2` or `help` is given to loom_look."
)


async def handle(application: Any, scope: Scope, receive: Receive, send: Send) -> None:
    """Serves one request to the endpoint; `application` serves the API. Only POST: nothing is
    sent without being asked for, so that a stream of a GET would stay open for nothing."""
    if scope["method"] != "POST":
        refusal = {"code": "INVALID_SYNTAX", "message": "Only POST is served here.", "status": 405}
        await _refuse(send, refusal)
        return
    if not _is_own_page(scope):
        refusal = {
            "code": "PERMISSION_DENIED",
            "message": "A page of another address may not ask here.",
            "hint": "Call from a program, or add the address to HEDDLE_ORIGINS.",
            "status": 403,
        }
        await _refuse(send, refusal)
        return
    caller = _caller(application, scope)
    try:
        caller = replace(caller, user=(await caller.get("me"))["user"])
        body = await _body(receive)
    except Refused as refused:
        await _refuse(send, refused.body, bearer_challenge(caller.base_url, "mcp"))
        return
    if reason := _no_message(body):
        error = {"code": types.INVALID_REQUEST, "message": reason}
        await _send_json(send, 400, {"jsonrpc": "2.0", "id": None, "error": error})
        return
    wants = _wants_progress(body)
    manager = StreamableHTTPSessionManager(
        _server(caller, wants_progress=wants),
        stateless=True,
        json_response=not wants,
        max_request_body_size=MOST_BYTES,
    )
    async with manager.run():
        await manager.handle_request(scope, _again(body, receive), send)


def _is_own_page(scope: Scope) -> bool:
    """Whether a request comes from no page of a browser, or from one of this installation: MCP
    demands that others are refused. Programs name no Origin, or one that is no web page."""
    origins = [value.decode("latin-1") for key, value in scope["headers"] if key == b"origin"]
    return all(
        origin in settings.ORIGINS or not (origin == "null" or origin.startswith("http"))
        for origin in origins
    )


def _no_message(body: bytes) -> str:
    """Why a body that is JSON is no message of the protocol; "" if it is one, or no JSON. The SDK
    would answer with the names of its classes, and takes an id of another kind for none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, list):
        return "Batches are not served. Send one message at a time."
    given = value.get("id", "") if isinstance(value, dict) else None
    is_id = isinstance(given, int | str) and not isinstance(given, bool)
    if isinstance(value, dict) and "method" in value and not is_id:
        return "An id is a text or a whole number."
    try:
        types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError:
        return 'A body is one message: an object with "jsonrpc": "2.0", an id and a method.'
    return ""


def _wants_progress(body: bytes) -> bool:
    """Whether a request names a token by which it is told how far its tool has come."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and isinstance(meta.get("progressToken"), (str, int))


async def _body(receive: Receive) -> bytes:
    """The body of a request. Raises Refused if it is too long or has too many values."""
    pieces, size, more = [], 0, True
    while more and size <= MOST_BYTES:
        message = await receive()
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        more = message["type"] == "http.request" and message.get("more_body", False)
    try:
        if size > MOST_BYTES:
            reason = f"A body has at most {MOST_BYTES:,} bytes."
            raise CommandError("LIMIT_EXCEEDED", reason, hint="send less at once", is_size=True)
        body = b"".join(pieces)
        demand_few_values(body)
    except CommandError as error:
        raise Refused({**error.body, "status": error.status}) from None
    return body


def _again(body: bytes, rest: Receive) -> Receive:
    """What gives a body that was read already, and then what follows."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return messages.pop() if messages else await rest()

    return receive


def _caller(application: Any, scope: Scope) -> McpCaller:
    """Who sent the request. A cookie is no sign-in here: pages of others could make a browser
    send it."""
    headers = {key: value.decode("latin-1") for key, value in scope["headers"]}
    return McpCaller(
        application=application,
        base_url=f"{scope.get('scheme', 'http')}://{headers.get(b'host', 'localhost')}",
        client=tuple(scope.get("client") or ("127.0.0.1", 0)),
        authorization=headers.get(b"authorization", ""),
        session=headers.get(b"x-loom-session", "")[:MOST_HANDLE],
    )


async def _refuse(send: Send, body: dict[str, Any], challenge: str = "") -> None:
    """The API's refusal of the key; `challenge` says how to get one."""
    status = int(body.get("status", 503))
    headers = [(b"content-type", b"application/json")]
    if status == 405:
        headers.append((b"allow", b"POST"))
    if status == 401:
        headers.append((b"www-authenticate", challenge.encode("latin-1", "replace")))
    await _send_json(send, status, body, headers)


async def _send_json(
    send: Send,
    status: int,
    body: Any,
    headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"application/json"),),
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


class HeddleServer(Server[Any]):
    """A server that announces no notices about its lists: the tools never change, and the lists of
    trees and documents are those last used, which any look changes. The SDK announces them
    wherever resources can be subscribed to."""

    def get_capabilities(self, *given: Any, **more: Any) -> types.ServerCapabilities:
        """What this server can do."""
        able = super().get_capabilities(*given, **more)
        unchanged = {"list_changed": False}
        parts = {"tools": able.tools, "resources": able.resources}
        return able.model_copy(
            update={
                name: part.model_copy(update=unchanged)
                for name, part in parts.items()
                if part is not None
            }
        )


def _server(caller: McpCaller, *, wants_progress: bool) -> Server[Any]:
    """The server for one caller."""

    async def list_tools(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        _demand_first_page(params)
        return types.ListToolsResult(tools=[tool.declared for tool in TOOLS.values()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tell = context.session.report_progress if wants_progress else None
        return await _called(replace(caller, tell=tell), params)

    async def list_resources(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        _demand_first_page(params)
        try:
            return types.ListResourcesResult(resources=await resources.listed(caller))
        except Refused as refused:
            raise _error(refused) from None

    async def list_templates(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _demand_first_page(params)
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(
        context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            contents = await resources.text_of(caller, str(params.uri))
        except Refused as refused:
            raise _error(refused) from None
        return types.ReadResourceResult(contents=[contents])

    async def listen(
        context: Any, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await subscriptions.listen(caller, context, params)

    return HeddleServer(
        "heddle",
        version=settings.VERSION,
        title="Heddle",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscriptions_listen=listen,
    )


def _demand_first_page(params: types.PaginatedRequestParams | None) -> None:
    """Refuses a cursor: all lists are answered whole, so that none was ever given out."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "This cursor is unknown: the list has one page.")


def _error(refused: Refused) -> MCPError:
    """A refusal as an error of the protocol."""
    hint = refused.body.get("hint", "")
    return MCPError(types.INVALID_PARAMS, f"{refused.body['message']} {hint}".strip())


async def _called(caller: McpCaller, params: types.CallToolRequestParams) -> types.CallToolResult:
    """The result of a tool; a refusal is a result too, so that the model reads it."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"There is no tool {short(params.name)!r}.")
    try:
        answer = {"success": True, "loom": True, **await tool.run(caller, params.arguments or {})}
    except Refused as refused:
        code, message = refused.body.get("code", "UNAVAILABLE"), refused.body["message"]
        hint = refused.body.get("hint", "")
        shown = f"✗ {code}: {message}" + (f"\n  hint: {hint}" if hint else "")
        answer = {"success": False, "loom": True, "code": code, "message": shown}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer["message"])],
        structured_content=answer,
        is_error=not answer["success"],
    )
