"""The runs of this process: begun from tasks, ended together when the worker is told to stop."""

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
    """Runs a generation, and those that share its call, until they have landed. Harmless
    where somebody else holds it or it has ended."""
    if _ending:
        return  # the row stays queued; the sweeper of the next worker sends it again
    held = take(uid)
    if held is not None:
        the_loop().run(live(held))


async def live(held: Held) -> None:
    """Runs one call on the loop."""
    run = Run(held, _transport(settings.PROVIDER_ALLOW), LIMITS, backoff_s=BACKOFF_S)
    _runs.add(run)
    if _ending:
        run.interrupt(_ending[0])
    try:
        await run()
    finally:
        _runs.discard(run)


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
