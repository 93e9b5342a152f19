"""Chats that are linear, joined where their beginnings are the same: SillyTavern and OpenAI's JSON
Lines; and mikupad's sessions, which are one path."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import PurePath
from typing import Any

from loom.errors import CommandError
from loom.text.lore import FENCE, LONGEST_KEY
from loom.transfer.files import (
    MAX_PART,
    TooMuch,
    drained,
    parsed,
    text_of,
    value_of,
    without_secrets,
)
from loom.transfer.inputs import Input, Put, TreeInFile
from loom.transfer.message_images import named_in, without_data
from loom.transfer.node_collector import (
    UNNAMED,
    Trie,
    as_text,
    list_of,
    mapping_of,
    model_of,
    name_of,
    objects_of,
    rest_of,
    time_of,
)
from loom.transfer.records import DocumentRecord, Head, NodeRecord, Report, unreadable

MOST_LORE = 100_000  # characters of an entry
MOST_PAPERS = 500
MOST_SETTINGS = 100  # lines of a file of OpenAI whose tools and settings are kept

# SillyTavern: a header, then a message on each line. A branch is a copy of the beginning in a file
# of its own, so several files of one family become one tree.


def is_sillytavern(sketch: Any) -> bool:
    """A header with the names of a chat, or messages with `mes`."""
    whole = mapping_of(sketch)
    header = "chat_metadata" in whole or {"user_name", "character_name"} <= whole.keys()
    return header or {"mes", "is_user"} <= whole.keys()


def each_sillytavern(file: Input) -> Iterator[TreeInFile]:
    """One file alone."""
    yield from sillytavern_families([file])


def sillytavern_families(files: list[Input]) -> Iterator[TreeInFile]:
    """A part for each family: files with the same `integrity`, or of which one names the other as
    its `main_chat`."""
    headers = [_header(file) for file in files]
    owners: dict[str, int] = {}
    group = list(range(len(files)))

    def join(name: str, at: int) -> None:
        first, second = _root(group, owners.setdefault(name, at)), _root(group, at)
        group[max(first, second)] = min(first, second)

    for at, (file, header) in enumerate(zip(files, headers, strict=True)):
        meta = mapping_of(header.get("chat_metadata"))
        character = text_of(header.get("character_name"), 200)
        join(f"file {character}/{PurePath(file.name).stem}", at)
        if integrity := name_of(meta.get("integrity")):
            join(f"integrity {integrity}", at)
        if main := name_of(meta.get("main_chat")):
            join(f"file {character}/{main.removesuffix('.jsonl')}", at)
    for first in sorted({_root(group, at) for at in range(len(files))}):
        members = [number for number in range(len(files)) if _root(group, number) == first]
        header = headers[first]
        title = PurePath(files[first].name).stem
        shown = text_of(header.get("character_name"), 200)
        family = [files[number] for number in members]
        yield TreeInFile(
            f"{shown}: {title}" if shown and shown not in ("unused",) else title,
            time_of(header.get("create_date")),
            0,
            partial(_read_sillytavern, family),
        )


def _root(group: list[int], at: int) -> int:
    while group[at] != at:
        at = group[at]
    return at


def _header(file: Input) -> dict[str, Any]:
    for value in file.values():
        header = mapping_of(value)
        return {} if "mes" in header else header
    return {}


def _read_sillytavern(family: list[Input], put: Put, report: Report) -> Head:
    tree = _SillyTavern(put, report)
    for file in family:
        tree.take(file)
    header = tree.headers[0] if tree.headers else {}
    title = text_of(header.get("character_name"), 300)
    if len(family) > 1:
        report.kept["files joined into one tree"] += len(family)
    kept = [_rest_of_header(header, report) for header in tree.headers]
    imported = {"files": [rest for rest in kept if rest]}
    head = Head(
        mode="dialogue",
        title="" if title == "unused" else title,
        imported=imported if imported["files"] else {},
        is_rooted=tree.roots == 1,
        current=tree.last,
    )
    meta = mapping_of(header.get("chat_metadata"))
    _put_note(head, text_of(meta.get("note_prompt"), 100_000), meta.get("note_depth"))
    return head


def _rest_of_header(header: dict[str, Any], report: Report) -> dict[str, Any]:
    """What a header has beside the title; newer programs write `unused` for names."""
    used = ["character_name", *(["user_name"] if header.get("user_name") == "unused" else [])]
    return rest_of(header, used, ("chat_metadata", "user_name", "create_date"), report)


class _SillyTavern:
    def __init__(self, put: Put, report: Report) -> None:
        self._put, self._report = put, report
        self._trie = Trie()
        self.headers: list[dict[str, Any]] = []
        self.roots = 0
        self.last = -1  # the message at the end of the first file

    def take(self, file: Input) -> None:
        """Adds the messages of a file below what they share with the others."""
        above = -1
        for number, value in enumerate(file.values(), 1):
            if not isinstance(value, dict):
                raise unreadable(f"Line {number:,} of {file.name[:60]} is no message.")
            if "mes" in value:
                above = self._message(value, above, number)
            elif number == 1:
                self.headers.append(value)
            else:
                raise unreadable(f"Line {number:,} of {file.name[:60]} is no message.")
        self.last = above if self.last < 0 else self.last

    def _message(self, message: dict[str, Any], above: int, number: int) -> int:
        """Adds a message with its swipes; returns the number of the one that was chosen."""
        text = as_text(message.get("mes"), f"on line {number}")
        chosen = message.get("swipe_id")
        swipes = list_of(message.get("swipes"))
        details = [mapping_of(info) for info in list_of(message.get("swipe_info"))]
        place = -1
        for at, swipe in enumerate(swipes):
            info = details[at] if at < len(details) else {}
            if at == chosen:
                if isinstance(swipe, str) and swipe != text:
                    message = {**message, "edited_from": swipe}
                place = self._node(message, text, above, info)
            elif isinstance(swipe, str) and swipe != text:
                names = ("name", "is_user")
                other: dict[str, Any] = {
                    field: message[field] for field in names if field in message
                }
                self._node(other, as_text(swipe, f"on line {number}"), above, info)
                self._report.kept["swipes"] += 1
        return place if place >= 0 else self._node(message, text, above, {})

    def _node(self, message: dict[str, Any], text: str, above: int, info: dict[str, Any]) -> int:
        is_user, name = message.get("is_user") is True, text_of(message.get("name"), 80)
        number, is_new = self._trie.take(above, str(is_user), name, text)
        if is_new:
            self.roots += above < 0
            self._put(self._record(number, message, text, above, info))
        return number

    def _record(
        self, number: int, message: dict[str, Any], text: str, above: int, info: dict[str, Any]
    ) -> NodeRecord:
        is_user = message.get("is_user") is True
        extra = mapping_of(message.get("extra")) or mapping_of(info.get("extra"))
        used = ("mes", "is_user", "send_date", "swipes", "swipe_id", "swipe_info", "is_system")
        used = (*used, *(() if is_user else ("name",)))
        message = {**_of_swipe(info, message), **message, "extra": extra}
        link = extra.get("bookmark_link")
        record = NodeRecord(
            number=number,
            parent=above,
            text=text,
            author="" if is_user else text_of(message.get("name"), 80) or UNNAMED,
            author_kind="human" if is_user else "model",
            at=time_of(info.get("send_date")) or time_of(message.get("send_date")),
            bookmark=text_of(link, 200) if link else None,
            flags=["excluded"] if message.get("is_system") is True else [],
            imported=rest_of(message, used, _SILLYTAVERN, self._report),
        )
        swipe = {"swipe_info": _beside_message(info, message)}
        record.imported |= rest_of(swipe, (), ("swipe_info",), self._report)
        record.images = named_in(extra)
        record.imported = mapping_of(without_data(record.imported))
        return record


def _of_swipe(info: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """What only the information on a swipe has."""
    return {name: what for name, what in info.items() if name not in (*message, "send_date")}


def _beside_message(info: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """What the information on a swipe says otherwise than its message, as of a text that was
    edited. Its time is that of the text."""
    other = {name: what for name, what in info.items() if what and what != message.get(name)}
    other.pop("send_date", None)
    if isinstance(other.get("extra"), dict):
        extra = mapping_of(message.get("extra"))
        more = {name: what for name, what in other["extra"].items() if what != extra.get(name)}
        other["extra"] = more
    return {name: what for name, what in other.items() if what}


_SILLYTAVERN = frozenset(
    """name extra force_avatar original_avatar title gen_started gen_finished edited_from variables
    is_name gen_id api model""".split()
)


# JSON Lines of OpenAI: a chat or a pair of preferences on each line.


def is_openai(sketch: Any) -> bool:
    """`messages` with roles and contents, or a pair of a chosen and a rejected text."""
    whole = mapping_of(sketch)
    messages = objects_of(whole.get("messages"))
    return (
        any("role" in message for message in messages)
        or {"preferred_output", "non_preferred_output"} <= whole.keys()
        or {"chosen", "rejected"} <= whole.keys()
    )


def read_openai(file: Input, put: Put, report: Report) -> Head:
    """All chats of a file as one tree: what begins alike is joined."""
    tree = _OpenAI(put, report)
    for number, value in enumerate(file.values(), 1):
        tree.take(number, value)
    return tree.head()


class _OpenAI:
    def __init__(self, put: Put, report: Report) -> None:
        self._put, self._report = put, report
        self._trie = Trie()
        self._tools: dict[str, Any] = {}
        self._roots: list[tuple[str, str]] = []

    def take(self, number: int, value: Any) -> None:
        """Adds the chat on a line."""
        if not isinstance(value, dict):
            raise unreadable(f"Line {number:,} is no chat.")
        given = mapping_of(value.get("input")).get("messages") or value.get("messages")
        given = value.get("prompt") if given is None else given
        pairs = {"preferred": value.get("preferred_output", value.get("chosen"))}
        pairs["rejected"] = value.get("non_preferred_output", value.get("rejected"))
        above = self._path(number, _messages(given, "user"), -1, ())
        for tag, outcome in pairs.items():
            self._path(number, _messages(outcome, "assistant"), above, (tag,))
        if isinstance(given := value.get("input"), dict):
            value = {**value, "input": {name: given[name] for name in given if name != "messages"}}
        used = ("messages", "preferred_output", "non_preferred_output", "prompt")
        is_room = len(self._tools) < MOST_SETTINGS
        report = self._report if is_room else Report()
        rest = rest_of(value, (*used, "chosen", "rejected"), ("tools", "input"), report)
        if rest and is_room:
            self._tools[f"line {number}"] = rest
        elif rest:
            self._report.dropped[f"settings of lines beyond the first {MOST_SETTINGS}"] += 1

    def _path(
        self, number: int, messages: list[dict[str, Any]], above: int, tags: tuple[str, ...]
    ) -> int:
        for message in messages:
            above = self._message(number, message, above, tags)
        return above

    def _message(
        self, number: int, message: dict[str, Any], above: int, tags: tuple[str, ...]
    ) -> int:
        role, name = text_of(message.get("role"), 40), text_of(message.get("name"), 80)
        text, parts = _openai_text(message.get("content"))
        others = rest_of({"content": parts}, (), ("content",), Report())
        rest = rest_of(message, ("role", "content"), _OPENAI, Report())
        key = json.dumps([others, rest, tags], sort_keys=True)
        at, is_new = self._trie.take(above, role, name, text, key)
        if not is_new:
            return at
        if above < 0:
            self._roots.append((role, text))
        record = NodeRecord(
            number=at,
            parent=above,
            text=as_text(text, f"on line {number}"),
            tags=list(tags),
            imported=rest_of(message, ("role", "content"), _OPENAI, self._report),
        )
        if role not in ("user", "human"):
            record.author_kind = "model"
            named = {"assistant": "Assistant", "system": "System", "developer": "System"}
            record.author = name or named.get(role, role.capitalize() or UNNAMED)
        if others:
            record.imported |= rest_of({"content": parts}, (), ("content",), self._report)
            record.images = named_in(parts)
            record.imported = mapping_of(without_data(record.imported))
        self._put(record)
        return at

    def head(self) -> Head:
        """The head; a system message that all chats begin with belongs to the tree."""
        imported = {"lines": self._tools} if self._tools else {}
        head = Head(mode="dialogue", imported=imported, is_rooted=False)
        if len(self._roots) == 1 and self._roots[0][0] in ("system", "developer"):
            head.system_context, head.is_rooted = self._roots[0][1], True

            def settle(record: NodeRecord) -> None:
                if record.number == 0:
                    record.text = ""

            head.settle = settle
        return head


_OPENAI = frozenset(("name", "tool_calls", "tool_call_id", "weight", "refusal", "function_call"))


def _messages(given: Any, role: str) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": role, "content": given}]
    return objects_of(given)


def _openai_text(content: Any) -> tuple[str, list[Any]]:
    if isinstance(content, str):
        return content, []
    texts, others = [], []
    for part in list_of(content):
        inner = part.get("text") if isinstance(part, dict) else part
        if isinstance(inner, str):
            texts.append(inner)
        else:
            others.append(part)
    return "".join(texts), others


# mikupad: one object whose values are JSON texts; the prompt is a list of pieces.


def is_mikupad(sketch: Any) -> bool:
    """A session with `prompt` and settings of mikupad."""
    whole = mapping_of(sketch)
    known = {"endpointAPI", "memoryTokens", "authorNoteTokens", "worldInfo", "contextLength"}
    return "prompt" in whole and bool(known & whole.keys())


def is_mikupad_store(sketch: Any) -> bool:
    """All sessions of a browser."""
    return {"Sessions", "Names"} <= mapping_of(sketch).keys()


def each_mikupad(file: Input) -> Iterator[TreeInFile]:
    """The one session of a file."""
    for value in file.values():
        yield TreeInFile("", "", 0, partial(_read_mikupad, "", mapping_of(value)))


def each_mikupad_session(file: Input) -> Iterator[TreeInFile]:
    """The sessions of a store. What it has beside them, which no tree has a place for, is named in
    the report of the first one that is read."""
    for value in file.values():
        whole = mapping_of(value)
        beside = Counter(
            {
                f"{name[:40]} of the store": len(rows)
                for name, rows in whole.items()
                if name not in ("Sessions", "Names") and isinstance(rows, list | dict) and rows
            }
        )
        names = {
            name_of(row.get("key")): text_of(_inner(row.get("value")), 300)
            for row in objects_of(whole.get("Names"))
        }
        for row in objects_of(whole.get("Sessions")):
            session = _inner(row.get("value"))
            if isinstance(session, dict):
                title = names.get(name_of(row.get("key")), "")
                read = partial(_read_mikupad_session, title, session, beside)
                yield TreeInFile(title, "", 0, read)


def _read_mikupad_session(
    title: str, session: dict[str, Any], beside: Counter[str], put: Put, report: Report
) -> Head:
    """One session of a store; what is `beside` all of them is dropped once."""
    report.dropped.update(beside)
    beside.clear()
    return _read_mikupad(title, session, put, report)


def _inner(value: Any) -> Any:
    """The value of a JSON text; the text itself if it is not JSON."""
    if not isinstance(value, str):
        return value
    try:
        events = parsed(BytesIO(value.encode()))
        inner = value_of(next(events), events, most=MAX_PART, weight=16)
        drained(events)
    except (CommandError, TooMuch, StopIteration):
        return value
    return inner


def _read_mikupad(title: str, session: dict[str, Any], put: Put, report: Report) -> Head:
    whole = {name: _inner(value) for name, value in session.items()}
    runs: list[tuple[bool, list[dict[str, Any]]]] = []
    prompt = whole.get("prompt")
    for piece in (
        [{"type": "user", "content": prompt}] if isinstance(prompt, str) else objects_of(prompt)
    ):
        is_user = piece.get("type") == "user"
        if runs and runs[-1][0] == is_user:
            runs[-1][1].append(piece)
        else:
            runs.append((is_user, [piece]))
    model = model_of(whole.get("endpointModel"))
    for number, (is_user, pieces) in enumerate(runs):
        text = "".join(text_of(part.get("content"), 5_000_000) for part in pieces)
        record = NodeRecord(number=number, parent=number - 1, text=as_text(text, f"{number}"))
        if not is_user:
            record.author, record.author_kind = model, "model"
            record.imported = _tokens(pieces, report)
        put(record)
    documents, is_all = _lore(whole.get("worldInfo"))
    used = ("prompt", "worldInfo") if is_all else ("prompt",)
    head = Head(title=title, imported=rest_of(whole, used, _MIKUPAD, report), documents=documents)
    head.current = len(runs) - 1
    head.memory = _around(whole.get("memoryTokens"))
    _put_note(head, _around(whole.get("authorNoteTokens")), whole.get("authorNoteDepth"))
    return head


def _lore(given: Any) -> tuple[list[DocumentRecord], bool]:
    """The entries of a world as documents with keys, and whether nothing else is in it. An entry
    without keys or text, and what surrounds all of them, cannot be represented."""
    world = mapping_of(given)
    documents: list[DocumentRecord] = []
    entries = list_of(world.get("entries"))
    for entry in objects_of(entries):
        keys = [_key(key) for key in list_of(entry.get("keys")) if isinstance(key, str)]
        text = text_of(entry.get("text"), MOST_LORE).strip("\n")
        named = [key for key in keys if key]
        if named and text.strip() and len(documents) < MOST_PAPERS:
            title = text_of(entry.get("displayName"), 180).strip() or named[0].strip("\"'")
            front = f"{FENCE}\nkeys: {', '.join(named)}\n{FENCE}\n"
            documents.append(DocumentRecord(title, front + text + "\n"))
    around = "".join(text_of(world.get(name), 1000) for name in ("prefix", "suffix"))
    return documents, bool(documents) and len(documents) == len(entries) and not around.strip()


def _key(given: str) -> str:
    """A key as front matter has it; "" if nothing of it is left."""
    key = " ".join(given.split())[:LONGEST_KEY]
    quote = "'" if '"' in key else '"'
    key = key.replace(quote, "")
    return f"{quote}{key}{quote}" if key.strip("\"' ") else ""


def _put_note(head: Head, note: str, depth: Any) -> None:
    """Sets the author's note, and how far before the end it is."""
    head.author_note = note
    if isinstance(depth, int) and not isinstance(depth, bool):
        head.note_depth = min(max(depth, 1), 100)


