"""The runs of this process: begun from tasks, ended together when the worker is told to stop."""

import asyncio
from collections.abc import Sequence

from django.conf import settings

from agents.loop import the_loop
from agents.providers.exchange import Limits
from agents.providers.transport import CheckedTransport
from agents.run import Run
from agents.taking import Held, take

LIMITS = Limits()
BACKOFF_S = 0.5  # the first pause before another attempt; the next ones double

_runs: set[Run] = set()
_transports: dict[tuple[str, ...], CheckedTransport] = {}
_ending: list[str] = []


def run_generation(uid: str) -> None:
    """Runs a generation, and the other candidates of its line, until they have landed. Harmless
    where somebody else holds it or it has ended."""
    if _ending:
        return  # the row stays queued; the sweeper of the next worker sends it again
    held = take(uid)
    if held:
        the_loop().run(live(held))


async def live(held: Sequence[Held]) -> None:
    """Runs calls on the loop, side by side."""
    transport = _transport(settings.PROVIDER_ALLOW)
    runs = [Run(one, transport, LIMITS, backoff_s=BACKOFF_S) for one in held]
    _runs.update(runs)
    if _ending:
        _interrupt_all(_ending[0])
    try:
        await asyncio.gather(*(run() for run in runs))
    finally:
        _runs.difference_update(runs)


def _transport(allow: Sequence[str]) -> CheckedTransport:
    """The transport for a list of allowed addresses; kept, with its connections."""
    return _transports.setdefault(tuple(allow), CheckedTransport(allow))


def end_all(why: str) -> None:
    """Interrupts every run: what came lands, what has not begun is put back. Returns at once;
    the tasks end by themselves."""
    _ending.append(why)
    the_loop().loop.call_soon_threadsafe(_interrupt_all, why)


def _interrupt_all(why: str) -> None:
    for run in tuple(_runs):
        run.interrupt(why)
