"""Reading Heddle's own JSON: the same tree, with its proofs and calls."""

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from pydantic import BaseModel, ValidationError

from loom.access import Actor
from loom.errors import CommandError
from loom.language.ids import looks_like_id
from loom.links import link_types
from loom.text.hashes import instant
from loom.transfer.files import Event, TooMuch, skip, value_of
from loom.transfer.records import (
    MAX_TEXT_BYTES,
    CallRecord,
    DocumentRecord,
    Head,
    LinkRecord,
    MarkRecord,
    NodeRecord,
    Report,
    too_long,
    unreadable,
)
from loom.transfer.tree_builder import Progress, TreeBuilder
from loom.transfer.writers.heddle import (
    VERSION,
    CallPart,
    LinkPart,
    MarkPart,
    NodePart,
    ParticipantPart,
    TreePart,
)
from loom.trees import feature_parts
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText
from loom.turns.models import Call

MAX_BODY = 64 * 1024 * 1024  # of a response that was compressed; no provider's response is larger
GZIP = 31  # zlib's number for a gzip header
_PIECE = 1 << 20


def is_sound(part: CallPart) -> bool:
    """Whether the response's bytes have its SHA-256. INVALID_SYNTAX if they are not a gzip, or
    become too large."""
    digest, size = hashlib.sha256(), 0
    try:
        packed = base64.b64decode(part.response, validate=True)
        unpacking = zlib.decompressobj(GZIP)
        while packed and not unpacking.eof:
            piece = unpacking.decompress(packed, _PIECE)
            packed = unpacking.unconsumed_tail
            size += len(piece)
            digest.update(piece)
            if size > MAX_BODY:
                raise unreadable(f"The answer of the call {part.id} is too large.")
        if part.response and (not unpacking.eof or unpacking.unused_data):
            raise ValueError
    except (binascii.Error, zlib.error, ValueError):
        raise unreadable(f"The answer of the call {part.id} cannot be unpacked.") from None
    return digest.hexdigest() == part.sha256


def add_calls(builder: TreeBuilder, given: Iterator[CallRecord], progress: Progress) -> None:
    """Writes the calls, each in its own transaction: one may be large."""
    for part in given:
        builder.authors.meet([(part.by, part.kind)])
        with transaction.atomic():
            progress()
            call = Call.objects.create(
                tree=builder.tree,
                participant=builder.authors.of(part.by, part.kind),
                origin=part.id,
                purpose=part.purpose,
                provider=part.provider,
                configuration=part.configuration,
                request=part.request,
                response=base64.b64decode(part.response),
                bytes=part.bytes,
                status=part.status,
                headers=part.headers,
                sha256=part.sha256,
                usage=part.usage,
                note=part.note,
                strategy=part.strategy,
                first_at=_at(part.first_at),
                sealed_at=_at(part.sealed_at),
            )
            # The time of creation is set automatically, and here it is another.
            Call.objects.filter(pk=call.pk).update(started_at=_at(part.started_at))
        builder.report.kept["calls"] += 1


def _at(given: str) -> datetime | None:
    return datetime.fromisoformat(given) if given else None


# The tree.


Put = Callable[[NodeRecord | CallRecord], None]
P = TypeVar("P", bound=BaseModel)
MOST = 2 * MAX_TEXT_BYTES  # characters of one part: a node's text, its content, and the rest
BLOCKS = ("text", "image")  # the kinds of content
FLAT = "the first version of a slot comes before what builds on it"


def read(events: Iterator[Event], put: Put, report: Report) -> Head:
    """Reads a file in Heddle's own format to its end; records come in the order of the file."""
    reader = _Reader(put, report)
    next(events)
    for event, name in events:
        if event == "map_key":
            reader.take(name, next(events), events)
    return reader.head()


