"""A scripted provider over real HTTP: it answers as scripted, and records every byte.

It is OpenAI-shaped, and at /messages Anthropic-shaped; there it also caches marked prefixes.

A fixture's object in tests; `python -m tests.providers.scripted --port N` for benches, where `POST
/_script` queues scripts as JSON and `GET /_seen` returns the requests.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import threading
from collections import deque
from dataclasses import asdict
from types import TracebackType
from typing import Any

from tests.patience import PATIENCE_S
from tests.providers.messages import Messages, Prefixes
from tests.providers.scripts import CUT, HOLD, STALL, Script, Seen, Shape, tokens
from tests.providers.wire import Out, request_of, write_whole

SIGN_S = 20.0  # seconds between two signs of life of an answer that waits


class ScriptedProvider:
    """Answers on a loopback port, in a thread of its own. Scripts are used up in order; after
    the last one `default` answers."""

    def __init__(self, *, port: int = 0, default: Script | None = None) -> None:
        self.default = default or tokens(3)
        self.seen: list[Seen] = []
        self.broken_off = 0  # answers whose reader disconnected
        self.connections = 0
        self._queue: deque[Script] = deque()
        self._prefixes = Prefixes(set())
        self._port = port
        self._arrived = threading.Condition()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    # -- for tests

    @property
    def url(self) -> str:
        """The base_url of a participant."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def entry(self) -> str:
        """What HEDDLE_PROVIDER_ALLOW must hold."""
        return f"127.0.0.1:{self._port}"

    def script(self, *scripts: Script) -> None:
        """Queues the answers of the next requests."""
        self._queue.extend(scripts)

    def release(self) -> None:
        """Lets one answer that waits at HOLD continue."""
        self._loop.call_soon_threadsafe(self._release.release)

    def forget(self) -> None:
        """Drops unused scripts and releases."""
        self._queue.clear()
        self._loop.call_soon_threadsafe(lambda: setattr(self, "_release", asyncio.Semaphore(0)))

    def wait_for(self, count: int, timeout: float = PATIENCE_S) -> list[Seen]:
        """The requests, once `count` of them have arrived."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.seen) >= count, timeout):
                raise AssertionError(f"{len(self.seen)} of {count} requests arrived")
            return list(self.seen)

    def wait_for_break(self, timeout: float = PATIENCE_S) -> None:
        """Waits until a reader has disconnected in the middle of an answer."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: self.broken_off > 0, timeout):
                raise AssertionError("nobody went away")

    def __enter__(self) -> "ScriptedProvider":
        self._thread.start()
        if not self._ready.wait(PATIENCE_S):
            raise AssertionError("the scripted provider did not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)

    # -- the server

    def _run(self) -> None:
        asyncio.run(self.serve())

    async def serve(self) -> None:
        """Serves until stopped."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._release = asyncio.Semaphore(0)
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            seen = await request_of(reader)
            if seen.path.startswith("/_"):
                await self._control(seen, writer)
            else:
                await self._answer(seen, reader, writer)
        writer.close()

    async def _control(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path == "/_script":
            self.script(*(_script_of(script) for script in seen.json))
        shown = [
            {**asdict(request), "body": request.body.decode("utf-8", "replace"),
             "head": base64.b64encode(request.head).decode()} for request in self.seen
        ]  # fmt: skip
        await write_whole(writer, 200, json.dumps(shown).encode())

    async def _answer(
        self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        script = self._queue.popleft() if self._queue else self.default
        with self._arrived:
            self.seen.append(seen)
            self._arrived.notify_all()
        await asyncio.sleep(script.before_s)
        asked = _asked(seen)
        if script.body is not None:
            await write_whole(writer, script.status, script.body, script.headers)
            return
        shape = self._shape(seen, asked)
        if not asked.get("stream"):
            await write_whole(writer, script.status, shape.whole(script))
            return
        try:
            await self._stream(script, shape, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            with self._arrived:
                self.broken_off += 1
                self._arrived.notify_all()
            raise

    def _shape(self, seen: Seen, asked: dict[str, Any]) -> Shape | Messages:
        model = str(asked.get("model", ""))
        if seen.path.endswith("/messages"):
            return Messages(model, *self._prefixes.counts(asked))
        is_chat = seen.path.endswith("/chat/completions")
        return Shape(is_chat, model, tuple(range(int(asked.get("n", 1)))))

    async def _stream(
        self,
        script: Script,
        shape: Shape | Messages,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        out = Out(writer, chunked=script.chunked)
        await out.head(script)
        await out.send(shape.begin())
        start = self._loop.time()
        pieces, number = deque(script.pieces), 0
        while pieces:
            piece = pieces[0] if script.forever and len(pieces) == 1 else pieces.popleft()
            if piece == HOLD:
                await self._held(out, reader)
                continue
            if piece == STALL:
                await reader.read()  # ends when the other side hangs up
                raise ConnectionResetError
            if piece == CUT:
                writer.transport.abort()
                return
            if script.rate:
                # By the clock, not by pauses, so that the rate is that asked for.
                await asyncio.sleep(max(0.0, start + number / script.rate - self._loop.time()))
            if isinstance(shape, Messages) and piece:
                self._prefixes.kept.update(shape.marks)
            await out.send(piece if isinstance(piece, bytes) else shape.piece(piece))
            number += 1
        await out.send(shape.end(script))
        await out.end()

    async def _held(self, out: Out, reader: asyncio.StreamReader) -> None:
        """Waits for a release, which nobody takes who has hung up meanwhile. A comment now and then
        says that more will come."""
        released = asyncio.ensure_future(self._release.acquire())
        gone = asyncio.ensure_future(reader.read())
        while not (released.done() or gone.done()):
            await asyncio.wait(
                (released, gone), timeout=SIGN_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not (released.done() or gone.done()):
                await out.send(b": still here\n\n")
        gone.cancel()
        if not released.done():
            released.cancel()
            raise ConnectionResetError


def _asked(seen: Seen) -> dict[str, Any]:
    try:
        asked = json.loads(seen.body or b"{}")
    except ValueError:
        return {}
    return asked if isinstance(asked, dict) else {}


def _script_of(value: dict[str, Any]) -> Script:
    """A script from JSON; `tokens` and `rate` for the usual one, else its fields."""
    if "tokens" in value:
        return tokens(int(value["tokens"]), float(value.get("rate", 0)))
    body = value.get("body")
    return Script(
        **{
            **value,
            "pieces": tuple(value.get("pieces", ())),
            "headers": tuple((name, text) for name, text in value.get("headers", ())),
            "body": None if body is None else body.encode(),
        }
    )


def main() -> None:
    """Serves on `--port` until interrupted, by default 200 tokens at 80 a second."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=9999)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rate", type=float, default=80)
    asked = parser.parse_args()
    provider = ScriptedProvider(port=asked.port, default=tokens(asked.tokens, asked.rate))
    print(f"ready {provider.url}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(provider.serve())


if __name__ == "__main__":
    main()
