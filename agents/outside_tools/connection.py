"""The connection to an outside MCP server: the client of the official SDK, whose requests go out
through the checked transport, with limits of size and time.

The SDK speaks httpx2, the checked transport httpx: `CheckedBridge` is between them, so that an
address is resolved, checked and pinned for each request here as it is for providers.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR
from pydantic import ValidationError

from agents.outside_tools.addresses import ServerAddress, ToolFailure
from agents.providers.transport import CheckedTransport, Clock, Exchange, Limits, broken_by
from agents.providers.values import BrokenConnection, Failure
from loom.language.json_arguments import as_json

MOST_BYTES = 2 * 1024 * 1024  # of all answers of one connection together
LIST_S = 20.0  # seconds for asking a server for its tools
CALL_S = 60.0  # seconds for one call
MOST_TOOLS = 200
MOST_PAGES = 10  # of a list of tools
_CLIENT = types.Implementation(name="heddle", version="1")
# Said by the answer of the transport, which is unpacked and framed again.
_OWN_HEADERS = {"content-encoding", "content-length", "transfer-encoding", "connection"}


class _Bytes(httpx2.AsyncByteStream):
    """The body of an answer."""

    def __init__(self, bridge: "CheckedBridge", response: httpx.Response, came: Exchange) -> None:
        self._bridge, self._response, self._came = bridge, response, came

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._came.chunks():
                self._bridge.left -= len(chunk)
                # Only the chunks are needed, and a stream may be long.
                self._came.body.clear()
                if self._bridge.left < 0:
                    reason = f"its answers are over {MOST_BYTES:,} bytes"
                    raise BrokenConnection(Failure("invalid", reason))
                yield chunk
        except BrokenConnection as broken:
            raise self._bridge.noted(broken.failure) from None

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._response.aclose()


class CheckedBridge(httpx2.AsyncBaseTransport):
    """Sends requests of httpx2 through the checked transport, without following redirects.

    `failure` is the first reason why a request could not be sent or answered, `status` the last
    answer's; `left` the bytes that may still arrive. `is_calling` is set when a tool is about to be
    called; from then on `is_sent` says whether the call may have arrived.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, seconds: float) -> None:
        self._transport = transport
        self._limits = Limits(
            connect_s=10, first_s=seconds, idle_s=seconds, total_s=seconds, body_bytes=MOST_BYTES
        )
        self.failure: Failure | None = None
        self.status = 0
        self.left = MOST_BYTES
        self.is_calling = self.is_sent = False

    def noted(self, failure: Failure) -> httpx2.TransportError:
        """The error for the SDK; the reason stays here."""
        self.failure = self.failure or failure
        return httpx2.ReadError("the checked transport refused or lost the connection")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer of the server."""
        if request.method == "GET" and "last-event-id" not in request.headers:
            return httpx2.Response(405)  # nothing is wanted that was not asked for
        try:
            response = await self._sent(request)
        except BrokenConnection as broken:
            raise self.noted(broken.failure) from None
        self.status = response.status_code
        if 300 <= self.status < 400:
            await response.aclose()
            reason = "it redirects to another address, and redirects are not followed"
            raise self.noted(Failure("not_found", reason))
        came = Exchange(response, self._limits, Clock(self._limits))
        kept = [
            (name, value)
            for name, value in response.headers.raw
            if name.decode("latin-1").lower() not in _OWN_HEADERS
        ]
        stream = _Bytes(self, response, came)
        return httpx2.Response(response.status_code, headers=kept, stream=stream)

    async def _sent(self, request: httpx2.Request) -> httpx.Response:
        headers = [pair for pair in request.headers.raw if pair[0].lower() != b"accept-encoding"]
        waits = {"connect": self._limits.connect_s, "read": None, "write": 60.0, "pool": 10}
        with broken_by():
            sent = httpx.Request(
                request.method,
                str(request.url),
                headers=[*headers, (b"accept-encoding", b"identity")],
                content=await request.aread(),
                extensions={"timeout": waits},
            )
            was_sent, self.is_sent = self.is_sent, self.is_calling
            try:
                return await self._transport.handle_async_request(sent)
            except (httpx.ConnectError, httpx.ConnectTimeout, BrokenConnection):
                # No connection was made: nothing has arrived.
                self.is_sent = was_sent
                raise

    async def aclose(self) -> None:
        """Closes the connections that are kept."""
        await self._transport.aclose()


@asynccontextmanager
async def _connected(
    address: ServerAddress, seconds: float
) -> AsyncIterator[tuple[Client, CheckedBridge]]:
    """A session with a server. Raises ToolFailure for whatever goes wrong in it."""
    bridge = CheckedBridge(CheckedTransport(address.allow), seconds)
    headers = {"user-agent": "heddle"}
    if address.key:
        headers["authorization"] = f"Bearer {address.key}"
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                transport=bridge, headers=headers, trust_env=False, timeout=None
            ) as http,
            Client(
                streamable_http_client(address.url, http_client=http, terminate_on_close=False),
                client_info=_CLIENT,
                cache=None,
            ) as client,
        ):
            yield client, bridge
    except Exception as error:
        raise _failure_of(error, bridge, seconds) from None


_OF_STATUS = {401: "auth", 403: "auth", 404: "not_found", 405: "not_found", 429: "rate"}


def _failure_of(error: BaseException, bridge: CheckedBridge, seconds: float) -> ToolFailure:
    """What went wrong, from what the SDK raises, which often is a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    is_sent = bridge.is_sent
    if bridge.failure is not None:
        # What the SDK makes of a lost connection says less than why it was lost.
        return ToolFailure(bridge.failure.kind, bridge.failure.said, is_sent=is_sent)
    if isinstance(error, TimeoutError):
        return ToolFailure("timeout", f"it did not answer within {seconds:g} s", is_sent=is_sent)
    if bridge.status >= 400:
        kind = _OF_STATUS.get(bridge.status, "server" if bridge.status >= 500 else "answered")
        reason = f"it answered {bridge.status}"
        # Whoever answers so has refused the request; after an error of its own who knows.
        return ToolFailure(kind, reason, is_sent=is_sent and kind == "server")
    if isinstance(error, MCPError) and error.code not in (CONNECTION_CLOSED, PARSE_ERROR):
        return ToolFailure("answered", error.message)
    if isinstance(error, MCPError | ValidationError | ValueError | RuntimeError):
        return ToolFailure("rubbish", is_sent=is_sent)
    return ToolFailure("network", "the connection broke", is_sent=is_sent)


