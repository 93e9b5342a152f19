"""What the databases make of the queries that were sent: recorded, explained and judged."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper

# Tables whose rows grow with what people and models do.
GROWING = (
    "node nodesource event step receipt link mark generation call turn versionchoice stream "
    "workspace draft tree purse window documenttext documentembed websearch"
).split()
_TEXTS = re.compile(r'\b"?(text|payload|message|line|rounds|request|response|blocks)"?(?![\w(])')
_READS = re.compile(r"\s*(SELECT|WITH|UPDATE|DELETE)\b", re.IGNORECASE)
_NAMED = re.compile(r'(?:FROM|JOIN|UPDATE|,)\s+"?(loom_\w+)"?(?:\s+(?:AS\s+)?"?([A-Za-z]\w*)"?)?')
# Conditions that leave few rows: those of one slot, turn or call, or named one by one.
_FEW = re.compile(r'"?\b(uid|id|slot_id|turn_id|turn_uid|call_id|point_id)"? (=|IN) \(?%s')
# A search that finds all of a tree, of a stream or of a workspace.
_WHOLE = re.compile(
    r"SEARCH (loom_)?(node|n|v|event|step) USING (COVERING )?INDEX (?!node_pruned)\S+ "
    r"\((tree_id|stream_id|workspace_id)=\?\)"
)
# A whole tree is looked through on purpose: it is verified, or a prune has changed its size.
_ON_PURPOSE = ("slot_id <> id", "WITH RECURSIVE hidden(slot)")
_LAST_RESORTS = ("enable_seqscan", "enable_sort", "enable_mergejoin", "enable_hashjoin")
_SCALE = 1_000  # how many times as many rows the planner of SQLite is told of


@dataclass
class Recorded:
    """The different queries that were sent by all threads, each with one set of values."""

    sent: dict[str, Any] = field(default_factory=dict)

    def demand_no_faults(self) -> None:
        """Fails with all that is wrong, unabridged."""
        faults = self.faults()
        if faults:
            pytest.fail("\n".join(faults), pytrace=False)

    def faults(self) -> list[str]:
        """What is wrong with the plans of the queries, one line for each."""
        judge = _judged_by_postgres if connection.vendor == "postgresql" else _judged_by_sqlite
        with _statistics():
            return [
                f"{fault}: {' '.join(sql.split())[-1500:]}"
                for sql, params in self.sent.items()
                for fault in judge(sql, params)
            ]


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Records within the block, on every thread."""
    kept = Recorded()
    execute = CursorWrapper.execute

    def noted(self: Any, sql: Any, params: Any = None) -> Any:
        if isinstance(sql, str) and _READS.match(sql) and "loom_" in sql:
            kept.sent.setdefault(sql, params)
        return execute(self, sql, params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CursorWrapper, "execute", noted)
        yield kept


@contextmanager
def _statistics() -> Iterator[None]:
    """Lets the planner know the tables, as it does by itself in time, and that they are big."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if connection.vendor == "postgresql":
            # Small tables are always scanned and sorted; now only where there is no other way.
            for way in _LAST_RESORTS:
                cursor.execute(f"SET {way} = off")
        else:
            _scale(cursor)
        try:
            yield
        finally:
            if connection.vendor == "postgresql":
                for way in _LAST_RESORTS:
                    cursor.execute(f"RESET {way}")
            else:
                cursor.execute("DELETE FROM sqlite_stat1")
                cursor.execute("ANALYZE sqlite_schema")


def _scale(cursor: CursorWrapper) -> None:
    cursor.execute("SELECT rowid, tbl, stat FROM sqlite_stat1")
    for row, table, stat in cursor.fetchall():
        if table.removeprefix("loom_") in GROWING:
            count, *rest = stat.split()
            scaled = " ".join([str(int(count) * _SCALE), *rest])
            cursor.execute("UPDATE sqlite_stat1 SET stat = %s WHERE rowid = %s", [scaled, row])
    cursor.execute("ANALYZE sqlite_schema")


def _growing(sql: str) -> set[str]:
    """The names under which a query reads growing tables."""
    names = set()
    for table, alias in _NAMED.findall(sql):
        if table.removeprefix("loom_") in GROWING:
            names.add(table)
            names.add(alias or table)
    return names


def _judged_by_sqlite(sql: str, params: Any) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        lines = [row[3] for row in cursor.fetchall()]
    names = _growing(sql)
    for line in lines:
        words = line.split()
        if words[0] == "SCAN" and words[1] in names and "VIRTUAL" not in line:
            yield line
        if "BLOOM FILTER" in line or "AUTOMATIC" in line:
            yield line
        if line.startswith("USE TEMP B-TREE FOR ORDER BY") and _sorts_texts(sql):
            yield line
        if _WHOLE.match(line) and not any(one in sql for one in (" LIMIT ", *_ON_PURPOSE)):
            yield line


def _sorts_texts(sql: str) -> bool:
    """Whether a query carries texts through its sorter, more than hang at one item."""
    if _FEW.search(sql):
        return False
    chosen = re.split(
        r"\bFROM\b", re.sub(r"WITH RECURSIVE.*?\)\s*SELECT", "SELECT", sql, flags=re.S)
    )
    return _TEXTS.search(chosen[0]) is not None


def _judged_by_postgres(sql: str, params: Any) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {sql}", params)
        found = cursor.fetchone()[0]
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    for part in _parts(plan):
        table = part.get("Relation Name", "").removeprefix("loom_")
        if part["Node Type"] == "Seq Scan" and table in GROWING:
            yield f"Seq Scan on {table}"
        sorted_ = part["Output"] if part["Node Type"] == "Sort" else ()
        if any(_TEXTS.search(one) for one in sorted_) and not _FEW.search(sql):
            yield f"Sort by {part['Sort Key']}"


def _parts(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _parts(below)
