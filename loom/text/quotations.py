"""Long replies stored without the texts that nodes hold: each is replaced by the id and place of
its node. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loom.text.beginnings import common_length
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
    quoted: list[Quotation] = []
    for node, text in texts:
        if len(text) < SHORTEST_QUOTED:
            continue
        for begin, end in _free(reply, quoted):
            for piece in _pieces(reply, begin, end, text):
                sha256 = digest_of(reply[piece.at : piece.at + piece.length])
                quoted.append(Quotation(piece.at, node, piece.start, piece.length, sha256))
    quoted.sort()
    return "".join(reply[begin:end] for begin, end in _free(reply, quoted)), tuple(quoted)


def _free(reply: str, quoted: Sequence[Quotation]) -> list[tuple[int, int]]:
    """The sections of the reply that no quotation covers."""
    begin, free = 0, []
    for quotation in sorted(quoted):
        free.append((begin, quotation.at))
        begin = quotation.at + quotation.length
    return [*free, (begin, len(reply))]


def _pieces(reply: str, begin: int, end: int, text: str) -> list[_Piece]:
    """The long pieces that a section of the reply shares with a text, in order."""
    step = max(SHORTEST_QUOTED - _SNIPPET, (end - begin) // _MOST_SNIPPETS)
    pieces, at = [], begin
    while at + _SNIPPET <= end:
        start = text.find(reply[at : at + _SNIPPET])
        if start < 0:
            at += step
            continue
        back = common_length(reply[begin:at][::-1], text[:start][::-1])
        length = back + common_length(reply[at:end], text[start:])
        if length >= SHORTEST_QUOTED:
            pieces.append(_Piece(at - back, start - back, length))
            begin = at = at - back + length
        else:
            at += step
    return pieces


def put_back_quotations(
    rest: str, quotations: Sequence[Sequence[object]], texts: Mapping[int, str]
) -> str:
    """The original reply. A piece that its node no longer has becomes `GONE`."""
    parts, used, at = [], 0, 0
    for quotation in (Quotation(*fields) for fields in quotations):  # type: ignore[arg-type]
        before = quotation.at - at
        parts += [rest[used : used + before], _piece(quotation, texts)]
        used += before
        at = quotation.at + quotation.length
    return "".join([*parts, rest[used:]])


def _piece(quotation: Quotation, texts: Mapping[int, str]) -> str:
    piece = texts.get(quotation.node, "")[quotation.start : quotation.start + quotation.length]
    return piece if digest_of(piece) == quotation.sha256 else GONE