class _Reader:
    def __init__(self, put: Put, report: Report) -> None:
        self.put, self.report = put, report
        report.format = "heddle"
        self.tree: TreePart | None = None
        self.kinds: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.above: list[int] = []  # by number: the number of the slot above
        self.first: list[int] = []  # by number: the number of the slot's first version
        self.calls: set[str] = set()
        self.marks: list[MarkPart] = []
        self.links: list[LinkPart] = []
        self.parts: dict[str, Any] = {}

    def take(self, name: str, first: Event, events: Iterator[Event]) -> None:
        """Reads one key of the outermost object."""
        if name == "heddle":
            if first[1] != VERSION:
                raise unreadable(
                    f"This file has version {str(first[1])[:20]} of the format.",
                    f"this Heddle reads version {VERSION}",
                )
        elif name == "tree":
            self.tree = _part(TreePart, _value(first, events, "The tree"), "The tree")
        elif name == "participants":
            for record in _list(name, first, events):
                part = _part(ParticipantPart, record, "A participant")
                self.kinds[part.name] = part.kind
        elif name == "nodes":
            for record in _list(name, first, events):
                self._node(record)
        elif name == "marks":
            self.marks += [
                _part(MarkPart, record, "A mark") for record in _list(name, first, events)
            ]
        elif name == "links":
            self.links += [
                _part(LinkPart, record, "A link") for record in _list(name, first, events)
            ]
        elif name == "calls":
            for record in _list(name, first, events):
                self.put(self._call(_part(CallPart, record, "A call")))
        elif not self._feature(name, first, events):
            self.report.unknown[name] += 1
            self.report.warn(f"{name[:80]} is not part of the format and was left out.")
            skip(first, events)

    def _feature(self, name: str, first: Event, events: Iterator[Event]) -> bool:
        is_known = name in feature_parts.names()
        if is_known:
            self.parts[name] = _value(first, events, name)
        return is_known

    def head(self) -> Head:
        """What the file says about the whole tree."""
        if self.tree is None:
            raise unreadable("The file has no tree.", "it may have been cut off")
        given = {name: getattr(self.tree, name) for name in TreePart.model_fields}
        return Head(
            **{**given, "imported": self.tree.imported or {}},
            is_own=True,
            kinds=self.kinds,
            marks=[self._mark(mark) for mark in self.marks],
            links=[_link(link) for link in self.links],
            parts=self.parts,
            settle=self._settle,
        )

    def _settle(self, record: NodeRecord) -> None:
        record.author_kind = self.kinds.get(record.author, "human")

    def _node(self, given: Any) -> None:
        number = len(self.first)
        part = _part(NodePart, given, f"Node {number:,}")
        if not looks_like_id(part.id) or part.id != part.id.lower() or part.id in self.numbers:
            raise unreadable(f"The id {part.id[:20]!r} occurs twice or is not valid.")
        slot = self._slot(part, number)
        parent = self._parent(part, number)
        if slot != number and (self.above[slot] != parent or parent < 0):
            raise unreadable(f"The versions of [{part.slot}] have different parents.")
        self.numbers[part.id] = number
        self.first.append(slot)
        self.above.append(parent)
        self.put(self._record(part, number, parent=parent, slot=slot))

    def _slot(self, part: NodePart, number: int) -> int:
        if part.slot is None or part.slot == part.id:
            return number
        return self._first(part.slot, f"The slot of [{part.id}]")

    def _parent(self, part: NodePart, number: int) -> int:
        if number == 0:
            if part.parent is not None or part.kind != "text" or part.text or part.content:
                raise unreadable("The first node is not the empty root.", FLAT)
            return -1
        return self._first(part.parent or "", f"The node above [{part.id}]")

    def _first(self, name: str, what: str) -> int:
        number = self.numbers.get(name)
        if number is None or self.first[number] != number:
            raise unreadable(f"{what} is missing.", FLAT)
        return number

    def _record(self, part: NodePart, number: int, *, parent: int, slot: int) -> NodeRecord:
        edited = self.numbers.get(part.edited_from or "", -1)
        if part.edited_from is not None and edited < 0:
            raise unreadable(f"The version that [{part.id}] was edited from is missing.", FLAT)
        what, proof = f"[{part.id}]", part.proof
        extra = part.model_extra or {}
        self.report.unknown.update(list(extra))
        return NodeRecord(
            number=number,
            parent=parent,
            text=_text(part),
            blocks=part.content,
            author=part.author,
            at=_instant(part.created_at, what),
            imported={**(part.imported or {}), **extra},
            local_id=part.id,
            kind=part.kind,
            form=part.form,
            slot=slot if slot != number else -1,
            edited_from=edited,
            finish=part.finish,
            call=(proof and proof.call) or "",
            generation=part.generation or "",
            configuration=(proof and proof.configuration) or "",
            summary=part.summary,
            resolved_at=_instant(part.resolved_at or "", what),
            flags=_flags(part, slot == number) if number else [],
            sources=[[source.item, source.role, source.version_seen] for source in part.sources],
            hash=part.hash or "",
            parent_hash=(proof and proof.parent) or "",
            proof_author=(proof and proof.author) or "",
        )

    def _call(self, part: CallPart) -> CallRecord:
        if part.id in self.calls:
            raise unreadable(f"The call {part.id} occurs twice.")
        self.calls.add(part.id)
        if not is_sound(part):
            self.report.warn(f"The answer of the call {part.id} does not fit; verifying says so.")
        what = f"the call {part.id}"
        fields = part.model_dump(include=set(CallPart.model_fields))
        return CallRecord(
            **{
                **fields,
                "started_at": _instant(part.started_at, what),
                "first_at": _instant(part.first_at or "", what),
                "sealed_at": _instant(part.sealed_at, what),
            },
            kind=self.kinds.get(part.by, "model"),
        )

    def _mark(self, part: MarkPart) -> MarkRecord:
        number = -1 if part.item == "tree" else self.numbers.get(part.item)
        if number is None:
            raise unreadable(f"A mark is on {part.item!r}, which is missing.", FLAT)
        at = _instant(part.at, "a mark")
        return MarkRecord(part.kind, part.label, number, by=part.by, at=at)


