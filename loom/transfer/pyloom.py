"""Trees of pyloom: full and simple files, with tags, chapters and models' answers."""

from array import array
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from loom.transfer.files import (
    Event,
    FileObject,
    TooMuch,
    drained,
    kept,
    nodes,
    skip,
    text_of,
    without_secrets,
)
from loom.transfer.node_collector import UNNAMED, walk
from loom.transfer.records import FACTS, Head, NodeRecord, RecordPlan, Report, node_text, unreadable

_HEAVY = frozenset(("prompt", "logprobs", "tokens"))
_ANSWER = 64 * 1024
_PROMPTS = "prompts of answers, which repeat the texts above them"
_TOKENS = "lists of the tokens of answers"


class Answers:
    """The models' answers by their id."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.known: dict[str, dict[str, Any]] = {}

    def read(self, first: Event, events: Iterator[Event]) -> None:
        """Reads the object of all answers, one answer at a time."""
        if first[0] != "start_map":
            skip(first, events)
            return
        for event, uid in events:
            if event == "end_map":
                return
            first = next(events)
            if first[0] == "start_map":
                self.known[uid] = self._answer(events)
            else:
                skip(first, events)

    def _answer(self, events: Iterator[Event]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for event, name in events:
            if event == "end_map":
                return answer
            first = next(events)
            if name == "completions" and first[0] == "start_array":
                answer["ends"] = self._ends(events)
            elif name in _HEAVY:
                self.report.dropped[_PROMPTS if name == "prompt" else _TOKENS] += 1
                skip(first, events)
            else:
                self._keep(answer, name, first, events)
        return answer

    def _keep(
        self, answer: dict[str, Any], name: str, first: Event, events: Iterator[Event]
    ) -> None:
        path = f"model_responses.{name}"
        try:
            value = kept(path, first, events, self.report, most=_ANSWER)
        except TooMuch:
            return
        is_left, value = without_secrets(path, value, self.report)
        if is_left and name != "id":
            answer[name] = value

    def _ends(self, events: Iterator[Event]) -> list[str]:
        """How each completion of an answer ended; their texts are already nodes."""
        ends: list[str] = []
        for event, _ in events:
            if event == "end_array":
                return ends
            if event != "start_map":
                skip((event, None), events)
                continue
            ends.append("")
            for inner, name in events:
                if inner == "end_map":
                    break
                first = next(events)
                if name == "finishReason":
                    ends[-1] = text_of(first[1], 40)
                elif name == "tokens":
                    self.report.dropped[_TOKENS] += 1
                skip(first, events)
        return ends

    def settle(self, record: NodeRecord) -> None:
        """Adds the answer that a record came from to the record."""
        answer = dict(self.known.get(record.answer, {})) if record.answer else {}
        ends = answer.pop("ends", [])
        generation = record.imported.get("generation")
        index = generation.get("index") if isinstance(generation, dict) else None
        if isinstance(index, int) and 0 <= index < len(ends):
            answer["finishReason"] = ends[index]
        if answer:
            record.imported["model_response"] = answer
        if record.author_kind == "model" and not record.author:
            record.author = text_of(answer.get("model"), 80) or UNNAMED
        if not record.at:
            record.at = _instant(answer.get("timestamp"))


def _instant(given: Any) -> str:
    for form in ("%Y-%m-%d-%H.%M.%S", "%Y-%m-%dT%H:%M:%S.%f"):
        try:
            at = datetime.strptime(text_of(given, 40), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return at.isoformat() if at.year >= 1000 else ""
    return ""


# Compound nodes: a file that was saved while a node was hoisted has the nodes above it in
# `masked_head` of the root.


_EXTRA = 1 << 40  # numbers of the nodes inside compound nodes
_NOTE = 1 << 41  # and of the notes


class Compounds:
    """Splits compound nodes: the node `tail_id` of the masked chain replaces the compound node,
    whose children it has. Notes on nodes come after all nodes, as annotations."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._above: dict[int, int] = {}
        self._rank: dict[int, tuple[int, int]] = {}
        self._noted: array[int] = array("q")
        self._extra = _EXTRA

    def unzipped(self, frame: FileObject) -> Iterator[FileObject]:
        """The node, or the nodes that it was made from."""
        self._above[frame.number] = frame.parent
        if not isinstance(frame.fields.get("masked_head"), dict):
            yield frame
            return
        self.report.kept["compound nodes, put apart"] += 1
        yield from self._apart(frame)

    def _apart(self, frame: FileObject) -> Iterator[FileObject]:
        head, tail = frame.fields["masked_head"], frame.fields.get("tail_id")
        waiting = [(head, frame.parent)]
        has_tail: bool | None = any(child.get("id") == tail for child in _chain(head))
        piece: FileObject | None = None
        while waiting:
            fields, parent = waiting.pop()
            children = [child for child in _list(fields.get("children")) if isinstance(child, dict)]
            is_tail = fields.get("id") == tail if has_tail else not children
            if is_tail and has_tail is not None:
                number, has_tail = frame.number, None
            else:
                number, self._extra = self._extra, self._extra + 1
            self._above[number] = parent
            self._rank[number] = (-1, len(self._rank)) if piece else (frame.number, 0)
            own = {name: value for name, value in fields.items() if name != "children"}
            piece = FileObject(number, parent, own)
            if isinstance(own.get("masked_head"), dict):
                yield from self._apart(piece)
            else:
                yield piece
            waiting.extend((child, number) for child in reversed(children))

    def note(self, number: int, text: str) -> NodeRecord:
        """A note on a node."""
        self._noted.append(number)
        self.report.kept["notes, as annotations"] += 1
        place = _NOTE + len(self._noted) - 1
        return NodeRecord(number=place, text=text, kind="annotation", form="note")

    def plan(self) -> RecordPlan | None:
        """The order of all nodes and notes; None if the file has no compound nodes and no
        notes."""
        if not self._rank and not self._noted:
            return None
        below: dict[int, list[int]] = {}
        for number in sorted(self._above, key=lambda key: self._rank.get(key, (key, 0))):
            below.setdefault(self._above[number], []).append(number)
        order: array[int] = array("q")
        walk(below, below.get(-1, []), order)
        place = {number: at for at, number in enumerate(order)}
        parents = array("q", (place.get(self._above[number], -1) for number in order))
        roots = parents.count(-1)
        for at, number in enumerate(self._noted):
            order.append(_NOTE + at)
            parents.append(place[number])
        return RecordPlan(order, parents, {}, roots=roots)


