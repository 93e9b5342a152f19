"""A path of depth 2,000 in a tree of 100,000 nodes, against the bare recursive query.

Run: python -m bench.path [nodes] [depth]
"""

import sys

from bench.house import medians_ms, open_house, settle, tell

BARE = """
    WITH RECURSIVE up(id, above) AS (
        SELECT id, parent_slot_id FROM loom_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id FROM up JOIN loom_node n ON n.id = up.above
    ) SELECT {columns} FROM up
    JOIN loom_node v ON v.id = up.id JOIN loom_participant a ON a.id = v.author_id
"""


def main(count: int, depth: int) -> None:
    """Builds the tree and prints medians and ratios."""
    from rest_framework.test import APIClient

    import config.asgi  # noqa: F401 (the collector is set up there as in a web process)
    from bench.trees import grow, make_owner
    from loom.queries.path import path_ids, path_of
    from loom.queries.rows import columns, fetch

    actor = make_owner("bench")
    tree, end = grow(actor, count=count, chain=depth)
    settle()
    client = APIClient()
    client.force_login(actor.user)
    address = f"/api/trees/{tree.uid}/path?node={end.local_id}"
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    bare = BARE.format(columns="v.id, v.local_id, v.text")
    wide = BARE.format(columns=columns("v"))
    medians = medians_ms(
        {
            "bare query (id, local id, text)": lambda: fetch(bare, [end.pk]),
            "bare query (the columns of a path)": lambda: fetch(wide, [end.pk]),
            "path, ids of the versions that stand": lambda: path_ids(actor, tree, None, end),
            "path, as tuples": lambda: path_of(actor, tree, None, end),
            "GET path": lambda: client.get(address),
        },
        rounds=25,
    )
    tell(
        f"path of {depth:,} in {count:,} nodes, {len(answer.content):,} bytes",
        medians,
        {
            "tuples / bare, same columns": (
                "path, as tuples",
                "bare query (the columns of a path)",
                2,
            ),
            "ids / bare": (
                "path, ids of the versions that stand",
                "bare query (id, local id, text)",
                2,
            ),
            "GET / bare": ("GET path", "bare query (id, local id, text)", 10),
        },
    )


if __name__ == "__main__":
    open_house()
    numbers = [int(one) for one in sys.argv[1:]]
    main(*(numbers + [100_000, 2_000][len(numbers) :]))
