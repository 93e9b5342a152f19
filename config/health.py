"""`GET /healthz`: the state of each process and of the disk, with the reason for each that is not
well; for script/server, Docker and monitoring."""

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
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from loom.engine import busy, put_aside
from loom.platform.broker import ping_worker
from loom.trees.image_files import image_files

PATIENCE_S = 1.0
TOO_MANY_CONNECTIONS = "53300"  # of PostgreSQL
LAST_ANSWER_S = 10.0  # seconds after which the answer to a ping is no longer awaited
REMEMBERED_S = 30.0  # seconds for which an answer shows that the worker is alive
LEAST_FREE_BYTES = 32 * 1024 * 1024  # less than an import and a checkpoint of the database need


class _ReadOnly(Exception):
    """The database answers, but does not take writes."""


def _database() -> None:
    pool = getattr(connection, "pool", None)
    if pool is None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return
    # Not as requests do, which wait for a connection longer than whoever asks here.
    pool.open()  # Django does so with the first query of the process
    with pool.connection(timeout=PATIENCE_S) as line:
        if line.execute("SHOW transaction_read_only").fetchone() == ("on",):
            raise _ReadOnly


def _answers() -> bool:
    """Whether something listens at the address of the database's server; True if that is a file."""
    host, port = connection.settings_dict["HOST"], connection.settings_dict["PORT"]
    if not host or host.startswith("/"):
        return True
    try:
        socket.create_connection((host, int(port or 5432)), timeout=PATIENCE_S).close()
    except OSError:
        return False
    return True


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
            if ping_worker(wait_s=LAST_ANSWER_S):
                with self._answered:
                    self._answered_at = time.monotonic()
                    self._answered.notify_all()


worker = Worker()


def _model() -> None:
    at = urlsplit(settings.LOCAL_MODEL_URL)
    socket.create_connection((at.hostname or "", at.port or 80), timeout=PATIENCE_S).close()


class _Full(OSError):
    """There is too little room."""


def _disk() -> None:
    if shutil.disk_usage(settings.DATA_DIR).free < LEAST_FREE_BYTES:
        raise _Full
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:
        file.write(b"\0" * 4096)
        file.flush()


def _fault(check: Callable[[], None]) -> Exception | None:
    try:
        check()
    except Exception as error:  # whatever it is, the answer is that it does not work
        return error
    return None


# Everybody may read the answer, so no reason names an address, a user or a path.


def _why_database(error: Exception) -> str:
    cause = error.__cause__ or error
    if isinstance(error, _ReadOnly):
        return "The database can be read but not written."
    if getattr(cause, "sqlstate", "") == TOO_MANY_CONNECTIONS:
        return "The database has no connection left."
    if "pool" in type(cause).__module__ and _answers():
        return "This process found no free connection to the database."
    if busy.is_busy(error):
        return "The database is busy."
    return "The database does not respond."


def _why_broker(error: Exception) -> str:
    if isinstance(error, redis.AuthenticationError):
        return "The broker refuses the password."
    if isinstance(error, redis.TimeoutError):
        return f"The broker did not answer within {PATIENCE_S:g} s."
    return "The broker cannot be reached."


def _why_worker(state: str, *, has_broker: bool) -> str:
    if not has_broker:
        return "The worker cannot be asked while the broker is down."
    if state == "slow":
        return f"The worker answers, but later than after {PATIENCE_S:g} s."
    return f"The worker has not answered for {REMEMBERED_S:g} s."


def _why_disk(error: Exception) -> str:
    if isinstance(error, _Full):
        return f"Less than {LEAST_FREE_BYTES // 2**20} MiB are free for the data folder."
    return "The data folder cannot be written."


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """`{ok, version, processes: {web, database, broker, worker, model: ok|slow|down|off}, disk:
    ok|full, images: ok|down, put_aside, reasons}`; 503 unless ok. `disk` is that of the data
    folder, and also "full" if it cannot be written; `images` is their storage, which is asked at
    most twice a minute. A worker that has not answered within a second, but shortly before, is
    "slow", which is ok. `put_aside` is the number of units of work, such as documents, that failed
    again and again and wait for the owner of their grove (null if the database is down). `reasons`
    has a sentence for each part that is not ok.

    If the broker is down, the worker cannot be asked; the model and the storage of images never
    affect `ok`, since people can write without them.
    """
    processes, reasons = {"web": "ok"}, {}
    for name, check, why in (
        ("database", _database, _why_database),
        ("broker", _broker, _why_broker),
    ):
        error = _fault(check)
        processes[name] = "down" if error else "ok"
        if error is not None:
            reasons[name] = why(error)
    processes["worker"] = worker.state() if processes["broker"] == "ok" else "down"
    if processes["worker"] != "ok":
        reasons["worker"] = _why_worker(processes["worker"], has_broker=processes["broker"] == "ok")
    disk = _fault(_disk)
    if disk is not None:
        reasons["disk"] = _why_disk(disk)
    ok = "down" not in processes.values() and disk is None
    processes["model"] = "off"
    if settings.LOCAL_MODEL_URL:
        processes["model"] = "down" if _fault(_model) else "ok"
        if processes["model"] == "down":
            reasons["model"] = "The local model cannot be reached."
    fault = image_files().fault()
    if fault:
        reasons["images"] = fault
    aside = put_aside.count() if processes["database"] == "ok" else None
    body = {
        "ok": ok,
        "version": settings.VERSION,
        "processes": processes,
        "disk": "full" if disk else "ok",
        "images": "down" if fault else "ok",
        "put_aside": aside,
        "reasons": reasons,
    }
    return JsonResponse(body, status=200 if ok else 503)
