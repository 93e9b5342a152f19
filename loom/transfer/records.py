"""The output of a reader: flat records in reading order, kept in a file on disk, and a report."""

import json
import re
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from loom.errors import CommandError

MAX_TEXT_BYTES = 4 * 1024 * 1024
MAX_WARNINGS = 100
# Names in `Report.kept` for data of a whole tree, in addition to the names of fields: among them
# those of all parts of features (loom.trees.feature_parts).
FACTS = (
    *("bookmarks", "tags", "times", "calls", "links", "swipes", "images", "documents"),
    *("ratings", "claims", "tasks", "manuscript", "sandboxes"),
)
SHOWN = 5  # names of fields in a sentence for people; the details have all
HINT = "the guide names the formats that are read"

_SECRET_NAME = re.compile(
    r"api.?key|secret|passw|credential|authorization|bearer|(access|auth|refresh|private).?(token|key)"
    r"|^(key|token|pwd|auth|cookie|organi[sz]ation)$",
    re.IGNORECASE,
)


@dataclass
class NodeRecord:
    """One node of a file. `number` is its position in reading order, from 0; `parent` (-1: none),
    `slot` (-1: a new one) and `edited_from` (-1: none) are numbers of earlier records. `author` ""
    is the importer. `images` are in the message but not in its text yet, see
    message_images.named_in. `at` is RFC 3339, "" if unknown. `source` and `answer` are the other
    program's names of the node and of the model's answer it came from. Only Heddle's own files have
    the other fields; `hash` "": computed here.
    """

    number: int
    parent: int = -1
    text: str = ""
    author: str = ""
    author_kind: str = "human"
    at: str = ""
    source: str = ""
    answer: str = ""
    chapter: str = ""
    bookmark: str | None = None
    tags: list[str] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    imported: dict[str, Any] = field(default_factory=dict)
    local_id: str = ""
    kind: str = "text"
    form: str = ""
    blocks: list[dict[str, Any]] | None = None
    slot: int = -1
    edited_from: int = -1
    finish: str = "complete"
    call: str = ""
    generation: str = ""
    configuration: str = ""
    summary: str = ""
    resolved_at: str = ""
    flags: list[str] = field(default_factory=list)
    sources: list[list[str]] = field(default_factory=list)
    hash: str = ""
    parent_hash: str = ""
    proof_author: str = ""

    def packed(self) -> dict[str, Any]:
        """The fields that are not empty."""
        return {key: value for key, value in vars(self).items() if value != _EMPTY[key]}


_EMPTY = asdict(NodeRecord(number=-1))


@dataclass
class CallRecord:
    """One sealed call, as in Heddle's own files; `kind` says whether `by` is a human or a model."""

    id: str
    by: str
    kind: str
    purpose: str
    provider: str
    configuration: str
    request: dict[str, Any]
    response: str
    bytes: str
    status: int | None
    headers: dict[str, str]
    sha256: str
    usage: dict[str, Any]
    note: str
    strategy: str
    started_at: str
    first_at: str
    sealed_at: str


@dataclass
class MarkRecord:
    """A mark on the record `number` (-1: on the tree itself); `by` "" is the importer."""

    kind: str
    label: str
    number: int
    by: str = ""
    at: str = ""


@dataclass
class LinkRecord:
    """A link, as in Heddle's own files; ends are local ids, `tree`, or addresses elsewhere."""

    type: str
    source: str
    target: str
    note: str = ""
    words: str = ""
    confidence: float | None = None
    by: str = ""
    at: str = ""


@dataclass
class DocumentRecord:
    """A document that comes with a tree and is linked to it."""

    title: str
    text: str


@dataclass
class RecordPlan:
    """The order of records that a file has in another one: by position the number in the
    RecordFile and the position of the parent (-1: none); by position of a version the position of
    the first version of its slot; and how many have no parent."""

    order: "array[int]"
    parents: "array[int]"
    slots: dict[int, int]
    roots: int


def _as_it_is(record: NodeRecord) -> None:
    """Returns a record unchanged, which is enough for most formats."""


@dataclass
class Head:
    """What a file says about its tree. `kinds` are human or model by the name of an author;
    `settle` completes a record with what came later in the file. `is_rooted`: the first record is
    above all others, so an empty one is the root. `current` names the record at which the other
    program was, by its `source` or its number; "" is unknown."""

    title: str = ""
    mode: str = "buffer"
    description: str = ""
    system_context: str = ""
    summary: str = ""
    truncation: str = "truncateMiddle"
    memory: str = ""
    author_note: str = ""
    note_depth: int = 3
    lore_scan: int = 2000
    lore_budget: int = 1000
    is_own: bool = False
    imported: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    marks: list[MarkRecord] = field(default_factory=list)
    links: list[LinkRecord] = field(default_factory=list)
    documents: list[DocumentRecord] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)  # of features, by name
    settle: Callable[[NodeRecord], None] = _as_it_is
    plan: RecordPlan | None = None
    is_rooted: bool = True
    current: str | int = ""


