"""HTTP handling around Django: bodies limited, a request on one thread, static files up to date."""

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.db import connections
from django.http import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from whitenoise.base import MissingFileError
from whitenoise.middleware import WhiteNoiseMiddleware

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MIB = 1024 * 1024
# The interfaces limit what they read, with better messages; this is for bodies that never end.
FILE_BYTES, BODY_BYTES = 513 * MIB, 32 * MIB
FILES = ("/api/import",)

_SAID = json.dumps(
    {
        "ok": False,
        "code": "LIMIT_EXCEEDED",
        "message": "The body is too large.",
        "hint": "send less at once",
        "retryable": True,
    }
).encode()


class _TooBig(Exception):
    """The body is larger than allowed."""


async def bounded(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Runs an HTTP application; a body over its limit is answered with 413 and not read further."""
    most = FILE_BYTES if scope["path"] in FILES else BODY_BYTES
    seen, has_answered = 0, False

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise _TooBig
        return message

    async def noted(message: Message) -> None:
        nonlocal has_answered
        has_answered = True
        await send(message)

    try:
        if _announced(scope) > most:
            raise _TooBig
        await application(scope, counted, noted)
    except _TooBig:
        if not has_answered:
            await _refuse(send)


def _announced(scope: Scope) -> int:
    """The value of Content-Length; 0 if it is missing or cannot be read."""
    found = dict(scope["headers"]).get(b"content-length", b"")
    return int(found) if found.isdigit() and len(found) < 20 else 0


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _SAID})


# Pages are compressed.


class Pages(GZipMiddleware):
    """Django's own middleware, which hides the length of what it compresses, for pages only: a long
    path becomes a tenth of its size. The API compresses its responses itself where that pays."""

    def process_response(self, request: Any, response: Any) -> Any:
        """The page, compressed if the browser accepts that. Not what is sent in pieces: Django
        compresses each by itself, and browsers stop after the first."""
        is_page = (
            response.get("Content-Type", "").startswith("text/html") and not response.streaming
        )
        return super().process_response(request, response) if is_page else response


# Static files as they are now: a build while the server runs is served at once.


class Fresh(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise remembers each file's length from the start, and would truncate a longer one after
    a build. Here a changed file is read again: one stat per request."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._seen: dict[str, tuple[str, int, int]] = {}
        super().__init__(*args, **kwargs)

    def add_files_from_finders(self) -> None:
        """Does nothing: each file is found when it is requested first."""

    def __call__(self, request: Any) -> Any:
        """Serves the file as it is, or passes the request on."""
        url = request.path_info
        if url.startswith(self.static_prefix):
            self._look(url)
        return super().__call__(request)

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> Any:
        """The file, recorded with its time and length."""
        found = super().get_static_file(path, url, stat_cache=stat_cache)
        state = Path(path).stat()
        self._seen[url] = (path, state.st_mtime_ns, state.st_size)
        return found

    def _look(self, url: str) -> None:
        path, *known = self._seen.get(url, ("", 0, 0))
        try:
            if not path:
                found = self.find_file(url)
                if found is not None:
                    self.files[url] = found
                return
            state = Path(path).stat()
            if known != [state.st_mtime_ns, state.st_size]:
                self.add_file_to_dictionary(url, path)
        except (OSError, MissingFileError):
            self.files.pop(url, None)
            self._seen.pop(url, None)


# Django's handler for HTTP, which treats a chunked body like any other.


MOST_IDLE = 16


class Threads:
    """Threads for requests, one at a time each, which are used again: Django would start a thread
    for each request, and a new thread opens a new connection to the database."""

    def __init__(self) -> None:
        self._idle: list[ThreadPoolExecutor] = []

    def take(self) -> ThreadPoolExecutor:
        """A thread that has nothing to do."""
        return self._idle.pop() if self._idle else ThreadPoolExecutor(1, "request")

    def give_back(self, thread: ThreadPoolExecutor) -> None:
        """Keeps a thread for another request, once it has nothing to do: a client that left early
        may leave it at work."""
        thread.submit(_nothing).add_done_callback(lambda _: self._keep(thread))

    def _keep(self, thread: ThreadPoolExecutor) -> None:
        if len(self._idle) < MOST_IDLE:
            self._idle.append(thread)
        else:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)


def _nothing() -> None:
    """What shows that a thread has done all that it was given before."""


class BodyHandler(ASGIHandler):
    """Runs requests on threads that are kept, and sets the length of a body that came without one
    (`Transfer-Encoding: chunked`): forms and parsers read nothing from a body without a length."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = Threads()

    def load_middleware(self, is_async: bool = False) -> None:
        """Makes one synchronous chain of middleware and views, which runs in one thread. Django's
        own would change threads twice in each middleware, and twice more for the view: each time
        the request waits for the loop, whatever that is doing."""
        super().load_middleware(is_async=False)
        handler: Any = self
        handler._middleware_chain = sync_to_async(handler._middleware_chain, thread_sensitive=True)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles a request on one of the threads."""
        thread = self._threads.take()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await super().__call__(scope, receive, send)
        finally:
            self._threads.give_back(thread)

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """The request. All of the body is in the file by now."""
        if not any(name == b"content-length" for name, _ in scope["headers"]):
            length = body_file.seek(0, os.SEEK_END)
            body_file.seek(0)
            if length:
                measured = (b"content-length", str(length).encode())
                scope = {**scope, "headers": [*scope["headers"], measured]}
        return super().create_request(scope, body_file)


def handler() -> BodyHandler:
    """The handler, after setting up Django."""
    django.setup(set_prefix=False)
    return BodyHandler()
