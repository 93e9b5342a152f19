"""How long a test waits for what must happen, and how time passes without waiting.

A limit here only guards against hanging: nothing in the tests is fast or slow, and a machine may be
twenty times slower than the one on which they were written.
"""

import asyncio

PATIENCE_S = 120.0
LOOK_S = 0.1  # between two looks at a condition


def pass_time(seconds: float, loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Puts the clock of a loop (the running one) forward: what was due meanwhile is due now."""
    own_loop = loop or asyncio.get_running_loop()
    before = own_loop.time
    own_loop.time = lambda: before() + seconds  # type: ignore[method-assign]
