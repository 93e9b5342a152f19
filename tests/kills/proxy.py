"""A proxy before several web processes, as an installation has one."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

PIECE_BYTES = 65_536
AWAY = 1_000_000  # a process that refuses is asked last


class Proxy:
    """Passes each connection on to the process that has the fewest of them; where that one does not
    listen, to the next."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._ports = [urlsplit(url).port for url in urls]
        self.open = [0] * len(urls)  # connections now, by process
        self.passed = [0] * len(urls)  # connections so far, by process
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def start(self) -> None:
        """Listens, at `url`."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def stop(self) -> None:
        """Ends every connection."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        refused: set[int] = set()
        while len(refused) < len(self._ports):
            at = min(
                range(len(self._ports)),
                key=lambda index: (
                    self.open[index] + AWAY * (index in refused),
                    self.passed[index],
                ),
            )
            with self._counted(at):
                try:
                    there, on = await asyncio.open_connection("127.0.0.1", self._ports[at])
                except OSError:
                    refused.add(at)
                    continue
                await asyncio.wait(
                    [asyncio.ensure_future(_pass_on(here, on)),
                     asyncio.ensure_future(_pass_on(there, back))],
                )  # fmt: skip
                return
        back.close()

    @contextmanager
    def _counted(self, at: int) -> Iterator[None]:
        self.open[at] += 1
        self.passed[at] += 1
        try:
            yield
        finally:
            self.open[at] -= 1


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """All that comes from one side, until it ends; then the other is closed, too."""
    with suppress(OSError):
        while piece := await source.read(PIECE_BYTES):
            target.write(piece)
            await target.drain()
    target.close()
