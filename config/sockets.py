"""WebSockets in the web process: uvicorn's protocol, with a limit for frames by route, and with
frames that go to many sockets encoded once, and written together.

The protocol is started by `uvicorn --ws config.sockets:SizedProtocol`; `--ws-max-size` is the limit
of all routes but that of documents.
"""

from functools import lru_cache
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State

DOCUMENTS = "/ws/documents/"
# A document has at most 4 MiB, and Yjs sends what is pasted as one update: it cannot be cut into
# pieces afterwards. The rest is for what an update says besides its letters.
DOCUMENT_BYTES = 5 * 1024 * 1024 + 1024
EARLY_BYTES = 512 * 1024  # in all, from a client whose login is not checked yet
ADMITTED = "heddle.admitted"  # the extension that an application calls once it has checked it
TOO_BIG = 1009
SHARED = 64 * 1024  # characters, up to which an encoded frame is kept for the next socket
KEPT = 32  # encoded frames
TOGETHER_BYTES = 64 * 1024  # that wait for frames to be written with


@lru_cache(maxsize=KEPT)
def encoded(text: str) -> bytes:
    """A text as the bytes of a frame. They are the same for every socket: a server masks nothing,
    and nothing is compressed."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)


class SizedProtocol(WebSocketsSansIOProtocol):
    """Lets the sockets of documents send large frames, once the application has admitted them."""

    _early: int | None = None  # bytes so far; None: it is not counted (any more)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unwritten: list[bytes] = []
        self._unwritten_bytes = 0

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

    async def send(self, message: Any) -> None:
        """Sends what the application says; a short text by its encoded frame. Frames that the
        application sends without a pause are written together: the system's part of a write costs
        more than all the rest of a frame."""
        text = message.get("text")
        if not text or len(text) > SHARED or message["type"] != "websocket.send":
            self._write()
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected:
            raise ClientDisconnected
        is_open = self.handshake_complete and not self.close_sent
        if is_open and self.conn.state is State.OPEN and not self.conn.extensions:
            self._write_soon(encoded(text))
        else:
            self._write()
            await super().send(message)

    def _write_soon(self, frame: bytes) -> None:
        if not self._unwritten:
            self.loop.call_soon(self._write)
        self._unwritten.append(frame)
        self._unwritten_bytes += len(frame)
        if self._unwritten_bytes > TOGETHER_BYTES:
            self._write()

    def _write(self) -> None:
        frames, self._unwritten, self._unwritten_bytes = self._unwritten, [], 0
        if frames and not self.transport.is_closing():
            self.transport.write(frames[0] if len(frames) == 1 else b"".join(frames))

    def shutdown(self) -> None:
        """Writes what is unwritten before the close frame."""
        self._write()
        super().shutdown()

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
