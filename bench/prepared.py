"""What SQL that is built once saves: `PreparedQuery` on the way of a page and of a first token
against the same querysets built for each run, and on PostgreSQL (with DATABASE_URL) also against
the same SQL planned for each run, and `insert_row` and `update_row`, by which each
line writes its events, against `save`.

Run: python -m bench.prepared
"""

from collections.abc import Callable
from itertools import count
from typing import Any

from django.db import connection, transaction

from bench.installation import Case, medians_ms, open_installation, report, settle


def plain(prepared: Any, values: dict[str, Any]) -> Case:
    """Builds the queryset, compiles it and reads its rows, as Django does for each request."""
    return lambda: type(prepared)(prepared._make).all(**values)


def planned(prepared: Any, values: dict[str, Any]) -> Case:
    """Sends the SQL that is there with its values in it, so that it is planned for each run."""
    prepared.all(**values)
    sql, params, _ = prepared._ready[connection.vendor]

    def case() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, [values[param.name] for param in params])
            cursor.fetchall()

    return case


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
    from loom.turns import lanes, turn_lifecycle

    actor = make_owner("bench")
    tree, end = grow(actor, count=1_000, chain=50)
    settle()
    user, uid = actor.user.pk, tree.uid
    queries: dict[str, tuple[Any, dict[str, Any]]] = {
        "tree and membership": (access._TREE, {"user": user, "uid": uid}),
        "visit of a page": (access._IN_USE, {"user": user, "uid": uid, "named": end.local_id}),
        "node by name": (lookup._NAMED, {"tree": tree.pk, "local_id": end.local_id}),
        "what a lane has open": (lanes._OPEN, {"lane": "nobody's"}),
        "a turn and what it names": (turn_lifecycle._AGAIN, {"pk": 0}),  # there is none
    }
    cases: dict[str, Case] = {}
    aims = {f"{name}: once / each time": _ratio(name, "built each time", 0.5) for name in queries}
    for name, (prepared, values) in queries.items():
        cases[f"{name}, built once"] = lambda query=prepared, given=values: query.all(**given)  # type: ignore[misc]
        cases[f"{name}, built each time"] = plain(prepared, values)
        if connection.vendor == "postgresql":
            cases[f"{name}, planned each time"] = planned(prepared, values)
            # What joins little is planned about as quickly as values are sent apart.
            aims[f"{name}: once / planned"] = _ratio(name, "planned each time", 1.3)
    stream, numbers = Stream.objects.get(name=f"tree:{tree.uid}"), count(1_000_000)

    def event() -> Event:
        body = {"node": "a7x2", "flag": "pruned", "value": True}
        seq = next(numbers)
        return Event(stream=stream, seq=seq, kind="node.flagged", payload=body, at=timezone.now())

    cases["an event, built once"] = many(lambda: insert_row(event()))
    cases["an event, built each time"] = many(lambda: event().save(force_insert=True))
    cases["a head, built once"] = many(lambda: update_row(stream, "head", "items"))
    cases["a head, built each time"] = many(lambda: stream.save(update_fields=["head", "items"]))
    aims["a head: once / each time"] = _ratio("a head", "built each time", 0.5)
    # Most of what an event costs is its payload as JSON and the row itself.
    aims["an event: once / each time"] = _ratio("an event", "built each time", 0.75)
    report("queries whose SQL is built once", medians_ms(cases, rounds=100), aims)


def _ratio(name: str, other: str, aim: float) -> tuple[str, str, float]:
    return f"{name}, built once", f"{name}, {other}", aim


if __name__ == "__main__":
    open_installation()
    main()
