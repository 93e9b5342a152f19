"""Responses whose bytes are fetched from elsewhere after the view has ended, without a thread: as
long as that takes, the thread of the request serves others. `loom.platform.handler` sends them."""

import logging
from collections.abc import Awaitable, Callable

from asgiref.sync import sync_to_async
from django.http import HttpResponse, JsonResponse

from loom.errors import CommandError
from loom.platform import request_threads

log = logging.getLogger("heddle.request")

Fetch = Callable[[], Awaitable[bytes]]


class FetchedResponse(HttpResponse):
    """A response without a body yet. `fetch` is awaited on the loop; `finish` makes the body of
    what it returns, on a thread. Either may raise a CommandError, whose JSON is sent instead."""

    def __init__(
        self,
        fetch: Fetch,
        finish: Callable[[bytes], bytes],
        *,
        content_type: str,
        headers: dict[str, str],
    ) -> None:
        super().__init__(content_type=content_type, headers=headers)
        self._fetch, self._finish = fetch, finish

    async def complete(self) -> None:
        """Fetches the body."""
        try:
            self.content = await sync_to_async(self._finish)(await self._fetch())
        except CommandError as refused:
            self._refuse(refused)
        except Exception:
            log.exception("what a response needs could not be fetched")
            self._refuse(
                CommandError("UNAVAILABLE", "This could not be fetched.", hint="try again")
            )
        self["Content-Length"] = str(len(self.content))

    def _refuse(self, refused: CommandError) -> None:
        self.status_code = refused.status
        self.content = JsonResponse(refused.body).content
        self["Content-Type"], self["Cache-Control"] = "application/json", "no-store"


def can_wait() -> bool:
    """Whether the request that runs here is one of the handler that sends such responses."""
    return request_threads.current.get() is not None
