"""The gateway's addresses, `/gateway/v1/…`: finds the key, and sends each request on to the
provider or to an agent of this installation. Asynchronous throughout: a stream holds no thread.

`HEAD /` and `GET /` say that the gateway is there. There are no redirects: some programs take one
for a failure. See docs/gateway.md.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async

from agents.gateway import forwarding, hosted
from agents.gateway.compressed import UnpackedTooLongError, unpacked
from agents.gateway.forwarding import ProgramRequest
from agents.gateway.keys import REFUSAL, find_caller, models_of
from agents.gateway.messages import Shape
from loom.permissions import LOOM

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

log = logging.getLogger("heddle.gateway")

ROOT = "/gateway"
MOST_BYTES = 32 * 1024 * 1024  # of a request's body
# Addresses whose requests are recorded, and those that only pass.
SHAPES: dict[str, Shape] = {
    "/chat/completions": "chat",
    "/completions": "completions",
    "/messages": "messages",
    "/responses": "responses",
}
PASSING = ("/embeddings", "/messages/count_tokens", "/responses/compact")
HOSTED = ("loom/", "claude-loom-")  # in front of the name of an agent


class BodyTooLongError(Exception):
    """The body of a request is over MOST_BYTES."""


class BodyLostError(Exception):
    """The program closed its connection before the end of the body."""


async def handle(scope: Scope, receive: Receive, send: Send) -> None:
    """Serves one request to the gateway."""
    path = scope["path"].removeprefix(ROOT).removeprefix("/v1").rstrip("/")
    reply = GatewayReply(send, path, scope)
    if not path and scope["method"] in ("HEAD", "GET"):
        await reply.json(200, {"ok": True, "gateway": "heddle"})
        return
    headers = _headers(scope)
    find = database_sync_to_async(find_caller, thread_sensitive=False)
    caller = await find(_secret(headers))
    if caller is None:
        await reply.error(401, "authentication_error", REFUSAL)
        return
    if path == "/models" and scope["method"] == "GET":
        await _models(reply, ProgramRequest(caller, "chat", path, _query(scope), headers, b"", {}))
        return
    if scope["method"] != "POST" or (path not in SHAPES and path not in PASSING):
        message = f"The gateway has no {scope['method']} {scope['path']}."
        await reply.error(404, "not_found_error", message)
        return
    try:
        raw = await _body(receive)
        plain = await _plain(raw, headers.get("content-encoding", ""))
    except (BodyTooLongError, UnpackedTooLongError):
        message = f"The body is over {MOST_BYTES:,} bytes."
        await reply.error(413, "request_too_large", message)
        return
    except BodyLostError:
        return  # half a request is sent to nobody, and nobody waits for an answer
    if not plain.strip():
        await reply.error(400, "invalid_request_error", "The body of the request is empty.")
        return
    body = _object(plain)
    asked = ProgramRequest(
        caller, SHAPES.get(path, "chat"), path, _query(scope), headers, raw, body, plain
    )
    model = body.get("model")
    is_hosted = isinstance(model, str) and model.startswith(HOSTED)
    if is_hosted and path in PASSING:
        await hosted.count_tokens(asked, reply)
    elif is_hosted:
        await (hosted.with_tools if body.get("tools") else hosted.answer)(asked, reply, receive)
    elif path in PASSING:
        await forwarding.passing(asked, reply, receive)
    elif not body:  # nothing that could be recorded
        await forwarding.passing(asked, reply, receive, is_bypass=True)
    else:
        await forwarding.recorded(asked, reply, receive)


@dataclass
class GatewayReply:
    """The answer to one request, in the shape that its program reads."""

    send: Send
    path: str
    scope: Scope
    has_begun: bool = False

    @property
    def is_anthropic(self) -> bool:
        """Whether the program speaks Anthropic's API."""
        names = {name for name, _ in self.scope["headers"]}
        return self.path.startswith("/messages") or b"anthropic-version" in names

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Sends the status and the headers."""
        self.has_begun = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def piece(self, data: bytes, *, more: bool = True) -> None:
        """Sends a piece of the body."""
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def json(self, status: int, value: Any) -> None:
        """Sends a whole answer."""
        data = json.dumps(value).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
        await self.start(status, headers)
        await self.piece(b"" if self.scope["method"] == "HEAD" else data, more=False)

    async def error(self, status: int, kind: str, message: str) -> None:
        """Sends an error of Heddle itself."""
        if self.is_anthropic:
            body: dict[str, Any] = {"type": "error", "error": {"type": kind, "message": message}}
        else:
            body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
        await self.json(status, body)


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _query(scope: Scope) -> str:
    return str(scope.get("query_string", b"").decode("latin-1"))


def _secret(headers: Mapping[str, str]) -> str:
    """The key in `x-api-key` or `Authorization`; a program may send both."""
    bearer = headers.get("authorization", "")
    kind, _, value = bearer.partition(" ")
    own = value.strip() if kind.lower() == "bearer" else ""
    other = headers.get("x-api-key", "")
    return other if other.startswith("hg_") else own or other


async def _body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyLostError
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MOST_BYTES:
            raise BodyTooLongError
        if not message.get("more_body"):
            return b"".join(pieces)


async def _plain(raw: bytes, encoding: str) -> bytes:
    """The body without its compression; itself if it has none, or one that cannot be read here."""
    if not encoding:
        return raw
    plain = await asyncio.to_thread(unpacked, raw, encoding, most=MOST_BYTES)
    return raw if plain is None else plain


def _object(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body; {} for anything else, which then passes as it is."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def _models(reply: GatewayReply, asked: ProgramRequest) -> None:
    """The provider's models, and the agents of the grove in front of them."""
    own = await database_sync_to_async(models_of, thread_sensitive=False)([asked.actor.grove])
    theirs = await forwarding.listed(asked)
    names = [(f"loom/{agent.name}", agent) for agent in own if LOOM in agent.permissions]
    created = {name: agent.created_at for name, agent in names}
    if reply.is_anthropic:
        data = [
            {
                "type": "model",
                "id": "claude-loom-" + name.removeprefix("loom/"),
                "display_name": name,
                "created_at": created[name].strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            for name, _ in names
        ]
        ids = [model["id"] for model in (*data, *theirs) if isinstance(model.get("id"), str)]
        ends = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
        await reply.json(200, {"data": [*data, *theirs], "has_more": False, **ends})
        return
    agents = [
        {
            "id": name,
            "object": "model",
            "created": int(created[name].timestamp()),
            "owned_by": "heddle",
        }
        for name, _ in names
    ]
    await reply.json(200, {"object": "list", "data": [*agents, *theirs]})