@dataclass
class Report:
    """The result of the import: nodes created; what was kept, by name and number; fields unknown to
    the format, kept with the nodes; what was dropped; phrases about what features left out; and
    warnings."""

    format: str = ""
    nodes: int = 0
    trees: int = 1
    kept: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unsaid: int = 0

    def warn(self, sentence: str) -> None:
        """Keeps a warning, at most a hundred of them."""
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(sentence)
        else:
            self.unsaid += 1

    def add(self, other: "Report") -> None:
        """Adds the report of one tree of several, or of a part of one, which has no format."""
        if other.format:
            self.format = other.format if self.format in ("", other.format) else "several"
        self.nodes += other.nodes
        self.kept += other.kept
        self.unknown += other.unknown
        self.dropped += other.dropped
        self.left_out += other.left_out
        self.unsaid += other.unsaid
        for sentence in other.warnings:
            self.warn(sentence)

    def says(self) -> dict[str, list[str]]:
        """The report for people: what was imported, what is kept with it, what was left out and
        why."""
        fields = {name: n for name, n in self.kept.items() if n and " " not in name and n}
        facts = {name: n for name, n in self.kept.items() if n and (" " in name or name in FACTS)}
        beside = {name: n for name, n in fields.items() if name not in FACTS} | self.unknown
        came = []
        if self.nodes:
            came = [f"{_number(self.nodes, 'node')} in {_number(self.trees, 'tree')}."]
        came += [f"{name.capitalize()}: {n:,}." for name, n in facts.items()]
        keys = [name for name in self.dropped if is_secret_name(name)]
        others = {name: n for name, n in self.dropped.items() if name not in keys and n}
        phrases = [f"{name} ({n:,})" for name, n in others.items() if " " in name]
        large = [f"{name} ({n:,})" for name, n in others.items() if " " not in name]
        left_out = [f"Keys and passwords are never kept: {', '.join(keys[:40])}."] if keys else []
        left_out += [f"Left out: {', '.join(phrases[:40])}."] if phrases else []
        left_out += [f"Left out as too large to keep: {', '.join(large[:40])}."] if large else []
        left_out += [f"Left out: {phrase}." for phrase in self.left_out[:MAX_WARNINGS]]
        return {
            "came": came,
            "beside": [_beside(list(beside))] if beside else [],
            "left_out": left_out,
        }

    def body(self) -> dict[str, Any]:
        """The report as the API shows it."""
        more = [f"There are {self.unsaid:,} more warnings."] if self.unsaid else []
        counted = {name: dict(getattr(self, name)) for name in ("kept", "unknown", "dropped")}
        return {
            "format": self.format,
            "nodes": self.nodes,
            "trees": self.trees,
            "says": self.says(),
            **counted,
            "warnings": [*self.warnings, *more],
        }


def _beside(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        shown = f"{len(names):,} fields, such as {shown}"
    where = "kept beside the texts, and part of an export as Heddle JSON"
    return f"What has no place here is {where}: {shown}."


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a key, a password, or whose they are."""
    return _SECRET_NAME.search(name.rpartition(".")[2]) is not None


def unreadable(sentence: str, hint: str = HINT) -> CommandError:
    """The error for a file that cannot be imported."""
    return CommandError("INVALID_SYNTAX", sentence, hint=hint)


def too_long(what: str, hint: str = "split it in the other program") -> CommandError:
    """The error for a text that is too long for a node."""
    return CommandError(
        "LIMIT_EXCEEDED",
        f"{what} is larger than {MAX_TEXT_BYTES:,} bytes, the maximum for a node.",
        hint=hint,
        is_size=True,
    )


def is_too_long(text: str) -> bool:
    """Whether no node can have the text."""
    return len(text) > MAX_TEXT_BYTES // 4 and len(text.encode()) > MAX_TEXT_BYTES


def node_text(text: Any, node: int | str) -> str:
    """The text of a file's node, if a node can have it. Empty ones are kept."""
    named = f"{node:,}" if isinstance(node, int) else node[:60]
    if not isinstance(text, str):
        raise unreadable(f"The text of node {named} is not a string.")
    if is_too_long(text):
        raise too_long(f"The text of node {named}")
    return text


# Records on disk: written in any order, read in reading order.


BATCH = 500


class RecordFile:
    """Records by number, in a database file that is deleted at the end."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.path = path
        self.count = 0
        self._waiting: list[tuple[int, str]] = []
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute("CREATE TABLE record (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        self._db.execute("CREATE TABLE call (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()
        self.path.unlink(missing_ok=True)

    def put(self, record: NodeRecord | CallRecord) -> None:
        """Stores one record, or one call."""
        if isinstance(record, CallRecord):
            self._db.execute("INSERT INTO call (body) VALUES (?)", [json.dumps(vars(record))])
            return
        self.count += 1
        self._waiting.append((record.number, json.dumps(record.packed())))
        if len(self._waiting) >= BATCH:
            self._write()

    def _write(self) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO record VALUES (?, ?)", self._waiting)
        self._db.execute("COMMIT")
        self._waiting = []

    def calls(self) -> Iterator[CallRecord]:
        """All calls in their order, one at a time: each may be large."""
        for (body,) in self._db.execute("SELECT body FROM call ORDER BY number"):
            yield CallRecord(**json.loads(body))

    def batches(
        self, *, count: int, characters: int, plan: RecordPlan | None = None
    ) -> Iterator[list[NodeRecord]]:
        """All records in reading order, at most `count` at a time, and about `characters`."""
        self._write()
        batch: list[NodeRecord] = []
        size = 0
        for position, body in enumerate(self._bodies(plan)):
            if batch and (len(batch) == count or size + len(body) > characters):
                yield batch
                batch, size = [], 0
            record = NodeRecord(**json.loads(body))
            if plan is not None:
                record.number, record.parent = position, plan.parents[position]
                record.slot = plan.slots.get(position, -1)
            batch.append(record)
            size += len(body)
        if batch:
            yield batch

    def _bodies(self, plan: RecordPlan | None) -> Iterator[str]:
        if plan is None:
            for (body,) in self._db.execute("SELECT body FROM record ORDER BY number"):
                yield body
            return
        for number in plan.order:
            cursor = self._db.execute("SELECT body FROM record WHERE number = ?", [number])
            yield cursor.fetchone()[0]
