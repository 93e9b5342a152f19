"""The heartbeat of a worker, for tests that are one."""

from loom.turns import generation_lifecycle
from loom.turns.generation_lifecycle import Grown


def beat(uid: str, lease: str, text: str = "", *, chunk: int = 1, seconds: int = 900) -> str:
    """Stores a generation's text so far under a lease: "go", "stop" or "lost"."""
    (verdict,) = generation_lifecycle.progress([Grown(uid, lease, text, chunk)], seconds=seconds)
    return verdict
