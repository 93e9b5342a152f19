"""What a worker does before the request of a generation is sent: it takes the generations of a
lane, makes the order of their line, and stores their calls. Milliseconds of the processor on
SQLite, medians. No provider is asked. Run: python -m bench.beginning [rounds] [candidates]
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.installation import open_installation

LONG_AGO = "2020-01-01T00:00:00Z"
LINE = 10  # candidates of one line, at most


def main(rounds: int, many: int) -> None:
    """Prints the medians for one candidate and for many."""
    from agents import runs
    from agents.generation_requests import order_of
    from agents.providers.attempt import ProviderAttempt
    from bench.trees import grow, make_owner
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.people.models import Participant
    from loom.turns import lanes
    from loom.turns.models import Generation

    actor = make_owner("bench")
    tree, end = grow(actor, count=20, chain=5)
    agent = Participant.objects.create(
        grove=tree.grove,
        name="Nobody",
        kind="model",
        model_ref="openai:nobody",
        base_url="http://127.0.0.1:9/v1",
        parallel=2 * many,
    )
    take = partial(lanes.begin, lanes.lane_of(agent), lease="bench", seconds=60)

    def timed(name: str, work: Callable[..., Any], *given: Any) -> Any:
        began = time.process_time()
        result = work(*given)
        spent.setdefault(name, []).append((time.process_time() - began) * 1000)
        return result

    for count in (1, many):
        spent: dict[str, list[float]] = {}
        for number in range(rounds + 1):
            for first in range(0, count, LINE):
                asked = min(LINE, count - first)
                line = f'continue from {end.local_id} n:{asked} using agent:"Nobody"'
                execute_line(actor, tree, Request(line))
            taken = timed("taken", take)
            assert len(taken) == count
            order = timed("order", order_of, taken[0])
            attempt = ProviderAttempt(order.provider.adapter(), order.ask, {"model": "nobody"})
            begun = [runs.Beginning(order, attempt, [generation]) for generation in taken]
            timed("calls", runs.create_calls, begun)
            if not number:
                spent.clear()
            Generation.objects.filter(ended_at=None).update(status="done", ended_at=LONG_AGO)
        shown = ", ".join(
            f"{name} {statistics.median(took):.2f} ms" for name, took in spent.items()
        )
        print(f"{count} at once: {shown}")


if __name__ == "__main__":
    open_installation()
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [40, 80][len(numbers) :]))
