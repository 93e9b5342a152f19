"""Requests and answers of the scripted provider, byte for byte."""

import asyncio

from tests.providers.scripts import Script, Seen

REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 429: "Too Many Requests"}


class Out:
    """A body that is written as it comes, in chunks or ended by closing."""

    def __init__(self, writer: asyncio.StreamWriter, *, chunked: bool) -> None:
        self._writer = writer
        self._chunked = chunked

    async def head(self, script: Script) -> None:
        names = {name for name, _ in script.headers}
        headers = list(script.headers)
        if "content-type" not in names:
            headers.append(("content-type", "text/event-stream; charset=utf-8"))
        if self._chunked:
            headers.append(("transfer-encoding", "chunked"))
        self._writer.write(head_of(script.status, headers))
        await self._writer.drain()

    async def send(self, data: bytes) -> None:
        if not data:
            return
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)
        await self._writer.drain()
        if self._writer.transport.is_closing():
            raise ConnectionResetError

    async def end(self) -> None:
        if self._chunked:
            self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()


def head_of(status: int, headers: list[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Scripted')}"]
    lines += [f"{name}: {value}" for name, value in (*headers, ("connection", "close"))]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def write_whole(
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes,
    headers: tuple[tuple[str, str], ...] = (),
) -> None:
    names = {name for name, _ in headers}
    kind = () if "content-type" in names else (("content-type", "application/json"),)
    length = (("content-length", str(len(body))),)
    writer.write(head_of(status, [*headers, *kind, *length]) + body)
    await writer.drain()


async def request_of(reader: asyncio.StreamReader) -> Seen:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = tuple((name, value.strip()) for name, _, value in (at.partition(":") for at in lines))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Seen(method, path, headers, await reader.readexactly(length), head)
