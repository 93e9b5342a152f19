"""What a text costs in the database: bytes for each byte of text, by table.

Run: python -m bench.storage [texts] [characters]

Texts are written with `respond` and a key, as the API does it: node, step, event, receipt and
search index. The words are those of `docs/`, in an order of their own. On SQLite the figures
are after the segments of the search index were merged and VACUUM, on PostgreSQL after VACUUM FULL.
"""

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.installation import open_installation

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

WORDS_FROM = Path(__file__).resolve().parent.parent / "docs"


def prose(count: int, characters: int) -> list[str]:
    """Texts of about `characters` characters: runs of words from the documentation."""
    words = " ".join(path.read_text() for path in sorted(WORDS_FROM.rglob("*.md"))).split()
    dice = random.Random(7)
    texts = []
    for _ in range(count):
        text = ""
        while len(text) < characters:
            at = dice.randrange(len(words) - 20)
            text += " ".join(words[at : at + dice.randrange(3, 20)]) + " "
        texts.append(text[:characters].rstrip("\\"))
    return texts


def compact(cursor: "CursorWrapper") -> None:
    """Gives back all room that nothing uses, on PostgreSQL.

    Dead rows go first: VACUUM FULL copies those that a transaction in another database of the
    server makes it take for needed, and cannot where autovacuum has removed their long values.
    """
    cursor.execute("VACUUM")
    cursor.execute("VACUUM FULL")


def sizes() -> dict[str, int]:
    """Bytes by table, indexes and search index included, and in `all` those of the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            compact(cursor)
            cursor.execute(
                """SELECT relname, pg_total_relation_size(oid) FROM pg_class
                WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"""
            )
            tables = dict(cursor.fetchall())
            cursor.execute("SELECT pg_relation_size('trees_node_trigrams')")
            tables["trees_node"] -= (index := cursor.fetchone()[0])
            return {**tables, "search index": index, "all": sum(tables.values()) + index}
        cursor.execute("INSERT INTO trees_node_fts(trees_node_fts) VALUES ('optimize')")
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_size")
        page = cursor.fetchone()[0]
        cursor.execute("PRAGMA page_count")
        whole = cursor.fetchone()[0] * page
        cursor.execute(
            """SELECT CASE WHEN m.tbl_name LIKE 'trees_node_fts%' THEN 'search index'
                ELSE m.tbl_name END AS name, sum(d.pgsize)
            FROM dbstat d JOIN sqlite_master m ON m.name = d.name GROUP BY 1"""
        )
        return {**dict(cursor.fetchall()), "all": whole}


_PARTS = {
    "postgresql": """SELECT t.relname || ' ' || CASE p.relkind WHEN 'r' THEN 'rows'
            WHEN 't' THEN 'long values' ELSE p.relname END, pg_relation_size(p.oid)
        FROM pg_class t JOIN pg_class p ON p.oid IN (t.oid, t.reltoastrelid) OR p.oid IN
            (SELECT indexrelid FROM pg_index WHERE indrelid IN (t.oid, t.reltoastrelid))
        WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace""",
    "sqlite": """SELECT m.tbl_name || ' ' ||
            CASE d.name WHEN m.tbl_name THEN 'rows' ELSE d.name END, sum(d.pgsize)
        FROM dbstat d JOIN sqlite_master m ON m.name = d.name GROUP BY 1""",
}


def parts() -> dict[str, int]:
    """Bytes of the rows of each table and of each index."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_PARTS[connection.vendor])
        return dict(cursor.fetchall())


def main(count: int, characters: int) -> None:
    """Writes the texts and prints what each byte of them costs."""
    from bench.trees import make_owner
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.trees.commands import trees

    actor = make_owner("bench")
    tree = trees.new_tree(actor, title="Storage")
    texts = prose(count, characters)
    before = sizes()
    for number, text in enumerate(texts):
        line = f"respond to root\n{text}\n←"
        execute_line(actor, tree, Request(line=line, key=f"key-{number}", at="root"))
    after = sizes()
    written = sum(len(text.encode()) for text in texts)
    print(f"{count:,} texts of {characters:,} characters: bytes in the database for each byte")
    grown = {name: size - before.get(name, 0) for name, size in after.items()}
    for name, size in sorted(grown.items(), key=lambda item: item[1]):
        if size > written / 100:
            print(f"  {name:24} {size / written:6.2f}")


if __name__ == "__main__":
    open_installation()
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [100, 20_000][len(given) :]))
