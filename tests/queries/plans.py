"""What the databases make of the queries that were sent: recorded, explained and judged."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import pytest
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from tests.planner import count_rows, forget_statistics

# Tables that may be read whole: all others grow with what people and models do.
SMALL = {"people_user"}  # looked up by a name whatever its case, where people sign in or are added
_TEXTS = re.compile(r'\b"?(text|payload|message|line|rounds|request|response|blocks)"?(?![\w(])')
_READS = re.compile(r"\s*(SELECT|WITH|UPDATE|DELETE)\b", re.IGNORECASE)
# The tables of Heddle, by the apps whose names they begin with.
_APPS = "engine|people|trees|web_search|workspace|turns|notes|links|documents|money|transfer"
OURS = rf"(?:{_APPS})_[a-z]+"
_OURS = re.compile(rf"\b{OURS}")
_NAMED = re.compile(rf'(?:FROM|JOIN|UPDATE|,)\s+"?({OURS})"?(?:\s+(?:AS\s+)?"?([A-Za-z]\w*)"?)?')
# Conditions that leave few rows: those of one slot, turn or call, or named one by one.
_FEW = re.compile(r'"?\b(uid|id|slot_id|node_id|turn_id|turn_uid|call_id|point_id)"? (=|IN) \(?%s')
# A search that finds all of a tree, of a stream or of a workspace.
_WHOLE = re.compile(
    r"SEARCH (?:trees_|engine_)?(node|n|v|event|step) USING (COVERING )?"
    r"INDEX (?!node_pruned|node_flagged)\S+ "
    r"\((tree_id|stream_id|workspace_id)=\?\)"
)
# An index that holds only what somebody is typing in.
_OPEN = "USING INDEX document_unsettled"
# A whole tree is looked through on purpose: it is verified, or a prune has changed its size.
_ON_PURPOSE = ("slot_id <> id", "WITH RECURSIVE hidden(slot)")
_LAST_RESORTS = ("enable_seqscan",)
_SCALE = 1_000  # how many times as many rows the planner is told of
# Indexes that PostgreSQL could walk from end to end instead of looking something up. Partial ones
# and those of tables with at most 100 rows cost it nothing here, so that it is not to blame.
_WALKED = f"""SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
    JOIN pg_class t ON t.oid = x.indrelid
    WHERE x.indpred IS NULL AND t.reltuples > 100000 AND t.relname ~ '^({_APPS})_'"""
# As many rows for each value as there are: otherwise a tenth of them is a lot.
_RARE = f"""UPDATE pg_statistic
    SET stakind1 = 0, stakind2 = 0, stakind3 = 0, stakind4 = 0, stakind5 = 0,
        stadistinct = CASE WHEN stadistinct > 0 AND c.reltuples > 0
            THEN GREATEST(-1, -stadistinct / c.reltuples) ELSE stadistinct END
    FROM pg_class c WHERE c.oid = starelid AND c.relname ~ '^({_APPS})_'"""
_MANY = f"""UPDATE pg_class SET reltuples = GREATEST(reltuples, 100) * {{scale}}
    WHERE relname ~ '^({_APPS})_' AND relkind IN ('r', 'i')"""


@dataclass
class Recorded:
    """The different queries that were sent by all threads, each with one set of values."""

    sent: dict[str, Any] = field(default_factory=dict)
    prepared: set[str] = field(default_factory=set)  # of these, those whose plan PostgreSQL keeps

    def demand_no_faults(self) -> None:
        """Fails with all that is wrong, unabridged."""
        faults = self.faults()
        if faults:
            pytest.fail("\n".join(faults), pytrace=False)

    def faults(self) -> list[str]:
        """What is wrong with the plans of the queries, one line for each."""
        with _statistics():
            return [
                f"{fault}: {' '.join(sql.split())[-1500:]}"
                for sql, params in self.sent.items()
                for fault in self._judged(sql, params)
            ]

    def _judged(self, sql: str, params: Any) -> Iterator[str]:
        if connection.vendor == "sqlite":
            yield from _judged_by_sqlite(sql, params)
            return
        yield from _judged_by_postgres(sql, params, _plan)
        if sql in self.prepared:
            yield from _judged_by_postgres(sql, params, _kept_plan)


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Records within the block, on every thread."""
    kept = Recorded()
    execute = CursorWrapper.execute

    def noted(self: Any, sql: Any, params: Any = None) -> Any:
        if isinstance(sql, str) and _READS.match(sql) and _OURS.search(sql):
            kept.sent.setdefault(sql, params)
            if type(self.cursor).__name__ == "ServerBindingCursor":
                kept.prepared.add(sql)
        return execute(self, sql, params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CursorWrapper, "execute", noted)
        yield kept


