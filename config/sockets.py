"""WebSockets in the web process: uvicorn's protocol, with a limit for frames by route.

The protocol is started by `uvicorn --ws config.sockets:SizedProtocol`; `--ws-max-size` is the limit
of all routes but that of documents.
"""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

DOCUMENTS = "/ws/documents/"
# A document has at most 4 MiB, and Yjs sends what is pasted as one update: it cannot be cut into
# pieces afterwards. The rest is for what an update says besides its letters.
DOCUMENT_BYTES = 5 * 1024 * 1024 + 1024
EARLY_BYTES = 512 * 1024  # in all, from a client whose login is not checked yet
ADMITTED = "heddle.admitted"  # the extension that an application calls once it has checked it
TOO_BIG = 1009


class SizedProtocol(WebSocketsSansIOProtocol):
    """Lets the sockets of documents send large frames, once the application has admitted them."""

    _early: int | None = None  # bytes so far; None: it is not counted (any more)

    def handle_connect(self, event: Any) -> None:
        """Chooses the limit by the path of the request."""
        if event.path.startswith(DOCUMENTS):
            self.conn.max_message_size = DOCUMENT_BYTES
            self._early = 0
        super().handle_connect(event)
        if self._early is not None and hasattr(self, "scope"):
            extensions: Any = self.scope["extensions"]
            extensions[ADMITTED] = self._admit

    def _admit(self) -> None:
        self._early = None

    def data_received(self, data: bytes) -> None:
        """Takes bytes of the client, unless there are too many before it was admitted."""
        if self._early is not None:
            self._early += len(data)
            if self._early > EARLY_BYTES:
                self._early = None
                self.conn.fail(TOO_BIG, "too much before the login was checked")
                self.handle_parser_exception()
                return
        super().data_received(data)
