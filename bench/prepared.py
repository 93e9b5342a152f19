"""What `Prepared` saves: queries on the way of a page and of a first token, with their SQL built
once, against the same querysets built for each run.

Run: python -m bench.prepared
"""

from typing import Any

from bench.house import Deed, medians_ms, open_house, settle, tell


def plain(prepared: Any, values: dict[str, Any]) -> Deed:
    """Builds the queryset, compiles it and reads its rows, as Django does for each request."""
    return lambda: type(prepared)(prepared._make).all(**values)


def main() -> None:
    """Prints the medians of each way and their ratio."""
    from bench.trees import grow, make_owner
    from loom import access
    from loom.commands import generation_lifecycle
    from loom.queries import lookup

    actor = make_owner("bench")
    tree, end = grow(actor, count=1_000, chain=50)
    settle()
    user, uid = actor.user.pk, tree.uid
    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "tree and membership": (access._TREE, {"user": user, "uid": uid}),
        "visit of a page": (access._IN_USE, {"user": user, "uid": uid, "named": end.local_id}),
        "node by name": (lookup._NAMED, {"tree": tree.pk, "local_id": end.local_id}),
        "what a lane has open": (generation_lifecycle._OPEN, {"lane": "nobody's"}),
    }
    deeds: dict[str, Deed] = {}
    for name, (prepared, values) in cases.items():
        deeds[f"{name}, built once"] = lambda one=prepared, given=values: one.all(**given)  # type: ignore[misc]
        deeds[f"{name}, built each time"] = plain(prepared, values)
    tell(
        "queries whose SQL is built once",
        medians_ms(deeds, rounds=100),
        {
            f"{name}: once / each time": (f"{name}, built once", f"{name}, built each time", 0.5)
            for name in cases
        },
    )


if __name__ == "__main__":
    open_house()
    main()
