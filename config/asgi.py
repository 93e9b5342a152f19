"""The ASGI application: http to Django, websocket and lifespan to loom.live."""

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

# Models can only be imported after the line above.
from loom.api.waiting import holding  # noqa: E402
from loom.live import hub  # noqa: E402

# What was created at the start stays for good: the collector does not have to walk through it at
# every full collection (a path of 2,000 nodes over the API: 34 ms with, 26 without, measured). The
# first request's views are loaded earlier for the same reason.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Routes each kind of connection. Django itself has no lifespan."""
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


# Takes the browser's address and scheme from X-Forwarded-*, if a named proxy sent them.
proxied: Any = ProxyHeadersMiddleware(cast(Any, _direct), trusted_hosts=list(settings.PROXIES))
