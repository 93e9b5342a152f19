"""What the planner of the database is told of the rows of a test, so that it chooses its plans as
it would of so many in an installation."""

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

# `ANALYZE` alone also counts what all databases of a PostgreSQL server share, and keeps those
# tables locked until the test ends: two processes of tests would wait for each other.
_TABLES = """
    SELECT string_agg(oid::regclass::text, ', ' ORDER BY relname) FROM pg_class
    WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
"""


def count_rows() -> None:
    """Makes the statistics of all tables of this database, on the default connection."""
    connection.ensure_connection()
    # Past Django, as tests count and record what goes through it.
    execute = connection.connection.execute
    if connection.vendor == "sqlite":
        execute("ANALYZE")
    else:
        ((tables,),) = execute(_TABLES).fetchall()
        execute(f"ANALYZE {tables}")


def forget_statistics(connection: BaseDatabaseWrapper) -> None:
    """Drops what SQLite's planner was told of the rows of a test: in the next it would choose its
    plans by them. The table must go, not only its rows: while it is there, an ANALYZE that is
    rolled back leaves its estimates in the memory of the connection, which is closed for the same
    reason. Within a transaction it stays open: its end, as it drops tables, forgets them too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'sqlite_stat_'")
        names = [name for (name,) in cursor.fetchall()]
        for name in names:
            cursor.execute(f"DROP TABLE {name}")
    if names and not connection.in_atomic_block:
        connection.close()
