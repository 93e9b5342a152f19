"""The addresses of the whole program: each interface has its own. `GET /healthz` reports the
state of each process, for script/server, Docker and monitoring."""

import shutil
import socket
import tempfile
from collections.abc import Callable
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.celery import app
from loom.api.urls import nowhere

PATIENCE_S = 1.0
LEAST_FREE_BYTES = 32 * 1024 * 1024  # shorter than an import and a checkpoint of the database take


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _broker() -> None:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S
    ) as line:
        line.ping()


def _worker() -> None:
    if not app.control.ping(timeout=PATIENCE_S, limit=1):
        raise TimeoutError


def _model() -> None:
    at = urlsplit(settings.LOCAL_MODEL_URL)
    socket.create_connection((at.hostname or "", at.port or 80), timeout=PATIENCE_S).close()


def _disk() -> None:
    if shutil.disk_usage(settings.DATA_DIR).free < LEAST_FREE_BYTES:
        raise OSError
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:
        file.write(b"\0" * 4096)
        file.flush()


def _state(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception:  # whatever it is, the answer is that it does not work
        return "down"
    return "ok"


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """`{ok, processes: {web, database, broker, worker, model: ok|down|off}, disk: ok|full}`; 503
    unless ok. `disk` is that of the data folder, and also "full" if it cannot be written.

    If the broker is down, the worker cannot be asked; the model never affects `ok`, since people
    can write without it.
    """
    found = {"web": "ok", "database": _state(_database), "broker": _state(_broker)}
    found["worker"] = _state(_worker) if found["broker"] == "ok" else "down"
    disk = "ok" if _state(_disk) == "ok" else "full"
    ok = "down" not in found.values() and disk == "ok"
    found["model"] = _state(_model) if settings.LOCAL_MODEL_URL else "off"
    body = {"ok": ok, "processes": found, "disk": disk}
    return JsonResponse(body, status=200 if ok else 503)


urlpatterns = [
    path("healthz", healthz),
    path("", include("loom.web.urls")),
    path("", include("loom.api.urls")),
    path("api/", include("agents.api")),
    nowhere,
]

handler400 = "loom.web.requests.bad_request"
handler403 = "loom.web.requests.permission_denied"
handler404 = "loom.web.requests.page_not_found"
handler500 = "loom.web.requests.server_error"
