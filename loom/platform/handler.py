"""Django's handler for HTTP: a request runs on one thread, which is free again while its answer is
sent, ends with its time, and may have a body without a length.

Replaces `_middleware_chain` of Django 5.2 (see `load_middleware`). It can go when Django's own
handler runs the middleware and the view of a request on one thread, and frees it before it sends.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import IO, Any

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponseBase

from loom.platform import deadlines, request_log, request_metrics, request_threads
from loom.platform.deadlines import Deadline
from loom.platform.fetched import FetchedResponse
from loom.platform.long_forms import FormRequest
from loom.platform.request_threads import RequestThread, Threads

LOOKED_S = 1.0  # between two looks at the time of a request, which its client may shorten
REQUEST_S = 60.0  # for a view; what is sent in pieces, and what waits for a model, takes longer
SENT_S = 0.1  # after which a response that is still being sent gives its thread back
SAFE = ("GET", "HEAD", "OPTIONS")


class Timed:
    """The innermost middleware: a view runs within the deadline of its request. What the others do
    afterwards, such as storing the session, is not stopped."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The response of the view, or of its error."""
        with deadlines.kept():
            try:
                return self._get_response(request)
            finally:
                request_log.note(request)


async def _end_statements(deadline: Deadline) -> None:
    """Ends the statement that PostgreSQL runs for a request whose time is over, as often as it
    takes; until it is cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(max(deadline.seconds_left, 0.05), LOOKED_S))
        if deadline.is_over:
            await loop.run_in_executor(None, deadline.cancel_statement)


class Handler(ASGIHandler):
    """Runs requests on threads that are kept, and sets the length of a body that came without one
    (`Transfer-Encoding: chunked`): forms and parsers read nothing from a body without a length."""

    request_class = FormRequest

    def __init__(self) -> None:
        super().__init__()
        self.threads = Threads(settings.REQUEST_THREADS)

    def load_middleware(self, is_async: bool = False) -> None:
        """Makes one synchronous chain of middleware and views, which runs in one thread. Django's
        own would change threads twice in each middleware, and twice more for the view: each time
        the request waits for the loop, whatever that is doing."""
        super().load_middleware(is_async=False)
        handler: Any = self
        handler._middleware_chain = sync_to_async(handler._middleware_chain, thread_sensitive=True)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles a request on one of the threads, which stops when the time of the request is
        over or its client has left (loom.platform.deadlines)."""
        request_metrics.begin(scope["method"])
        thread = RequestThread(self.threads)
        deadline = Deadline(REQUEST_S, is_safe=scope["method"] in SAFE)
        marks = deadlines.current.set(deadline), request_threads.current.set(thread)
        is_asked = connection.vendor != "postgresql"  # SQLite asks while a statement runs
        watching = None if is_asked else asyncio.create_task(_end_statements(deadline))
        try:
            async with ThreadSensitiveContext(executor=thread):
                await super().__call__(scope, receive, send)
        finally:
            if watching is not None:
                watching.cancel()
            deadlines.current.reset(marks[0])
            request_threads.current.reset(marks[1])
            thread.release()

    async def send_response(self, response: Any, send: Any) -> None:
        """Sends the response. A client that takes it slowly holds no thread meanwhile; what is made
        while it is sent takes one for each piece."""
        running, thread = request_metrics.current.get(), request_threads.current.get()
        if thread is not None and isinstance(response, FetchedResponse):
            thread.release()
            await response.complete()
        if running is not None:
            running.answered(response.status_code)
        if thread is None:
            await super().send_response(response, send)
            return
        if response.streaming:
            thread.release()
        # Most are sent at once, and what ends them runs on their thread.
        slow = asyncio.get_running_loop().call_later(SENT_S, thread.release)
        try:
            await super().send_response(response, send)
        finally:
            slow.cancel()

    async def listen_for_disconnect(self, receive: Any) -> None:
        """Waits until the client leaves, and lets the request's thread know."""
        try:
            await super().listen_for_disconnect(receive)
        except RequestAborted:
            deadline = deadlines.current.get()
            if deadline is not None:
                deadline.client_left()
                if connection.vendor == "postgresql":
                    # (A task of its own: the server is waited for.)
                    asyncio.get_running_loop().run_in_executor(None, deadline.cancel_statement)
            raise

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


def handler() -> Handler:
    """The handler, after setting up Django."""
    django.setup(set_prefix=False)
    return Handler()
