"""The ASGI application: http to Django, WebSockets to the live consumer."""

import asyncio
import gc
import os
import warnings
from functools import partial
from importlib import import_module
from typing import Any

gc.disable()  # until all is loaded: walking through it meanwhile takes 0.25 s of 2.0 (measured)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: E402

from config.http import bounded, raise_descriptors  # noqa: E402
from loom.platform.deadlines import limit_statements  # noqa: E402
from loom.platform.handler import REQUEST_S, handler  # noqa: E402
from loom.platform.request_log import logged  # noqa: E402
from loom.platform.traces import start as start_traces  # noqa: E402

# WhiteNoise's responses are files, which Django reads whole in a thread before it sends them.
warnings.filterwarnings(
    "ignore", message="StreamingHttpResponse must consume synchronous iterators"
)
django_application = handler()
raise_descriptors()
limit_statements(REQUEST_S)
start_traces("web")

# Models can only be imported after the line above.
from config import metrics  # noqa: E402
from loom.live import capacity, consumers, event_stream, frames  # noqa: E402
from loom.site import large_bodies  # noqa: E402
from loom.site.waiting import holding  # noqa: E402

# What was created at the start stays for good: the collector does not have to walk through it at
# every full collection (a path of 2,000 nodes over the API: 34 ms with, 26 without, measured). The
# first request's views are loaded earlier for the same reason.
import_module(settings.ROOT_URLCONF)
gc.freeze()
gc.enable()


async def pages(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Django, with bodies bounded and answers that may wait without a thread."""
    large = large_bodies.STRANGER_BYTES, large_bodies.let_in
    await bounded(partial(holding, django_application), scope, receive, send, large)


async def http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Django, and beside it the MCP endpoint, the gateway and streams of events."""
    await logged(_http, scope, receive, send)


async def _http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["path"] == metrics.PATH and settings.METRICS_KEY:
        await metrics.handle(scope, receive, send)
    elif scope["path"] == "/mcp":
        await mcp(pages, scope, receive, send)
    elif scope["path"] == "/gateway" or scope["path"].startswith("/gateway/"):
        await gateway(scope, receive, send)
    elif event_stream.is_wanted(scope):
        await event_stream.handle(scope, receive, send)
    else:
        await pages(scope, receive, send)


async def mcp(application: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The MCP endpoint. Its SDK is loaded by the first request: most installations never get one,
    and it takes longer to load than a tenth of the start."""
    server = await asyncio.to_thread(import_module, "loom.mcp.server")
    await server.handle(application, scope, receive, send)


async def gateway(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The gateway, which is loaded by its first request for the same reason."""
    server = await asyncio.to_thread(import_module, "agents.gateway.server")
    await server.handle(scope, receive, send)


async def websocket(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The live consumers, as many as there is room for. The gateway has no sockets: it refuses them
    before the handshake, so that a program which tries one first goes on with requests."""
    if scope["path"].startswith("/gateway/"):
        await send({"type": "websocket.close"})
        return
    async with capacity.capacity.place() as place:
        if place is not None:
            await consumers.routes({**scope, capacity.SCOPE_KEY: place}, receive, send)
        else:
            await no_place(scope, receive, send)


async def no_place(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Closes a socket with a code and a reason, which clients can only read once it is accepted;
    while many are being refused, with 503 instead of a handshake."""
    if capacity.capacity.answered > capacity.MOST_ANSWERED:
        start = {"type": "websocket.http.response.start", "status": 503}
        await send({**start, "headers": [(b"retry-after", b"10")]})
        await send({"type": "websocket.http.response.body", "body": b""})
        return
    refused = capacity.refusal()
    await receive()
    await send({"type": "websocket.accept"})
    if not scope["path"].startswith("/ws/documents/"):  # whose frames are binary
        await send({"type": "websocket.send", "text": frames.error(refused)})
    await send({"type": "websocket.close", "code": capacity.FULL, "reason": refused.message})
    while (await receive())["type"] != "websocket.disconnect":  # uvicorn waits 10 s at most
        pass


_router: Any = ProtocolTypeRouter(
    {"http": http, "websocket": websocket, "lifespan": consumers.lifespan}
)
# Takes the address and scheme of the browser from X-Forwarded-*, where a named proxy sends it.
proxied: Any = ProxyHeadersMiddleware(_router, trusted_hosts=list(settings.PROXIES))
application: Any = proxied if settings.PROXIES else _router
