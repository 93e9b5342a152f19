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
from django.db import connections  # noqa: E402
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: E402

from config.http import bounded  # noqa: E402
from loom.platform.handler import REQUEST_S, handler  # noqa: E402

# WhiteNoise's responses are files, which Django reads whole in a thread before it sends them.
warnings.filterwarnings(
    "ignore", message="StreamingHttpResponse must consume synchronous iterators"
)
django_application = handler()
if connections["default"].vendor == "postgresql":
    # A statement ends with the time of a request; SQLite asks for that while it runs one.
    limit = f"-c statement_timeout={int(REQUEST_S * 1000)}"
    connections.settings["default"]["OPTIONS"]["options"] = limit

# Models can only be imported after the line above.
from loom.live import consumers, event_stream  # noqa: E402
from loom.site.waiting import holding  # noqa: E402

# What was created at the start stays for good: the collector does not have to walk through it at
# every full collection (a path of 2,000 nodes over the API: 34 ms with, 26 without, measured). The
# first request's views are loaded earlier for the same reason.
import_module(settings.ROOT_URLCONF)
gc.freeze()
gc.enable()


async def pages(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Django, with bodies bounded and answers that may wait without a thread."""
    await bounded(partial(holding, django_application), scope, receive, send)


async def http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Django, and beside it the MCP endpoint, the gateway and streams of events."""
    if scope["path"] == "/mcp":
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
    """The live consumers. The gateway has no sockets: it refuses them before the handshake, so that
    a program which tries one first goes on with requests."""
    if scope["path"].startswith("/gateway/"):
        await send({"type": "websocket.close"})
    else:
        await consumers.routes(scope, receive, send)


_router: Any = ProtocolTypeRouter(
    {"http": http, "websocket": websocket, "lifespan": consumers.lifespan}
)
# Takes the address and scheme of the browser from X-Forwarded-*, where a named proxy sends it.
proxied: Any = ProxyHeadersMiddleware(_router, trusted_hosts=list(settings.PROXIES))
application: Any = proxied if settings.PROXIES else _router