def _chain(head: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = [head]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for child in _list(node.get("children")) if isinstance(child, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Trees of pyloom: full files (`{"root": …}` with tags, chapters and models' answers), and the
# simple export, which is a single node. Templates are text here: never evaluated.


Put = Callable[[NodeRecord], None]
WHOLE = 1024 * 1024  # characters that one field of the whole tree can have
PLACE = frozenset(("text", "children", "parent_id"))  # fields that are stored in the node itself
KNOWN = frozenset(
    """id meta generation chapter_id text_attributes multimedia frame history memories summaries
    archived source open visited mutable expanded""".split()
)
KNOWN_WHOLE = frozenset(
    """chapters canonical memories summaries generation_settings inline_generation_settings
    visualization_settings preferences workspace module_settings tags selected_node_id frame
    model_config memory title name""".split()
)


def read_simple(events: Iterator[Event], put: Put, report: Report) -> Head:
    """Reads `{"text", "children"}` to its end; children are written before parents."""
    report.format = "pyloom-simple"
    next(events)
    compounds = Compounds(report)
    for frame in nodes(events, report):
        _put(frame, compounds, put)
    drained(events)
    return Head(plan=compounds.plan())


def is_list(sketch: Any) -> bool:
    """A bare list of nodes that contain each other."""
    first = sketch[0] if isinstance(sketch, list) and sketch else None
    return isinstance(first, dict) and "children" in first


def read_list(events: Iterator[Event], put: Put, report: Report) -> Head:
    """Reads a list of nodes to its end: the children of a root without text."""
    next(events)
    compounds = Compounds(report)
    top = FileObject(0, -1, {"text": ""}, in_children=True)
    for frame in nodes(events, report, top):
        _put(frame, compounds, put)
    drained(events)
    return Head(plan=compounds.plan())


def read_full(events: Iterator[Event], put: Put, report: Report) -> Head:
    """Reads a full file to its end; children are written before parents."""
    report.format = "pyloom"
    next(events)
    whole: dict[str, Any] = {}
    answers = Answers(report)
    compounds = Compounds(report)
    roots = 0
    for event, name in events:
        if event != "map_key":
            continue
        first = next(events)
        if name == "root":
            roots += 1
            if first[0] != "start_map" or roots > 1:
                raise unreadable("The root of the file is not a single object.")
            for frame in nodes(events, report):
                _put(frame, compounds, put)
        elif name == "model_responses":
            answers.read(first, events)
        else:
            _whole(name, first, events, whole, report)
    head = _head(whole, answers, report)
    head.plan = compounds.plan()
    return head


def _whole(
    name: str, first: Event, events: Iterator[Event], whole: dict[str, Any], report: Report
) -> None:
    try:
        value = kept(f"file.{name}", first, events, report, most=WHOLE)
    except TooMuch:
        return
    is_left, value = without_secrets(f"file.{name}", value, report)
    if is_left:
        whole[name] = value
        (report.kept if name in KNOWN_WHOLE else report.unknown)[f"file.{name}"] += 1


def _put(frame: FileObject, compounds: Compounds, put: Put) -> None:
    for piece in compounds.unzipped(frame):
        notes = _notes(piece.fields)
        put(_record(piece, compounds.report))
        for text in notes:
            put(compounds.note(piece.number, node_text(text, piece.number)))


def _notes(fields: dict[str, Any]) -> list[str]:
    """The texts of the notes on a node, which are taken out of its fields. Notes of another form
    stay there."""
    given = fields.get("notes")
    listed = given if isinstance(given, list) else [given]
    texts = [note.get("text") if isinstance(note, dict) else note for note in listed]
    if not all(isinstance(note, str) for note in texts):
        return []
    if not any(isinstance(note, dict) and len(note) > 1 for note in listed):
        fields.pop("notes")
    return [note for note in texts if isinstance(note, str) and note.strip()]


def _record(frame: FileObject, report: Report) -> NodeRecord:
    fields, number = frame.fields, frame.number
    if "text" not in fields:
        report.warn(f"Node {number:,} has no text and is kept as an empty one.")
    meta, generation = _object(fields.get("meta")), _object(fields.get("generation"))
    older = _object(meta.get("generation"))
    tags = _tags(fields, number, report)
    record = NodeRecord(
        number=number,
        parent=frame.parent,
        text=node_text(fields.get("text", ""), number),
        at=_instant_of(meta.get("creation_timestamp"), number, report),
        source=text_of(fields.get("id"), 200),
        answer=text_of(generation.get("id"), 200) or text_of(older.get("id"), 200),
        chapter=text_of(fields.get("chapter_id"), 200),
        bookmark="" if fields.get("bookmark") is True or "bookmark" in tags else None,
        tags=[tag for tag in tags if tag != "bookmark"],
        imported=_beside(fields, report),
    )
    # A model's text that a person changed ("mixed") belongs to the person.
    origin = meta.get("source", "AI" if generation or older else "prompt")
    if origin == "AI":
        record.author_kind = "model"
        record.author = text_of(generation.get("model"), 80) or text_of(older.get("model"), 80)
    return record


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tags(fields: dict[str, Any], number: int, report: Report) -> list[str]:
    given = fields.get("tags") or []
    if not isinstance(given, list) or not all(isinstance(tag, str) for tag in given):
        report.warn(
            f"The tags of node {number:,} are not a list of names and are kept as extra data."
        )
        return []
    fields.pop("tags", None)
    return list(dict.fromkeys(tag[:200] for tag in given if tag.strip()))


def _beside(fields: dict[str, Any], report: Report) -> dict[str, Any]:
    """The fields that have no column here, unchanged, without keys."""
    rest = {}
    for name, value in fields.items():
        if name in PLACE or (name == "bookmark" and isinstance(value, bool)):
            continue
        is_left, value = without_secrets(name, value, report)  # noqa: PLW2901 (the same, cleaned)
        if is_left:
            rest[name] = value
            counted = f"field.{name}" if name in FACTS else name
            (report.kept if name in KNOWN else report.unknown)[counted] += 1
    return rest


def _instant_of(given: Any, number: int, report: Report) -> str:
    """A time from pyloom, which names no zone: taken as UTC."""
    if not given:
        return ""
    try:
        at = datetime.strptime(str(given), "%Y-%m-%d-%H.%M.%S").replace(tzinfo=UTC)
    except ValueError:
        report.warn(f"The time of node {number:,}, {str(given)[:40]!r}, cannot be read.")
        return ""
    return at.isoformat() if at.year >= 1000 else ""


def _head(whole: dict[str, Any], answers: Answers, report: Report) -> Head:
    """What the file says about the whole tree; it completes each record later."""
    chapters = {
        uid: text_of(chapter.get("title"), 200) or "chapter"
        for uid, chapter in _object(whole.get("chapters")).items()
        if isinstance(chapter, dict)
    }
    canonical = whole.get("canonical")
    canon = (
        {uid for uid in canonical if isinstance(uid, str)} if isinstance(canonical, list) else ()
    )

    def settle(record: NodeRecord) -> None:
        answers.settle(record)
        if record.chapter in chapters:
            record.bookmark = record.bookmark or chapters[record.chapter]
            report.kept["chapters of nodes"] += 1
        if record.source and record.source in canon and "canonical" not in record.tags:
            record.tags.append("canonical")
        if record.author == UNNAMED:
            report.kept["texts of models without a name"] += 1

    title = text_of(whole.get("title"), 300) or text_of(whole.get("name"), 300)
    current = text_of(whole.get("selected_node_id"), 200)
    return Head(title=title, imported=whole, settle=settle, current=current)