def _flags(part: NodePart, is_first: bool) -> list[str]:
    """The flags of a slot belong to its first version; a later one has only its own."""
    return [flag for flag in dict.fromkeys(part.flags) if is_first or flag == "version_pruned"]


def _text(part: NodePart) -> str:
    for block in part.content or ():
        if block.get("type") not in BLOCKS:
            kind = str(block.get("type"))[:40]
            raise unreadable(
                f"The content of [{part.id}] has a block of the unknown kind {kind!r}.",
                f"a block is {' or '.join(BLOCKS)}",
            )
    if part.content is None:
        text = part.text
    else:
        blocks = [block.get("text", "") for block in part.content if block.get("type") == "text"]
        if not all(isinstance(block, str) for block in blocks):
            raise unreadable(f"A text in the content of [{part.id}] is not a string.")
        text = "".join(blocks)
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise too_long(f"The text of [{part.id}]")
    return text


def _link(part: LinkPart) -> LinkRecord:
    if not link_types.NAME.match(part.type) or len(part.type) > link_types.MAX_NAME:
        raise unreadable(f"{part.type[:60]!r} can't be a link type.")
    fields = part.model_dump(include=set(LinkPart.model_fields))
    return LinkRecord(**{**fields, "at": _instant(part.at, "a link")})


def _part(shape: type[P], given: Any, what: str) -> P:
    try:
        return shape.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in problem["loc"]) or "all of it"
        raise unreadable(f"{what} cannot be read: {where}: {problem['msg']}.") from None


def _value(first: Event, events: Iterator[Event], what: str) -> Any:
    try:
        return value_of(first, events, most=MOST)
    except TooMuch:
        raise unreadable(f"{what} is too large or nested too deeply.") from None


