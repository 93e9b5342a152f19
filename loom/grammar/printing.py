"""Printed values: the canonical line, and the small printers that replies share."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from loom.grammar.forms import Form, Part, print_value
from loom.grammar.refs import Ref, print_ref
from loom.grammar.tokens import quote

CLOSER = re.compile(r"^←[ \t\r]*+$", re.MULTILINE)
LONG = 120  # characters of content that still stand in a quote
STORED_WHOLE = 240  # characters of content that a stored line keeps; longer ones are named
FIRST_WORDS = 8
FIRST_CHARACTERS = 60
_PLAIN_TAG = re.compile(r"[\w-]+")


def write_line(form: Form, values: Mapping[str, object], *, because: str) -> str:
    """The canonical line with its arrow; defaults left out, long content as a block."""
    pieces = ["→ " + form.verb]
    block: str | None = None
    for part in form.parts:
        value = values.get(part.name, part.absent)
        if part.kind == "content" and isinstance(value, str) and _is_block(value):
            block = value
            pieces.append(part.lead)
        elif _stands(part, value):
            pieces += _written(part, value)
    if because:
        pieces.append(f"because:{quote(because)}")
    line = " ".join(piece for piece in pieces if piece)
    return line if block is None else f"{line}\n{block}\n←"


def _is_block(content: str) -> bool:
    return ("\n" in content or len(content) > LONG) and not CLOSER.search(content)


def _stands(part: Part, value: object) -> bool:
    if part.optional or part.kind == "flag":
        return value is not None and value != part.absent
    return value is not None


def _written(part: Part, value: object) -> list[str]:
    if part.kind == "option":
        return [f"{part.key}:{print_value(part, value)}"]
    if part.kind == "flag":
        return [part.word]
    lead = [part.lead] if part.lead and part.kind != "word" else []
    if isinstance(value, tuple):
        return [*lead, *(_one(part, one) for one in cast("Sequence[object]", value))]
    return [*lead, _one(part, value)]


def _one(part: Part, value: object) -> str:
    if isinstance(value, Ref):
        return print_ref(value)
    text = str(value)
    if part.kind == "tags":
        return f"#{text if _PLAIN_TAG.fullmatch(text) else quote(text)}"
    return quote(text) if part.kind in ("quoted", "content") else text


# What stands for a text in a stored line. No form reads it: such a line cannot be run again.
_NAMED = re.compile(r'[ \n]"[^"\n]*…" \([\d,]+ characters, sha256 ([0-9a-f]{64})\)')


def named(text: str) -> str:
    """What a stored line says in place of a long text that a node holds: its first words,
    its length and its digest. `"It was…" (100,000 characters, sha256 …)`."""
    words = text[: FIRST_CHARACTERS * 4].replace('"', "'").replace("\\", "/").split()
    first = " ".join(words[:FIRST_WORDS])[:FIRST_CHARACTERS].rstrip()
    return f'"{first}…" ({len(text):,} characters, sha256 {digest_of(text)})'


def block_of(canonical: str) -> str:
    """The content of a canonical line that is written as a block; "" where it has none."""
    _, _, block = canonical.partition("\n")
    return block.removesuffix("\n←")


def shortened(canonical: str) -> str:
    """A canonical line as it is stored where a node holds its content: a long block is
    replaced by its name. `→ respond [a7x2] "It was…" (100,000 characters, sha256 …)`.

    Lines without a long block come back unchanged. Content that holds a closing line (`←`)
    stands in quotes, not in a block, and stays.
    """
    block = block_of(canonical)
    if len(block) <= STORED_WHOLE:
        return canonical
    return f"{canonical.partition(chr(10))[0]} {named(block)}"


def digest_named(line: str) -> str:
    """The SHA-256 of the text that a stored line only names; "" where it names none."""
    found = _NAMED.search(line)
    return found[1] if found else ""


def digest_of(text: str) -> str:
    """The hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def without_name(line: str) -> str:
    """A stored line without the name of its text; any other line as it is."""
    return _NAMED.sub(" …", line)


# Small printers that replies share: ages, first words, counts of words.


MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
SUMMARY_WORDS = 30
SUMMARY_CHARACTERS = 300


def age(now: datetime, then: datetime) -> str:
    """`now`, `3m ago`, `2h ago`, `5d ago`."""
    seconds = int((now - then).total_seconds())
    if seconds < MINUTE_S:
        return "now"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S}m ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S}h ago"
    return f"{seconds // DAY_S}d ago"


def excerpt(text: str, words: int = SUMMARY_WORDS) -> str:
    """The first words in quotes, on one line; `…` says that there are more.

    A text of so few words is its own summary. Where words have no end, as in scripts
    without blanks, 300 characters count as enough.
    """
    head = text[: SUMMARY_CHARACTERS * 8]
    parts = head.split(None, words)
    line = " ".join(parts[:words])
    cut = len(parts) > words or (len(head) < len(text) and bool(text[len(head) :].strip()))
    if len(line) > SUMMARY_CHARACTERS:
        line, cut = line[:SUMMARY_CHARACTERS].rstrip(), True
    return f'"{line}…"' if cut else f'"{line}"'


def words(count: int) -> str:
    """`1 word`, `1,247 words`."""
    return f"{count:,} {'word' if count == 1 else 'words'}"


PART_CHARACTERS = 12_000  # of a part of a long reply: about 3,000 tokens
_NEAR = 2_000  # characters before the end of a part in which a line or word end is looked for


def parts_of(text: str) -> list[str]:
    """A long reply in parts of at most PART_CHARACTERS, which joined are the text; each ends
    after a line where one ends near, else after a word."""
    parts, start = [], 0
    while len(text) - start > PART_CHARACTERS:
        end = start + PART_CHARACTERS
        for mark in ("\n", " "):
            at = text.rfind(mark, end - _NEAR, end)
            if at >= 0:
                end = at + 1
                break
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]
