"""A path of depth 2,000 in a tree of 100,000 nodes, against the bare recursive query.

Run: python -m bench.path [nodes] [depth]
"""

import sys

from bench.installation import Case, medians_ms, open_installation, report, settle

BARE = """
    WITH RECURSIVE up(id, above) AS (
        SELECT id, parent_slot_id FROM trees_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id FROM up JOIN trees_node n ON n.id = up.above
    ) SELECT {columns} FROM up
    JOIN trees_node v ON v.id = up.id JOIN people_participant a ON a.id = v.author_id
"""


NARROW, WIDE = "bare query (id, local id, text)", "bare query (the columns of a path)"
LAST = "GET path, its last 50"
IDS, TUPLES, GET = "path, ids of the selected versions", "path, as tuples", "GET path"


def main(count: int, depth: int) -> None:
    """Builds the tree and prints medians and ratios."""
    from rest_framework.test import APIClient

    import config.asgi  # noqa: F401 (the collector is set up there as in a web process)
    from bench.trees import grow, make_owner
    from loom.trees.queries.lookup import columns, fetch, path_of
    from loom.trees.queries.places import path_ids

    actor = make_owner("bench")
    tree, end = grow(actor, count=count, chain=depth)
    settle()
    client = APIClient()
    client.force_login(actor.user)
    address = f"/api/trees/{tree.uid}/path?node={end.local_id}"
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    narrow, wide = (
        BARE.format(columns=selected) for selected in ("v.id, v.local_id, v.text", columns("v"))
    )
    cases: dict[str, Case] = {
        NARROW: lambda: fetch(narrow, [end.pk]),
        WIDE: lambda: fetch(wide, [end.pk]),
        IDS: lambda: path_ids(actor, tree, None, end),
        TUPLES: lambda: path_of(actor, tree, None, end),
        GET: lambda: client.get(address),
        LAST: lambda: client.get(f"{address}&limit=50"),
    }
    report(
        f"path of {depth:,} in {count:,} nodes, {len(answer.content):,} bytes",
        medians_ms(cases, rounds=25),
        {
            "tuples / bare, same columns": (TUPLES, WIDE, 1.5),
            "ids / bare": (IDS, NARROW, 1.5),
            "GET / bare": (GET, NARROW, 8),
        },
    )


if __name__ == "__main__":
    open_installation()
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [100_000, 2_000][len(numbers) :]))
