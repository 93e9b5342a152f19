"""Texts of nodes, whatever they say: images that they name, lines that a model could take for ours,
pieces of them in replies, and how two texts are merged or compared. PURE."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

# -- images: `![what it shows](image:SHA-256)`. A text names an image by the hash of its bytes, so
# that edits, versions and hashes hold for it as for every other character.

MOST_IMAGE_BYTES: Final = 20 * 1024 * 1024
MOST_IMAGE_PIXELS: Final = 25_000_000  # of one frame: about 100 MB once it is decoded
MOST_IMAGE_FRAMES: Final = 1_000
MOST_IMAGES: Final = 50
# As Pillow names the format: (media type, ending). None of them can hold a script.
IMAGE_TYPES: Final = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "GIF": ("image/gif", "gif"),
    "WEBP": ("image/webp", "webp"),
}
IMAGE_TOKENS: Final = 1_600  # that a model reads of one, at most: it is sent no larger
WEB: Final = ("https://", "http://", "mailto:")  # how addresses of links begin that may be followed
IMAGE_SIGN: Final = "](image:"  # in every text with an image, and hardly in any other
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,1000})\]\(image:([0-9a-f]{64})\)")


def image_reference(sha256: str, alt: str) -> str:
    """How a text names an image."""
    shown = " ".join(alt.replace("[", "(").replace("]", ")").split())[:1000]
    return f"![{shown}](image:{sha256})"


def hashes_in(text: str) -> list[str]:
    """The hashes of the images that a text names, each once, in order; at most 50."""
    if IMAGE_SIGN not in text:
        return []
    return list(dict.fromkeys(found[2] for found in _IMAGE.finditer(text)))[:MOST_IMAGES]


def described(text: str) -> str:
    """The text with `[image: what it shows]` in place of its images."""
    return images_replaced(text, lambda alt, _sha256: described_image(alt))


def described_image(alt: str) -> str:
    """What stands in place of an image."""
    return f"[image: {alt}]" if alt else "[image]"


def beginning(text: str, most: int) -> str:
    """The first words of a text on one line, at most `most` characters, with what its images show
    in place of them."""
    return " ".join(described(text[: most * 2 + 1200]).split())[:most]


def images_replaced(text: str, make: Callable[[str, str], str]) -> str:
    """The text with what `make` returns, given the description and the hash, for each image."""
    return _IMAGE.sub(lambda found: make(found[1], found[2]), text) if IMAGE_SIGN in text else text


def images_parted(text: str, wanted: set[str]) -> list[tuple[str, str]]:
    """The text in parts for a model that sees: words ("words", …) and, behind the words for it,
    each image that is wanted ("image", its hash), which is taken from `wanted`: once is enough."""
    parts: list[tuple[str, str]] = []
    begun = 0
    for found in _IMAGE.finditer(text):
        if found[2] in wanted:
            wanted.remove(found[2])
            parts += [("words", described(text[begun : found.end()])), ("image", found[2])]
            begun = found.end()
    if rest := described(text[begun:]):
        parts.append(("words", rest))
    return parts


# -- frames and headers (docs/model.md §6, §6.1). A request is made of frames (`---NAME` …
# `---NAME_END`) and of headers (`[a7x2] Ada (human) · 2026-11-21 02:07Z`), each alone at the start
# of a line. Texts of people, models and files may have lines of both shapes, also behind characters
# that nobody sees: they are escaped.

# Whatever a model may take for the start of a line.
_START = "(?:^|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])"


def _unseen() -> str:
    """The inside of a character class: blanks within a line, and what takes no room (format
    characters such as U+200B and U+FEFF, variation selectors, fillers)."""
    breaks = set("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    found = set("\t\x1f\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
    found.update(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
    for code in (*range(0x10000), *range(0x13430, 0x13440), *range(0xE0000, 0xE0080)):
        if unicodedata.category(chr(code)) in ("Zs", "Cf", "Cc"):
            found.add(chr(code))
    return "".join(re.escape(one) for one in sorted(found - breaks))


_UNSEEN = f"[{_unseen()}]*+"
_DASHES = "[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]"
_FRAME = f"(?:{_DASHES}{_UNSEEN}){{3}}[A-Z]"
_ID = "[\\[\uff3b]" + "[^\\]\uff3d\n]{1,40}" + "[\\]\uff3d]"
_DOT = "[·•∙⋅‧・･᛫]"
_HEADER = f"{_ID}[^\n]{{0,400}}?(?:{_DOT}|\\((?:human|model)\\b)"
_FRAMES = re.compile(f"({_START}{_UNSEEN})(?={_FRAME})")
_BOTH = re.compile(f"({_START}{_UNSEEN})(?={_FRAME}|{_HEADER})")


SHORT = 4_000  # characters of a text whose escaped form is kept: a path is sent again and again


def escaped(text: str) -> str:
    """Somebody's text, with a backslash before what would be a frame or a header at the start
    of a line, whatever unseen characters are in front of it."""
    return _kept(text) if len(text) <= SHORT else _escaped(text)


def _escaped(text: str) -> str:
    return _BOTH.sub(r"\1\\", text)


_kept = lru_cache(maxsize=8_192)(_escaped)


def frames_escaped(text: str) -> str:
    """The same for a text of ours that holds headers of our own: only frames are escaped."""
    return _FRAMES.sub(r"\1\\", text)


def plain(text: str) -> str:
    """A name or title on one line."""
    return " ".join(text.split())


def count(text: str) -> int:
    """About how many tokens a text has, for most models: a quarter of its characters, and of
    each image what one has at most."""
    return -(-len(text) // 4) + (IMAGE_TOKENS * len(hashes_in(text)) if IMAGE_SIGN in text else 0)


# -- quotations: a long reply is stored without the texts that nodes hold, each replaced by the
# node's id and place. A quotation is a list, so that it can be stored as JSON. In a reply to a
# model a line like a frame is escaped; it stays, and the pieces around it are named.

SHORTEST_QUOTED = 240  # characters; a shorter piece stays in the reply
_SNIPPET = 60  # what is looked for in a text
_MOST_SNIPPETS = 400  # of a reply: what the search costs does not grow with its square
GONE = "(a text that is gone)"


class Quotation(NamedTuple):
    """One piece of a reply that a node holds."""

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
    """The reply without what it quotes from `texts` (id and text), and the quotations that
    `put_back` puts back. A part of a text is found too."""
    if len(reply) < SHORTEST_QUOTED:
        return reply, ()
    found: list[Quotation] = []
    for node, text in texts:
        if len(text) < SHORTEST_QUOTED:
            continue
        for begin, end in _free(reply, found):
            for piece in _pieces(reply, begin, end, text):
                sha256 = digest(reply[piece.at : piece.at + piece.length])
                found.append(Quotation(piece.at, node, piece.start, piece.length, sha256))
    found.sort()
    return "".join(reply[begin:end] for begin, end in _free(reply, found)), tuple(found)


def _free(reply: str, found: Sequence[Quotation]) -> list[tuple[int, int]]:
    """The stretches of the reply that no quotation covers."""
    begin, free = 0, []
    for one in sorted(found):
        free.append((begin, one.at))
        begin = one.at + one.length
    return [*free, (begin, len(reply))]


def _pieces(reply: str, begin: int, end: int, text: str) -> list[_Piece]:
    """The long pieces that a stretch of the reply shares with a text, in order."""
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
    """How many characters two strings begin with alike."""
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
    """The reply again. A piece that its node does not hold any more is `GONE`."""
    parts, used, at = [], 0, 0
    for one in (Quotation(*fields) for fields in quotations):  # type: ignore[arg-type]
        before = one.at - at
        parts += [rest[used : used + before], _piece(one, texts)]
        used += before
        at = one.at + one.length
    return "".join([*parts, rest[used:]])


def digest(text: str) -> str:
    """The hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _piece(one: Quotation, texts: Mapping[int, str]) -> str:
    piece = texts.get(one.node, "")[one.start : one.start + one.length]
    return piece if digest(piece) == one.sha256 else GONE


