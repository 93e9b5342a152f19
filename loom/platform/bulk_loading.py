"""PostgreSQL's tables without their indexes and foreign keys while many rows are copied into them.

An index that is made from rows that are there costs a fraction of one that grows with each, above
all that of the trigrams; so does a foreign key that is checked once for all rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db.backends.utils import CursorWrapper

_INDEXES = """
    SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
    WHERE i.indrelid = ANY(%s::regclass[]) AND NOT i.indisprimary AND NOT EXISTS (
        SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
    ORDER BY i.indexrelid
"""
_FOREIGN_KEYS = """
    SELECT c.conrelid::regclass::text, quote_ident(c.conname), pg_get_constraintdef(c.oid)
    FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = ANY(%s::regclass[])
    ORDER BY c.oid
"""
_MEMORY = "SET LOCAL maintenance_work_mem = '256MB'"  # for each index while it is made


@contextmanager
def indexed_afterwards(cursor: CursorWrapper, tables: Sequence[str]) -> Iterator[None]:
    """Drops the indexes and foreign keys of the tables, and makes them again at the end, when all
    rows must fit them. To be used in a transaction, in which nobody else can read these tables; no
    rows may have been written in it before. Primary keys and unique constraints stay."""
    named = [f'"{table}"' for table in tables]
    cursor.execute(_FOREIGN_KEYS, [named])
    keys = cursor.fetchall()
    cursor.execute(_INDEXES, [named])
    indexes = cursor.fetchall()
    for table, name, _ in keys:
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    cursor.execute(_MEMORY)
    for _, definition in indexes:
        cursor.execute(definition)
    for table, name, definition in keys:
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
