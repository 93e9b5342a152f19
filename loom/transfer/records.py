"""What a reader hands on: plain records in reading order, and a report of what had no home."""

from dataclasses import dataclass, field
from typing import Any

from loom.rules.refusals import Refused

MAX_TEXT_BYTES = 4 * 1024 * 1024


@dataclass
class Record:
    """One node of a file. `number` is its place in reading order, `parent` the number above
    (-1: none); `slot` and `edited_from` numbers of earlier records, None where it is its own.

    `model` names the model that wrote it ("" is a person), `author` the person ("": whoever
    imports). `kept` is what our own export says besides: local id, proof, hash, flags.
    """

    number: int
    parent: int
    text: str = ""
    kind: str = "text"
    form: str = ""
    model: str = ""
    author: str = ""
    at: str = ""
    finish: str = "complete"
    slot: int | None = None
    edited_from: int | None = None
    bookmark: str | None = None
    tags: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    imported: dict[str, Any] = field(default_factory=dict)


@dataclass
class Head:
    """What a file says of its tree. `models` are model names by the id of a generation."""

    format: str = ""
    title: str = ""
    mode: str = "buffer"
    description: str = ""
    system_context: str = ""
    model: str = ""
    models: dict[str, str] = field(default_factory=dict)
    chapters: dict[str, str] = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Report:
    """What became of the file: nodes made, fields kept under `imported`, fields that are
    unknown to the format, fields that were dropped, and warnings."""

    format: str = ""
    nodes: int = 0
    kept: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def body(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "format": self.format,
            "nodes": self.nodes,
            "kept": sorted(self.kept),
            "unknown": sorted(self.unknown),
            "dropped": sorted(self.dropped),
            "warnings": self.warnings[:100],
        }


def unreadable(sentence: str, hint: str = "Heddle JSON and pyloom trees are read.") -> Refused:
    """The refusal of a file that is not what it should be."""
    return Refused("INVALID_SYNTAX", sentence, hint=hint)


def clean(text: Any, where: str) -> str:
    """The text, if a node may hold it; else the refusal that names the place."""
    if not isinstance(text, str):
        raise unreadable(f"The text of {where} is no text.")
    if "\0" in text:
        raise unreadable(f"The text of {where} holds U+0000.", "take it out of the file")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise unreadable(
            f"The text of {where} holds half a character.", "save the file as UTF-8"
        ) from None
    if size > MAX_TEXT_BYTES:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"The text of {where} has {size:,} bytes; a node holds {MAX_TEXT_BYTES:,}.",
            hint="split it in the other program",
            status=413,
        )
    return text


def is_secret(name: str) -> bool:
    """Whether a field may hold somebody's key, and so is dropped."""
    low = name.lower()
    return any(word in low for word in ("api_key", "apikey", "secret", "password", "auth_token"))