async def listed(address: ServerAddress) -> list[types.Tool]:
    """The tools of a server, at most MOST_TOOLS. Raises ToolFailure."""
    tools: list[types.Tool] = []
    async with _connected(address, LIST_S) as (client, _):
        cursor: str | None = None
        for _page in range(MOST_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            page = await client.session.list_tools(params=params)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) > MOST_TOOLS:
                break
    if len(tools) > MOST_TOOLS:
        raise ToolFailure("answered", f"it has over {MOST_TOOLS} tools")
    return tools


async def called(
    address: ServerAddress, name: str, arguments: dict[str, Any]
) -> types.CallToolResult:
    """The result of a tool, which is called at most once. Raises ToolFailure."""
    params = types.CallToolRequestParams(name=name, arguments=arguments)
    async with _connected(address, CALL_S) as (client, bridge):
        bridge.is_calling = True
        # Not `call_tool`: it checks the result against a schema of the server's, whose patterns may
        # take for ever, and asks for the list of tools first.
        request = types.CallToolRequest(params=params)
        return await client.session.send_request(request, types.CallToolResult)


def texts_of(answer: types.CallToolResult) -> list[str]:
    """The parts of a result as text; of what is no text, what it is."""
    parts = [_text_of(block) for block in answer.content]
    if not parts and answer.structured_content is not None:
        parts = [as_json(answer.structured_content)]
    return parts


def _text_of(block: Any) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        held = block.resource
        if isinstance(held, types.TextResourceContents):
            return held.text
        return f"(a file, {held.mime_type or 'of an unknown kind'}: not shown)"
    if isinstance(block, types.ResourceLink):
        return f"{block.name}: {block.uri}"
    kind = "an image" if isinstance(block, types.ImageContent) else "a sound"
    size = len(str(getattr(block, "data", ""))) * 3 // 4
    return f"({kind}, {getattr(block, 'mime_type', '')}, {size:,} bytes: not shown)"
