"""The worker's side: what waits for webhooks is sent."""

import logging
import threading

from django.db import connections

from agents.webhooks import delivery
from loom.engine.sweeps import sweeps

log = logging.getLogger("heddle.webhooks")
_sweeping = threading.Lock()


@sweeps
def sweep_beside() -> None:
    """Sends what waits in a thread of its own: a receiver that is slow holds up nothing else. One
    at a time."""
    if _sweeping.acquire(blocking=False):
        threading.Thread(target=_sweep_and_release, name="webhooks", daemon=True).start()


def _sweep_and_release() -> None:
    try:
        delivery.sweep()
    except Exception:  # the next sweep tries again
        log.warning("webhooks could not be served", exc_info=True)
    finally:
        _sweeping.release()
        connections.close_all()
