"""How many bytes an installation has: its database by table, its images, and what is old."""

from django.db import connection, transaction
from django.db.models import Count, Sum
from django.utils import timezone

from loom.operations import trim
from loom.operations.models import SizeMeasure
from loom.trees.models import Image

Sizes = list[tuple[str, int]]

# A table's bytes with its indexes; the tables of the search index count as one.
_ON_SQLITE = """SELECT CASE WHEN m.tbl_name LIKE '%\\_fts\\_%' ESCAPE '\\'
        THEN substr(m.tbl_name, 1, instr(m.tbl_name, '_fts') + 3) ELSE m.tbl_name END AS name,
        SUM(d.pgsize) AS bytes
    FROM dbstat d JOIN sqlite_master m ON m.name = d.name WHERE d.aggregate = TRUE
    GROUP BY 1 ORDER BY 2 DESC"""
_ON_POSTGRESQL = """SELECT relname, pg_total_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC"""


def measure() -> SizeMeasure:
    """Measures and stores the sizes. On SQLite the whole file is read, which takes seconds for
    gigabytes, and others write meanwhile."""
    if connection.vendor == "postgresql":
        whole, tables = _sizes("SELECT pg_database_size(current_database())", _ON_POSTGRESQL)
    else:
        whole, tables = _sizes(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", _ON_SQLITE
        )
    files = Image.objects.order_by().values("sha256", "size").distinct()
    images = files.aggregate(bytes=Sum("size"), many=Count("sha256"))
    old = trim.counted(timezone.now())
    with transaction.atomic():
        measure = SizeMeasure.objects.create(
            at=timezone.now(),
            database=whole,
            tables=tables,
            images=images["bytes"] or 0,
            image_files=images["many"],
            old={name: [freed.rows, freed.bytes] for name, freed in old.items()},
        )
        SizeMeasure.objects.filter(pk__lt=measure.pk).delete()
    return measure


def newest() -> SizeMeasure | None:
    """The last measure, if there is one. One query."""
    return SizeMeasure.objects.first()


def _sizes(whole: str, tables: str) -> tuple[int, Sizes]:
    with connection.cursor() as cursor:
        cursor.execute(whole)
        size = int(cursor.fetchone()[0])
        try:
            cursor.execute(tables)
            by_table = [(str(name), int(many)) for name, many in cursor.fetchall() if many]
        except Exception:  # an SQLite that was built without dbstat
            if connection.vendor == "postgresql":
                raise
            by_table = []
    return size, by_table
