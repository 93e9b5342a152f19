"""The worker's side: what waits for webhooks is sent."""

import logging
import threading
from functools import partial

from django.db import connections

from agents.webhooks import delivery
from loom.engine.sweeps import sweeps

log = logging.getLogger("heddle.webhooks")
_sweeping = {False: threading.Lock(), True: threading.Lock()}  # by whether they are failing


@sweeps
def sweep_beside() -> None:
    """Sends what waits in threads of their own: a receiver that is slow holds up nothing else, nor
    do those that fail hold up the others."""
    for failing, lock in _sweeping.items():
        if lock.acquire(blocking=False):
            sweep = partial(_sweep_and_release, lock, failing=failing)
            threading.Thread(target=sweep, name="webhooks", daemon=True).start()


def _sweep_and_release(lock: threading.Lock, *, failing: bool) -> None:
    try:
        delivery.sweep(failing=failing)
    except Exception:  # the next sweep tries again
        log.warning("webhooks could not be served", exc_info=True)
    finally:
        lock.release()
        connections.close_all()
