"""The addresses of the whole program: each interface has its own. `GET /healthz` reports the
state of each process, for script/server, Docker and monitoring."""

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.celery import app
from loom.engine import put_aside
from loom.site.api_urls import nowhere

PATIENCE_S = 1.0
LAST_ANSWER_S = 10.0  # seconds after which the answer to a ping is no longer awaited
REMEMBERED_S = 30.0  # seconds for which an answer shows that the worker is alive
LEAST_FREE_BYTES = 32 * 1024 * 1024  # less than an import and a checkpoint of the database need


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _broker() -> None:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S
    ) as line:
        line.ping()


class Worker:
    """Whether the worker answers pings. Where it takes long, as on a slow machine, its answer is
    waited for in the background, and counts for the next request."""

    def __init__(self) -> None:
        self._answered = threading.Condition()
        self._asked_at = self._answered_at = -inf

    def state(self) -> str:
        """Waits for PATIENCE_S at most: ok; slow, if it answered in the last REMEMBERED_S; down."""
        now = time.monotonic()
        with self._answered:
            if now - self._asked_at >= PATIENCE_S:
                self._asked_at = now
                threading.Thread(target=self._ping, name="ping", daemon=True).start()
            recently = partial(self._has_answered_since, now - PATIENCE_S)
            if self._answered.wait_for(recently, PATIENCE_S):
                return "ok"
            return "slow" if self._has_answered_since(now - REMEMBERED_S) else "down"

    def _has_answered_since(self, then: float) -> bool:
        return self._answered_at >= then

    def _ping(self) -> None:
        with suppress(Exception):  # whatever it is, there is no answer
            if app.control.ping(timeout=LAST_ANSWER_S, limit=1):
                with self._answered:
                    self._answered_at = time.monotonic()
                    self._answered.notify_all()


worker = Worker()


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
    """`{ok, version, processes: {web, database, broker, worker, model: ok|down|off}, disk: ok|full,
    put_aside}`; 503 unless ok. `disk` is that of the data folder, and also "full" if it cannot be
    written. A worker that has not answered within a second, but shortly before, is "slow", which is
    ok. `put_aside` is the number of units of work, such as documents, that failed again and again
    and wait for the owner of their grove (null if the database is down).

    If the broker is down, the worker cannot be asked; the model never affects `ok`, since people
    can write without it.
    """
    found = {"web": "ok", "database": _state(_database), "broker": _state(_broker)}
    found["worker"] = worker.state() if found["broker"] == "ok" else "down"
    disk = "ok" if _state(_disk) == "ok" else "full"
    ok = "down" not in found.values() and disk == "ok"
    found["model"] = _state(_model) if settings.LOCAL_MODEL_URL else "off"
    aside = put_aside.count() if found["database"] == "ok" else None
    body = {
        "ok": ok,
        "version": settings.VERSION,
        "processes": found,
        "disk": disk,
        "put_aside": aside,
    }
    return JsonResponse(body, status=200 if ok else 503)


urlpatterns = [
    path("healthz", healthz),
    path("", include("agents.gateway.pages")),
    path("", include("loom.site.page_urls")),
    path("", include("agents.webhooks.pages")),
    path("", include("loom.site.api_urls")),
    path("api/", include("agents.api")),
    path("api/", include("agents.gateway.api")),
    path("api/", include("agents.webhooks.api")),
    nowhere,
]

handler400 = "loom.site.page_requests.bad_request"
handler403 = "loom.site.page_requests.permission_denied"
handler404 = "loom.site.page_requests.page_not_found"
handler500 = "loom.site.page_requests.server_error"
