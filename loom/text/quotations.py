"""Long replies stored without the texts that nodes hold: each is replaced by the id and place of
its node. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loom.text.hashes import digest_of

# -- quotations: a long reply is stored without the texts that nodes hold, each replaced by the
# node's id and place. A quotation is a list, so that it can be stored as JSON. In a reply to a
# model a line like a frame is escaped; it stays, and the pieces around it are named.

SHORTEST_QUOTED = 240  # characters; a shorter piece stays in the reply
_SNIPPET = 60  # what is looked for in a text
_MOST_SNIPPETS = 400  # per reply; the cost of the search grows with the square
GONE = "(a text that is gone)"


class Quotation(NamedTuple):
    """One piece of a reply that is stored in a node."""

    at: int
    node: int
    start: int
    length: int
    sha256: str


class _Piece(NamedTuple):
    """Where a piece of the reply begins, and where it is in a text."""

    at: int
    start: int
    length: int


def take_out_quotations(
    reply: str, texts: Sequence[tuple[int, str]]
) -> tuple[str, tuple[Quotation, ...]]:
    """The reply without what it quotes from `texts` (id and text), and the quotations, which
    `put_back_quotations` inserts again. Parts of a text are found, too."""
    if len(reply) < SHORTEST_QUOTED:
        return reply, ()
    found: list[Quotation] = []
    for node, text in texts:
        if len(text) < SHORTEST_QUOTED:
            continue
        for begin, end in _free(reply, found):
            for piece in _pieces(reply, begin, end, text):
                sha256 = digest_of(reply[piece.at : piece.at + piece.length])
                found.append(Quotation(piece.at, node, piece.start, piece.length, sha256))
    found.sort()
    return "".join(reply[begin:end] for begin, end in _free(reply, found)), tuple(found)


def _free(reply: str, found: Sequence[Quotation]) -> list[tuple[int, int]]:
    """The sections of the reply that no quotation covers."""
    begin, free = 0, []
    for one in sorted(found):
        free.append((begin, one.at))
        begin = one.at + one.length
    return [*free, (begin, len(reply))]


def _pieces(reply: str, begin: int, end: int, text: str) -> list[_Piece]:
    """The long pieces that a section of the reply shares with a text, in order."""
    step = max(SHORTEST_QUOTED - _SNIPPET, (end - begin) // _MOST_SNIPPETS)
    found, at = [], begin
    while at + _SNIPPET <= end:
        start = text.find(reply[at : at + _SNIPPET])
        if start < 0:
            at += step
            continue
        back = _same(reply[begin:at][::-1], text[:start][::-1])
        length = back + _same(reply[at:end], text[start:])
        if length >= SHORTEST_QUOTED:
            found.append(_Piece(at - back, start - back, length))
            begin = at = at - back + length
        else:
            at += step
    return found


def _same(one: str, two: str) -> int:
    """How many characters are the same at the beginning of two strings."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def put_back_quotations(
    rest: str, quotations: Sequence[Sequence[object]], texts: Mapping[int, str]
) -> str:
    """The original reply. A piece that its node no longer has becomes `GONE`."""
    parts, used, at = [], 0, 0
    for one in (Quotation(*fields) for fields in quotations):  # type: ignore[arg-type]
        before = one.at - at
        parts += [rest[used : used + before], _piece(one, texts)]
        used += before
        at = one.at + one.length
    return "".join([*parts, rest[used:]])


def _piece(one: Quotation, texts: Mapping[int, str]) -> str:
    piece = texts.get(one.node, "")[one.start : one.start + one.length]
    return piece if digest_of(piece) == one.sha256 else GONE