@contextmanager
def _statistics() -> Iterator[None]:
    """Lets the planner know the tables, as it does by itself in time, and that they are big."""
    count_rows()
    scale = _scale_postgres if connection.vendor == "postgresql" else _scale_sqlite
    with transaction.atomic(), connection.cursor() as cursor:
        scale(cursor)
        try:
            yield
        finally:
            transaction.set_rollback(True)
    if connection.vendor == "sqlite":
        forget_statistics(connection)


def _scale_sqlite(cursor: CursorWrapper) -> None:
    cursor.execute("SELECT rowid, tbl, stat FROM sqlite_stat1")
    for row, table, stat in cursor.fetchall():
        if _grows(table):
            count, *rest = stat.split()
            scaled = " ".join([str(int(count) * _SCALE), *rest])
            cursor.execute("UPDATE sqlite_stat1 SET stat = %s WHERE rowid = %s", [scaled, row])
    cursor.execute("ANALYZE sqlite_schema")


def _scale_postgres(cursor: CursorWrapper) -> None:
    cursor.execute(_RARE)
    cursor.execute(_MANY.format(scale=_SCALE))
    for way in _LAST_RESORTS:  # only where there is no other
        cursor.execute(f"SET LOCAL {way} = off")


def _grows(table: str) -> bool:
    return bool(_OURS.fullmatch(table)) and table not in SMALL


def _growing(sql: str) -> set[str]:
    """The names under which a query reads growing tables."""
    names = set()
    for table, alias in _NAMED.findall(sql):
        if _grows(table):
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
        is_whole = words[0] == "SCAN" and words[1] in names
        if is_whole and "VIRTUAL" not in line and not line.endswith(_OPEN):
            yield line
        if "BLOOM FILTER" in line or "AUTOMATIC" in line:
            yield line
        if line.startswith("USE TEMP B-TREE FOR ORDER BY") and _sorts_texts(sql):
            yield line
        if _WHOLE.match(line) and not any(word in sql for word in (" LIMIT ", *_ON_PURPOSE)):
            yield line


def _sorts_texts(sql: str) -> bool:
    """Whether a query carries texts through its sorter, more than hang at one item."""
    if _FEW.search(sql):
        return False
    chosen = re.split(
        r"\bFROM\b", re.sub(r"WITH RECURSIVE.*?\)\s*SELECT", "SELECT", sql, flags=re.S)
    )
    return _TEXTS.search(chosen[0]) is not None


def _judged_by_postgres(sql: str, params: Any, plan: "Planner") -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(_WALKED)
        walked = {name for (name,) in cursor.fetchall()}
        for part in plan(cursor, sql, params, sorting="on"):
            table = part.get("Relation Name", "")
            if part["Node Type"] == "Seq Scan" and _grows(table):
                yield f"Seq Scan on {table}"
            elif part.get("Index Name") in walked and "Index Cond" not in part and _grows(table):
                yield f"Scan of all of {part['Index Name']}"
        for part in plan(cursor, sql, params, sorting="off"):
            sorted_ = part["Output"] if part["Node Type"] == "Sort" else ()
            if any(_TEXTS.search(part) for part in sorted_) and not _FEW.search(sql):
                yield f"Sort by {part['Sort Key']}"


class Planner(Protocol):
    """Asks PostgreSQL for the parts of a plan; it sorts as it likes, or only where there is no
    other way."""

    def __call__(
        self, cursor: CursorWrapper, sql: str, params: Any, *, sorting: str
    ) -> Iterator[dict[str, Any]]: ...


def _plan(
    cursor: CursorWrapper, sql: str, params: Any, *, sorting: str
) -> Iterator[dict[str, Any]]:
    """The plan for these values."""
    cursor.execute(f"SET LOCAL enable_sort = {sorting}")
    cursor.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {sql}", params)
    return _explained(cursor)


def _kept_plan(
    cursor: CursorWrapper, sql: str, params: Any, *, sorting: str
) -> Iterator[dict[str, Any]]:
    """The plan for whatever values, which PostgreSQL may keep for a prepared query."""
    cursor.execute(f"SET LOCAL enable_sort = {sorting}")
    cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    places = count(1)
    numbered = re.sub("%s", lambda _: f"${next(places)}", sql).replace("%%", "%")
    cursor.execute(f"PREPARE judged AS {numbered}")
    given = ", ".join(["%s"] * len(params))
    cursor.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE judged ({given})", params)
    parts = _explained(cursor)
    cursor.execute("DEALLOCATE judged")
    return parts


def _explained(cursor: CursorWrapper) -> Iterator[dict[str, Any]]:
    plan = cursor.fetchone()[0]
    return _parts((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _parts(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _parts(below)
