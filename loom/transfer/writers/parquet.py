"""The tables of a tree as Parquet: a ZIP of files of some ten thousand rows each, and
`manifest.json` with the number of rows, the columns and the SHA-256 of every file.

A part is made in memory and sent before the next one is begun, so neither memory nor the first
byte depend on how large the tree is. Programs read the folder of a table as one data set.
"""

import hashlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from arro3.core import Array, DataType, RecordBatch
from arro3.io import write_parquet

from loom.transfer.selection import ExportSelection
from loom.transfer.tables import TABLES, Cell, Extent, Row, Table, extent_of
from loom.transfer.writers.archive import ZipStream

VERSION = 1
ROWS = 20_000  # of one file, at most
CHARACTERS = 16_000_000  # of the texts in one file, with little more
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_INTEGER, _TIME = DataType.int64(), DataType.timestamp("us", tz="UTC")
_TYPES: dict[Cell, DataType] = {
    "text": DataType.string(),
    "integer": _INTEGER,
    "real": DataType.float64(),
    "truth": DataType.bool(),
    "time": _TIME,
    "json": DataType.string(),
}


def pieces(wanted: ExportSelection) -> Iterator[bytes]:
    """The ZIP, in pieces."""
    extent = extent_of(wanted.actor, wanted.tree)
    archive = ZipStream()
    tables: dict[str, Any] = {}
    for table in TABLES.values():
        files: list[dict[str, Any]] = []
        for number, rows in enumerate(_parts(table, extent)):
            content = parquet(table, rows, extent.tree.uid)
            path = f"{table.name}/part-{number:05}.parquet"
            digest = hashlib.sha256(content).hexdigest()
            files.append({"path": path, "rows": len(rows), "bytes": len(content), "sha256": digest})
            yield archive.member(path, content, packed=False)  # Parquet is compressed already
        columns = [{"name": name, "type": kind} for name, kind in table.columns]
        count = sum(file["rows"] for file in files)
        tables[table.name] = {
            "says": table.says, "rows": count, "columns": columns, "files": files
        }  # fmt: skip
    manifest = {
        "heddle_tables": VERSION,
        "tree": extent.tree.uid,
        "title": extent.tree.title,
        "seq": extent.head,
        "tables": tables,
    }
    yield archive.member("manifest.json", json.dumps(manifest, ensure_ascii=False, indent=1))
    yield archive.end()


def _parts(table: Table, extent: Extent) -> Iterator[list[Row]]:
    """The rows, as many at once as go into one file; one empty list if there are none, so that
    every table has a file with its columns."""
    waiting: list[Row] = []
    size, number = 0, 0
    for rows in table.read(extent):
        waiting += rows
        size += sum(len(value) for row in rows for value in row if isinstance(value, str))
        if len(waiting) >= ROWS or size >= CHARACTERS:
            yield waiting
            waiting, size, number = [], 0, number + 1
    if waiting or not number:
        yield waiting


def parquet(table: Table, rows: list[Row], tree: str) -> bytes:
    """One Parquet file with these rows: times in microseconds UTC, JSON as text, packed by
    Zstandard."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.columns)
    arrays = [
        _array(kind, values) for (_, kind), values in zip(table.columns, columns, strict=True)
    ]
    names = [name for name, _ in table.columns]
    batch = RecordBatch.from_arrays(arrays, names=names)
    out = io.BytesIO()
    says = {"tables": VERSION, "tree": tree, "table": table.name}
    write_parquet(
        batch,
        out,
        compression="zstd(3)",
        created_by="heddle",
        # One key: several are written in an order of chance, and the SHA-256 would differ.
        key_value_metadata={"heddle": json.dumps(says)},
    )
    return out.getvalue()


def _array(kind: Cell, values: tuple[Any, ...]) -> Array:
    if kind == "time":
        # Whole microseconds: a float would round.
        instants = [None if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
        return Array(instants, _INTEGER).cast(_TIME)
    if kind == "json":
        texts = [
            None if value is None else json.dumps(value, ensure_ascii=False) for value in values
        ]
        return Array(texts, _TYPES["json"])
    return Array(list(values), _TYPES[kind])
