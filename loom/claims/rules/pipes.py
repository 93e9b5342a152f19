"""Pipes: lines joined by `|`, what each takes and gives, and what leads from one to the next. Pure
(docs/model.md §9)."""

from collections.abc import Sequence
from typing import Literal

Kind = Literal["node", "text", "document"]
Adapter = Literal["", "content-of", "summary"]

MOST = 10  # lines of a pipe
LONGEST = 4_000  # characters of all of them

# What stands in the gap of a line while it is read: ids that no text has.
NODE_MARK, DOCUMENT_MARK, TEXT_MARK = "q0q0", "doc:q0q0", "q0q0 q0q0"


def lines_of(text: str) -> list[str]:
    """The lines of a pipe: split at `|` and at line ends, but not inside quotes."""
    lines, start, is_quoted, at = [], 0, False, 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and is_quoted:
            at += 1
        elif sign == '"':
            is_quoted = not is_quoted
        elif (sign == "|" and not is_quoted) or sign == "\n":
            lines.append(text[start:at])
            start, is_quoted = at + 1, False
        at += 1
    lines.append(text[start:])
    return [line.strip().removeprefix("→").strip() for line in lines if line.strip()]


def marked(line: str) -> list[tuple[str, Kind | None]]:
    """The ways to read a line, in order: as it is, and with something in its gap, which may be the
    target after the verb, one at the end, or the text at the end; with what the gap takes."""
    verb, _, rest = line.partition(" ")
    ways: list[tuple[str, Kind | None]] = [(line, None)]
    for mark, kind in ((NODE_MARK, "node"), (DOCUMENT_MARK, "document")):
        ways.append((f"{verb} {mark} {rest}".rstrip(), kind))  # type: ignore[arg-type]
        if rest:
            ways.append((f"{line} {mark}", kind))  # type: ignore[arg-type]
    return [*ways, (f'{line} "{TEXT_MARK}"', "text")]


def adapter(gives: Sequence[Kind], takes: Kind | None) -> Adapter | None:
    """What leads from a line to the next: nothing, the content of a node, or the summary of a
    document; None if nothing fits."""
    if takes is None or takes in gives:
        return ""
    if takes == "text" and "node" in gives:
        return "content-of"
    if takes == "text" and "document" in gives:
        return "summary"
    return None
