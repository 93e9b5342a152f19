"""What SQL that is built once saves: `PreparedQuery` on the way of a page and of a first token
against the same querysets built for each run, and `insert_row` and `update_row`, by which each
line writes its events, against `save`.

Run: python -m bench.prepared
"""

from collections.abc import Callable
from itertools import count
from typing import Any

from django.db import transaction

from bench.installation import Case, medians_ms, open_installation, report, settle


def plain(prepared: Any, values: dict[str, Any]) -> Case:
    """Builds the queryset, compiles it and reads its rows, as Django does for each request."""
    return lambda: type(prepared)(prepared._make).all(**values)


TIMES = 20  # in one transaction, whose end takes longer than a row


def many(write: Callable[[], object]) -> Case:
    """Writes some rows in a transaction."""

    def case() -> None:
        with transaction.atomic():
            for _ in range(TIMES):
                write()

    return case


def main() -> None:
    """Prints the medians of each way and their ratio."""
    from django.utils import timezone

    from bench.trees import grow, make_owner
    from loom import access
    from loom.engine.models import Event, Stream
    from loom.platform.inserts import insert_row, update_row
    from loom.trees.queries import lookup
    from loom.turns import lanes

    actor = make_owner("bench")
    tree, end = grow(actor, count=1_000, chain=50)
    settle()
    user, uid = actor.user.pk, tree.uid
    queries: dict[str, tuple[Any, dict[str, Any]]] = {
        "tree and membership": (access._TREE, {"user": user, "uid": uid}),
        "visit of a page": (access._IN_USE, {"user": user, "uid": uid, "named": end.local_id}),
        "node by name": (lookup._NAMED, {"tree": tree.pk, "local_id": end.local_id}),
        "what a lane has open": (lanes._OPEN, {"lane": "nobody's"}),
    }
    cases: dict[str, Case] = {}
    for name, (prepared, values) in queries.items():
        cases[f"{name}, built once"] = lambda query=prepared, given=values: query.all(**given)  # type: ignore[misc]
        cases[f"{name}, built each time"] = plain(prepared, values)
    stream, numbers = Stream.objects.get(name=f"tree:{tree.uid}"), count(1_000_000)

    def event() -> Event:
        body = {"node": "a7x2", "flag": "pruned", "value": True}
        seq = next(numbers)
        return Event(stream=stream, seq=seq, kind="node.flagged", payload=body, at=timezone.now())

    cases["an event, built once"] = many(lambda: insert_row(event()))
    cases["an event, built each time"] = many(lambda: event().save(force_insert=True))
    cases["a head, built once"] = many(lambda: update_row(stream, "head", "items"))
    cases["a head, built each time"] = many(lambda: stream.save(update_fields=["head", "items"]))
    report(
        "queries whose SQL is built once",
        medians_ms(cases, rounds=100),
        {
            f"{name}: once / each time": (f"{name}, built once", f"{name}, built each time", aim)
            # Most of what an event costs is its payload as JSON and the row itself.
            for name, aim in {**dict.fromkeys([*queries, "a head"], 0.5), "an event": 0.75}.items()
        },
    )


if __name__ == "__main__":
    open_installation()
    main()