def _list(name: str, first: Event, events: Iterator[Event]) -> Iterator[Any]:
    if first[0] != "start_array":
        raise unreadable(f"{name} is not a list.")
    for event in events:
        if event[0] == "end_array":
            return
        yield _value(event, events, f"A part of {name}")


def _instant(given: str, what: str) -> str:
    """A time as it is stored; "" if there is none."""
    if not given:
        return ""
    try:
        at = datetime.fromisoformat(given)
        if at.tzinfo is None or not 1000 <= at.year < 9999:
            raise ValueError
        return instant(at)
    except (ValueError, OverflowError):
        raise unreadable(f"The time {given[:40]!r} of {what} cannot be read.") from None


# Documents of a ZIP: made before the nodes and links that name them, unless they already exist.


def add_documents(builder: TreeBuilder, files: dict[str, Path], actor: Actor) -> None:
    """Makes the documents of a ZIP in the grove, so that sources and links find them. An existing
    one with the same title and text is used; if only the title is taken, the new one gets another
    title."""
    listed = _listed_papers(files)
    for name, entry in listed.items():
        try:
            document = _document(actor, entry, files[name].read_text("utf-8"), builder.report)
        except (CommandError, UnicodeDecodeError, OSError) as why:
            reason = why.message if isinstance(why, CommandError) else "It is not UTF-8."
            builder.report.warn(f"{name[:80]} was left out. {reason}")
        else:
            builder.addressing.know(f"doc:{entry['id']}", document)


def add_document_records(
    builder: TreeBuilder, documents: list[DocumentRecord], actor: Actor
) -> list[LinkRecord]:
    """Makes the documents that came with a tree in the grove; the links of the tree to them."""
    links = []
    for entry in documents:
        try:
            document = _document(
                actor, {"title": entry.title, "kind": ""}, entry.text, builder.report
            )
        except CommandError as why:
            builder.report.warn(f"{entry.title[:80]!r} was left out. {why.message}")
        else:
            links.append(LinkRecord("related", "tree", f"doc:{document.uid}"))
    return links


def _listed_papers(files: dict[str, Path]) -> dict[str, dict[str, str]]:
    """The entry of each file in `documents.json`; a file without one is named after itself."""
    documents: dict[str, dict[str, str]] = {}
    try:
        listed = json.loads(files["documents.json"].read_bytes())
    except (KeyError, ValueError, RecursionError, OSError):
        listed = []
    for entry in listed if isinstance(listed, list) else ():
        fields = entry if isinstance(entry, dict) else {}
        if isinstance(fields.get("file"), str) and fields["file"] in files:
            documents[fields["file"]] = {
                key: str(fields.get(key) or "")[:200] for key in ("id", "title", "kind")
            }
    documents.pop("documents.json", None)
    for name in files.keys() - documents.keys() - {"documents.json"}:
        stem = name.rpartition("/")[2].removesuffix(".md")
        documents[name] = {"id": "", "title": stem, "kind": ""}
    return dict(sorted(documents.items()))


def _document(actor: Actor, entry: dict[str, str], text: str, report: Report) -> GroveText:
    """The document, which is new or already existed."""
    title = " ".join(entry["title"].split())[:180] or "Untitled document"
    for number in range(1, 100):
        wanted = title if number == 1 else f"{title} ({number})"
        taken = grove_texts().titled(actor.grove, wanted)
        if taken is None:
            made_document = grove_texts().make(actor, title=wanted, kind=entry["kind"], text=text)
            if made_document is None:
                raise CommandError("UNAVAILABLE", "There are no documents here.", hint="")
            report.kept["documents"] += 1
            return made_document
        if grove_texts().part_of(taken).text == text:
            report.kept["documents that were here"] += 1
            return taken
    reason = f"There are too many documents called {title!r}."
    raise CommandError("CONFLICT", reason, hint="rename some of them")
