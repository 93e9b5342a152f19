"""The ASGI application: http to Django, websocket and lifespan to the live door."""

import gc
import os
from functools import partial
from importlib import import_module
from typing import Any, cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from config.handler import bounded, handler

django_application = handler()

# Models exist only after the line above.
from loom.api.waiting import holding  # noqa: E402
from loom.live import hub  # noqa: E402

# What the start has made stays for good: the collector need not walk through it again with
# every full collection (a path of 2,000 nodes over the API: 34 ms with, 26 without, measured).
# The first request's views are loaded before, for the same reason.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Each kind of connection to whom it concerns. Django itself knows no lifespan."""
    if settings.PROXIES and scope["type"] != "lifespan":
        await proxied(scope, receive, send)
    else:
        await _direct(scope, receive, send)


async def _direct(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await hub.lifespan(receive, send)
    elif scope["type"] == "websocket":
        await hub.application(scope, receive, send)
    else:
        await bounded(partial(holding, django_application), scope, receive, send)


# Takes the address and scheme of the browser from X-Forwarded-*, where a named proxy sends it.
proxied: Any = ProxyHeadersMiddleware(cast(Any, _direct), trusted_hosts=list(settings.PROXIES))
