"""A request through one synchronous chain of middleware, against Django's own handler, which turns
each middleware into a coroutine and changes threads at each.

Both in one process without a network, one request and ten at once, in turn, medians.
Run: python -m bench.middleware [rounds]
"""

import asyncio
import statistics
import sys
import time
from typing import Any

from bench.fanout import KEY, make_trees
from bench.installation import open_installation

AT_ONCE = 10


async def request(application: Any, path: str) -> None:
    """Sends one request; its answer must be 200."""
    headers = [(b"host", b"testserver"), (b"authorization", f"Bearer {KEY}".encode())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    incoming: asyncio.Queue[Any] = asyncio.Queue()
    incoming.put_nowait({"type": "http.request", "body": b""})

    async def send(message: Any) -> None:
        assert message.get("status", 200) == 200, message

    await application(scope, incoming.get, send)


async def measure(handlers: dict[str, Any], paths: list[str], rounds: int) -> None:
    """Prints the medians of each address with each handler."""
    for path in paths:
        taken: dict[tuple[str, int], list[float]] = {}
        for number in range(rounds + 5):
            for name, application in handlers.items():
                for count in (1, AT_ONCE):
                    began = time.perf_counter()
                    await asyncio.gather(*(request(application, path) for _ in range(count)))
                    if number >= 5:
                        took = (time.perf_counter() - began) * 1000
                        taken.setdefault((name, count), []).append(took)
        for (name, count), many in taken.items():
            print(
                f"  {path[:28]:<28} {name:<14} {count:3} at once {statistics.median(many):8.2f} ms"
            )


def main() -> None:
    """Measures with a fresh installation."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    from django.conf import settings
    from django.core.handlers.asgi import ASGIHandler

    from loom.platform.handler import Handler

    settings.REQUESTS_A_MINUTE = 10**6
    tree, _ = make_trees()
    handlers = {"ours": Handler(), "Django's own": ASGIHandler()}
    asyncio.run(measure(handlers, ["/api/me", f"/api/trees/{tree}", "/signin"], rounds))


if __name__ == "__main__":
    open_installation()
    main()