# -- merging by words

MOST_MERGED_WORDS = 20_000
MOST_COMPARED_WORDS = 4_000
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class Change(NamedTuple):
    """The words `start` to `end` of the base become `words`."""

    start: int
    end: int
    words: tuple[str, ...]


def merged(base: str, ours: str, theirs: str) -> str | None:
    """The base with what changed in both texts. None where both changed the same passage in
    different ways, or a text is too long to be compared word by word."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    words = _WORDS.findall(base)
    one, two = _WORDS.findall(ours), _WORDS.findall(theirs)
    if max(len(words), len(one), len(two)) > MOST_MERGED_WORDS:
        return None
    changes = _together(_changes(words, one), _changes(words, two))
    return None if changes is None else _applied(words, changes)


def difference(old: str, new: str) -> list[tuple[str, str]] | None:
    """`[(what goes, what comes)…]` in order, with `(text, text)` for what stays; None where a text
    is too long to be compared word by word."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MOST_COMPARED_WORDS:
        return None
    made, at = [], 0
    for one in _changes(before, after):
        same = "".join(before[at : one.start])
        made += [(same, same)] if same else []
        made.append(("".join(before[one.start : one.end]), "".join(one.words)))
        at = one.end
    rest = "".join(before[at:])
    return [*made, (rest, rest)] if rest else made


def _changes(base: list[str], other: list[str]) -> list[Change]:
    steps = SequenceMatcher(None, base, other, autojunk=False).get_opcodes()
    return [Change(a, b, tuple(other[c:d])) for tag, a, b, c, d in steps if tag != "equal"]


def _together(ours: list[Change], theirs: list[Change]) -> list[Change] | None:
    """Both lists in order, what both changed alike once; None where they clash. A change clashes
    at most with neighbours in its order, so each is compared with the one before."""
    every = sorted({*ours, *theirs}, key=lambda one: (one.start, one.end))
    mine = set(ours)
    both = mine & set(theirs)
    reached: dict[bool, Change] = {}
    for one in every:
        others = [last for side, last in reached.items() if side != (one in mine) or one in both]
        if any(_clash(last, one) for last in others):
            return None
        reached[one in mine] = one
        if one in both:
            reached = {True: one, False: one}
    return every


def _clash(one: Change, other: Change) -> bool:
    """Whether two changes touch the same words, or insert at the same place."""
    if one == other:
        return False
    overlap = one.start < other.end and other.start < one.end
    is_insertion = one.start == one.end or other.start == other.end
    return overlap or (one.start == other.start and is_insertion)


def _applied(words: list[str], changes: list[Change]) -> str:
    made, at = [], 0
    for one in changes:
        made += [*words[at : one.start], *one.words]
        at = one.end
    return "".join([*made, *words[at:]])
