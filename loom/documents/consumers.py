"""`/ws/documents/{id}`: the socket of one member in the room of a document."""

from typing import Any

from loom.documents.access import get_document
from loom.documents.models import Document
from loom.documents.room import RoomMember, rooms
from loom.live.admission import SocketRefused
from loom.live.consumers import LiveConsumer
from loom.live.kinds import SocketKind, serves


class DocumentConsumer(LiveConsumer):
    """`/ws/documents/{id}`: the wire protocol of y-websocket, in binary frames."""

    member: RoomMember | None = None

    async def connect(self) -> None:
        """Accepts everybody, as above; a guest enters the room of the document."""
        await self.accept()
        try:
            guest = await self.guest()
            self._allow_large_frames()
            self.member = await rooms().enter(guest, self)
        except SocketRefused as closing:
            await self.close(code=closing.code, reason=closing.reason)

    def _allow_large_frames(self) -> None:
        """A member may paste a text of several megabytes (`config/sockets.py`)."""
        extensions: Any = self.scope.get("extensions", {})
        admitted = extensions.get("heddle.admitted")
        if admitted is not None:
            admitted()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One message of the client; text is refused."""
        if self.member is not None:
            await self.member.receive(bytes_data or b"")

    async def disconnect(self, code: int) -> None:
        """The client has gone, or was closed."""
        if self.member is not None:
            self.member.leave()

    async def send_bytes(self, frame: bytes) -> None:
        """Sends one binary frame."""
        message: Any = {"type": "websocket.send", "bytes": frame}
        await self.base_send(message)


def _stream(document: Document) -> str:
    return f"doc:{document.uid}"


async def _close() -> None:
    await rooms().close()


serves(
    "documents",
    SocketKind(
        opens=get_document, application=DocumentConsumer.as_asgi(), stream=_stream, close=_close
    ),
)
