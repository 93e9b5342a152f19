"""Files that are read without a database: the records of each tree of a file."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loom.transfer.inputs import ImportFormat
from loom.transfer.records import Head, NodeRecord, RecordFile, Report
from loom.transfer.uploads import Upload


@dataclass
class Tree:
    """One tree as it was read."""

    format: ImportFormat
    title: str
    at: str
    count: int
    asks: tuple[str, ...]
    head: Head
    records: list[NodeRecord]
    report: Report

    def outline(self) -> list[tuple[str, str | None]]:
        """(text, the text above) in reading order."""
        texts = [record.text for record in self.records]
        return [
            (record.text, texts[record.parent] if record.parent >= 0 else None)
            for record in self.records
        ]

    def record(self, text: str) -> NodeRecord:
        """The record with this text."""
        (record,) = [record for record in self.records if record.text == text]
        return record


def raw_of(content: Any) -> bytes:
    """The bytes of a file: bytes as they are, JSON Lines of a tuple, JSON of everything else."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, tuple):
        return b"".join(json.dumps(line).encode() + b"\n" for line in content)
    return json.dumps(content).encode()


def trees_of(
    content: Any, *, name: str = "file.json", options: Mapping[str, str] | None = None
) -> list[Tree]:
    """All trees of a file. Raises CommandError for one that cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(raw_of(content))
        trees = []
        with Upload(path, name, options or {}, lambda _: None) as upload:
            for form, part in upload.parts():
                report = Report()
                upload.mended(report)
                with RecordFile(Path(folder) / "record_file") as record_file:
                    head = part.read(record_file.put, report)
                    records = [
                        record
                        for batch in record_file.batches(
                            count=1000, characters=10**9, plan=head.plan
                        )
                        for record in batch
                    ]
                for record in records:
                    head.settle(record)
                title = head.title or part.title
                told = part.title if not head.title else title
                trees.append(
                    Tree(form, told, part.at, part.count, part.asks, head, records, report)
                )
        return trees


def tree_of(content: Any, **more: Any) -> Tree:
    """The one tree of a file."""
    (tree,) = trees_of(content, **more)
    return tree