def _around(given: Any) -> str:
    """A text of mikupad with its prefix and suffix; "" without the text."""
    parts = mapping_of(given)
    if not text_of(parts.get("text"), 1):
        return ""
    return "".join(text_of(parts.get(name), 50_000) for name in ("prefix", "text", "suffix"))


def _tokens(pieces: list[dict[str, Any]], report: Report) -> dict[str, Any]:
    """The tokens of a text with their alternatives, unless they are too large to keep."""
    with_tokens = [
        piece for piece in pieces if "prob" in piece or "completion_probabilities" in piece
    ]
    _, clean = without_secrets("tokens", with_tokens, report)
    if not clean or len(json.dumps(clean)) > 256 * 1024:
        report.dropped["tokens"] += bool(clean)
        return {}
    report.kept["texts with tokens"] += 1
    return {"tokens": clean}


_MIKUPAD = frozenset(
    """memoryTokens authorNoteTokens authorNoteDepth worldInfo logitBias grammar endpoint
    endpointAPI endpointModel seed maxPredictTokens temperature topK topP minP typicalP tfsZ
    repeatPenalty repeatLastN penalizeNl presencePenalty frequencyPenalty mirostat
    mirostatTau mirostatEta contextLength stoppingStrings ignoreEos name theme
    sessionTemplate templates""".split()
)
