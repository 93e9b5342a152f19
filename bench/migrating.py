"""A migration of a large table while somebody writes: how long the longest of their lines took.

Run: python -m bench.migrating [nodes]

Each of so many texts (1,000,000) gets a value in a column, once in batches
(`loom.platform.batched_migrations`) and once by one statement, while another thread sends `respond`
after `respond` in a tree of its own. An index is added, too. On SQLite, or where DATABASE_URL is.
"""

import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.installation import open_installation

IN_BATCHES = """UPDATE trees_node SET summary = 'batched'
    WHERE id > %s AND id <= %s AND summary <> 'batched'"""
AT_ONCE = "UPDATE trees_node SET summary = 'at once'"


class Writer(threading.Thread):
    """Sends lines until it is stopped, and notes how long each took."""

    def __init__(self, actor: Any, tree: Any) -> None:
        super().__init__()
        self._actor, self._tree = actor, tree
        self._halt = threading.Event()
        self.taken: list[float] = []

    def run(self) -> None:
        """One line after the other, with a pause in which nobody waits."""
        from django.db import connection

        from loom.engine.context import Request
        from loom.engine.execute import execute_line

        while not self._halt.is_set():
            began = time.perf_counter()
            execute_line(self._actor, self._tree, Request("respond to root\nA line.\n←"))
            self.taken.append(time.perf_counter() - began)
            time.sleep(0.02)
        connection.close()

    def stop(self) -> list[float]:
        """The seconds of its lines."""
        self._halt.set()
        self.join()
        return self.taken


def beside(name: str, actor: Any, tree: Any, change: Callable[[], object]) -> None:
    """Makes a change while somebody writes, and prints how long they waited."""
    writer = Writer(actor, tree)
    writer.start()
    time.sleep(1)
    began = time.perf_counter()
    change()
    took = time.perf_counter() - began
    taken = writer.stop()
    print(
        f"  {name:28} {took:7.1f} s; {len(taken):5,} lines beside it: median"
        f" {statistics.median(taken) * 1000:6.0f} ms, longest {max(taken) * 1000:8.0f} ms",
        flush=True,
    )


COLUMNS = (
    "id tree_id local_id kind form text length author_id slot_id depth parent_hash hash"
    " configuration call_uid generation_uid finish created_at proof_author pruned version_pruned"
    " excluded sandbox summary"
).split()


def fill(tree: Any, author: int, nodes: int) -> None:
    """So many texts of 340 characters in the table, without an index of their words."""
    from django.db import connection, transaction

    text = "Somebody carried the lamp across the square. " * 8
    no = False
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DROP INDEX trees_node_trigrams")
        else:
            cursor.execute("DROP TRIGGER trees_node_fts_insert")
    marks = ", ".join(["%s"] * len(COLUMNS))
    sql = f"INSERT INTO trees_node ({', '.join(COLUMNS)}) VALUES ({marks})"
    first = (tree.pk << 32) + 1_000_000
    for start in range(0, nodes, 5_000):
        rows = [
            (first + place, tree.pk, f"{place:x}", "text", "", text, len(text), author,
             first + place, 1, "", "0" * 64, "", "", "", "complete", tree.created_at, "",
             no, no, no, no, "")
            for place in range(start, min(nodes, start + 5_000))
        ]  # fmt: skip
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(sql, rows)


def main(nodes: int) -> None:
    """Fills the table and changes it."""
    from django.db import connection, models

    from bench.trees import make_owner
    from loom.platform.batched_migrations import change_rows
    from loom.trees.commands import trees
    from loom.trees.models import Node

    actor = make_owner("bench")
    fill(trees.new_tree(actor, title="Large"), actor.participant.pk, nodes)
    tree = trees.new_tree(actor, title="Written in")

    def index() -> None:
        added = models.Index(fields=["summary"], name="node_by_summary_tried")
        aside: dict[str, Any] = {"concurrently": True} if connection.vendor == "postgresql" else {}
        with connection.schema_editor(atomic=False) as editor:
            editor.add_index(Node, added, **aside)
            editor.remove_index(Node, added, **aside)

    def at_once() -> None:
        with connection.cursor() as cursor:
            cursor.execute(AT_ONCE)

    print(f"{nodes:,} nodes, {connection.vendor}")
    beside("nothing, for 5 s", actor, tree, partial(time.sleep, 5))
    beside("in batches", actor, tree, partial(change_rows, "default", "trees_node", IN_BATCHES))
    beside("an index", actor, tree, index)
    beside("by one statement", actor, tree, at_once)


if __name__ == "__main__":
    open_installation()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
