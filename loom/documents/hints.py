"""What people and models write for `write` in words of other programs, and the line to write."""

import re
from collections.abc import Iterator

from loom.language.hints import (
    BELOW,
    DOC,
    ELSE,
    IN_DOC,
    REMOVE,
    SECTION,
    as_doc,
    as_section,
    as_text,
)

_CREATE = r"(?:create|make|add|start|new)(?: me)?(?: a| the)?(?: new)?"


def _append(match: re.Match[str]) -> Iterator[str]:
    yield f"write {as_doc(match[1])} append {as_text(match[2])}"


def _unsection(match: re.Match[str]) -> Iterator[str]:
    name, document = as_section(match[1]), as_doc(match[2])
    yield f"write {document} remove:{name}"
    yield f"{ELSE}view {document} {name} full"


def _move(match: re.Match[str]) -> Iterator[str]:
    first, second, document = as_section(match[1]), as_section(match[3]), as_doc(match[4])
    side = "after" if match[2] in ("after", "below", "behind") else "before"
    yield f"write {document} move:{first} {side}:{second}"
    yield f"{ELSE}view {document} {first} full"


def _create(match: re.Match[str]) -> Iterator[str]:
    if match[2] and match[2].strip(" :,"):
        text = re.sub(r"^\W*(?:with|containing|saying|text)\b", "", match[2].strip())
        yield f"write {as_doc(match[1])} new {as_text(text)}"
    else:
        yield f"write {as_doc(match[1])} new{BELOW}"


def _write_part(match: re.Match[str]) -> Iterator[str]:
    document, name, text = as_doc(match[1]), as_section(match[2]), as_text(match[3])
    yield f"write {document} at:{name} {text}"
    yield f"write {document} replace:{name} {text}"


def _how(match: re.Match[str]) -> Iterator[str]:
    """`write doc:"notes" "…"`: it may be new, or go at the end."""
    document = as_doc(match[1])
    if match[2]:
        yield f"write {document} append {as_text(match[2])}"
        yield f"write {document} new {as_text(match[2])}"
    else:
        yield f"write {document} append{BELOW}"
        yield f"write {document} new{BELOW}"


def _into(match: re.Match[str]) -> Iterator[str]:
    yield f"write {as_doc(match[2])} append {match[1]}"


def _exchange(match: re.Match[str]) -> Iterator[str]:
    yield f"write {as_doc(match[3])} replace:{match[1]} with:{match[2]}"


def _insert(match: re.Match[str]) -> Iterator[str]:
    yield f"write {as_doc(match[3])} at:{as_section(match[2])} {match[1]}"


def _embed(match: re.Match[str]) -> Iterator[str]:
    yield f'write {as_doc(match[2])} append "![[{match[1]}]]"'


WRITE_HINTS = (
    (rf'(?:write|put|add|insert) ("[^"]*") (?:to|in|into|at the end of) {DOC}[.]?', _into),
    (rf'replace ("[^"]*") (?:with|by) ("[^"]*") in {DOC}[.]?', _exchange),
    (
        rf'(?:insert|put|add|write) ("[^"]*") (?:after|into?|at|under|below) {SECTION}{IN_DOC}[.]?',
        _insert,
    ),
    (rf"embed (?:node )?\[?([a-z]\d[a-z]\d\w*)\]?{IN_DOC}[.]?", _embed),
    (rf'write (?:to |in |into )?{DOC}(?::|,| with| text)*(?:\s+("[^"]*"|[^"\s:§#][^":§]*))?', _how),
    (rf"(?:append|add)(?: this| text)? to (?:the end of )?{DOC}[:,]?\s+(.+)", _append),
    (rf"{REMOVE} {SECTION}{IN_DOC}[.]?", _unsection),
    (rf"move {SECTION}(?: to)? (after|before|above|below|behind) {SECTION}{IN_DOC}[.]?", _move),
    (rf"{_CREATE} {DOC}(.*)", _create),
    (rf"write (?:to |in |into )?{DOC},?\s+(?:at |in )?{SECTION}[:,]?\s+(.+)", _write_part),
)
