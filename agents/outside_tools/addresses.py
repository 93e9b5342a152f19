"""The address of an outside MCP server, and why a server gave no result.

Apart from the connection, which loads the SDK: that takes over half a second in each process."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is, its key ("": none), and the private addresses that may be called."""

    url: str
    key: str = ""
    allow: tuple[str, ...] = ()


class ToolFailure(Exception):
    """Why a server gave no result. `is_sent`: the call itself may have arrived, so that what it
    did is not known. `said` is what the server says of it, or ""."""

    def __init__(self, kind: str, said: str = "", *, is_sent: bool = False) -> None:
        super().__init__(f"{kind}: {said}")
        self.kind, self.said, self.is_sent = kind, said, is_sent
