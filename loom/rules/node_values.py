"""Values of nodes: their ids and hashes, images, and short forms of texts for replies and stored
lines. Pure.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

# Local ids: alternating letters and digits.


LETTERS = "abcdefghjkmnpqrstvwxyz"  # no i l o u
DIGITS = "23456789"
MAX_LENGTH = 8


def space(length: int) -> int:
    """The number of ids with `length` characters: alternating letters and digits."""
    count: int = len(LETTERS) ** ((length + 1) // 2) * len(DIGITS) ** (length // 2)
    return count


def length_for(used: int) -> int:
    """The length to draw when `used` ids are taken: one more per quarter of a space filled."""
    length = 4
    while length < MAX_LENGTH and used >= space(length) // 4:
        length += 1
    return length


def draw(length: int, choose: Callable[[str], str]) -> str:
    """One id; `choose` picks a character, such as secrets.choice."""
    return "".join(choose(DIGITS if i % 2 else LETTERS) for i in range(length))


def draw_new(used: int, taken: Collection[str], choose: Callable[[str], str]) -> str:
    """An id that is not in `taken`; drawn again on collision."""
    length = length_for(used)
    while (drawn := draw(length, choose)) in taken:
        pass
    return drawn


def looks_like_id(word: str) -> bool:
    """Whether `word` has the form of a local id."""
    return 4 <= len(word) <= MAX_LENGTH and all(
        c in (DIGITS if i % 2 else LETTERS) for i, c in enumerate(word.lower())
    )


# The ids of items.

ORDINAL_BITS = 32
_ORDINAL = (1 << ORDINAL_BITS) - 1
# The order of siblings is that in which they began: a text when it was added, a candidate when it
# was asked for, whenever it ends.
PLACE_BITS = 20
_PLACES = (1 << PLACE_BITS) - 1
LAST_PLACE = 1 << 62


def place_of(node_id: int, place: int | None) -> int:
    """The place of a slot among its siblings: lower comes first. `place` is what its node
    stores."""
    return (node_id & _ORDINAL) << PLACE_BITS if place is None else place


def place_asked(after: int | None, generation: int) -> int | None:
    """The place of a candidate that was asked for when `after` was the ordinal of the tree's
    newest node; `generation` is its row id. None for old candidates, which stay where they were
    added."""
    return None if after is None else (after << PLACE_BITS) + (generation & _PLACES)


def of_node(node_id: int) -> int:
    """The id of a node's item."""
    return node_id


def of_tree(tree_id: int) -> int:
    """The id of a tree's item."""
    return tree_id << ORDINAL_BITS


def of_document(document_id: int) -> int:
    """The id of a document's item: below 0, unlike those of nodes and trees."""
    return -document_id


def node_id(item: int) -> int | None:
    """The node's row id, or None if the item is something else."""
    return item if item > 0 and item & _ORDINAL else None


def tree_id(item: int) -> int | None:
    """The tree's row id, or None if the item is something else."""
    return None if item <= 0 or item & _ORDINAL else item >> ORDINAL_BITS


def document_id(item: int) -> int | None:
    """The document's row id, or None if the item is something else."""
    return -item if item < 0 else None


def of_workspace(tree: str, participant: str) -> str:
    """The public id of a participant's workspace in a tree, derived from their ids: it is known
    before anything is stored, so that reading a tree for the first time stores nothing."""
    return f"{tree}{participant}"


def workspace_parts(uid: str) -> tuple[str, str]:
    """The public ids of the tree and the participant in such an id."""
    half = len(uid) // 2
    return uid[:half], uid[half:]


def home_of(item: int) -> int:
    """The row id of the tree that an item is or is in; 0 for a document, which is in none."""
    return max(item, 0) >> ORDINAL_BITS


def ids_in(tree_id: int) -> tuple[int, int]:
    """The first and the last id that a tree and its nodes have."""
    return of_tree(tree_id), of_tree(tree_id + 1) - 1


# Hashes of nodes, configurations (docs/model.md §11), secrets and texts.

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys, no blanks, no ASCII escaping. See docs/model.md §11."""
    return _CANONICAL.encode(value).encode()


def sha256(value: Any) -> str:
    """The hex SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def digest(secret: str) -> str:
    """The stored form of keys, invitations and links: the hex SHA-256 of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def digest_of(text: str) -> str:
    """The hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def instant(at: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as everywhere in the API."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def proof(
    *,
    author: str,
    call: str,
    configuration: str,
    content: list[dict[str, Any]],
    created_at: datetime,
    edited_from: str,
    kind: str,
    parent: str,
) -> dict[str, Any]:
    """The values that a node's hash covers; empty strings stand for null."""
    return {
        "author": author,
        "call": call or None,
        "configuration": configuration or None,
        "content": content,
        "created_at": instant(created_at),
        "edited_from": edited_from or None,
        "kind": kind,
        "parent": parent or None,
    }


# -- images: `![what it shows](image:SHA-256)`. A text names an image by the hash of its bytes, so
# that edits, versions and hashes hold for it as for every other character.

MOST_IMAGE_BYTES: Final = 20 * 1024 * 1024
MOST_IMAGE_PIXELS: Final = 25_000_000  # pixels of one frame: about 100 MB when decoded
MOST_IMAGE_FRAMES: Final = 1_000
MOST_IMAGES: Final = 50
# Pillow's name of the format: (media type, extension). None of them can contain a script.
IMAGE_TYPES: Final = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "GIF": ("image/gif", "gif"),
    "WEBP": ("image/webp", "webp"),
}
IMAGE_TOKENS: Final = 1_600  # the most of one image, which is scaled down before it is sent
WEB: Final = ("https://", "http://", "mailto:")  # prefixes of addresses that may be links
IMAGE_SIGN: Final = "](image:"  # in every text with an image, and hardly in any other
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,1000})\]\(image:([0-9a-f]{64})\)")


def image_reference(sha256: str, alt: str) -> str:
    """The reference to an image in a text."""
    shown = " ".join(alt.replace("[", "(").replace("]", ")").split())[:1000]
    return f"![{shown}](image:{sha256})"


def hashes_in(text: str) -> list[str]:
    """The hashes of the images in a text, each once, in order; at most 50."""
    if IMAGE_SIGN not in text:
        return []
    return list(dict.fromkeys(found[2] for found in _IMAGE.finditer(text)))[:MOST_IMAGES]


def described(text: str) -> str:
    """The text with `[image: what it shows]` in place of its images."""
    return images_replaced(text, lambda alt, _sha256: described_image(alt))


def described_image(alt: str) -> str:
    """The text that replaces an image."""
    return f"[image: {alt}]" if alt else "[image]"


def beginning(text: str, most: int) -> str:
    """The first words of a text on one line, at most `most` characters, with descriptions in place
    of images."""
    return " ".join(described(text[: most * 2 + 1200]).split())[:most]


def images_replaced(text: str, make: Callable[[str, str], str]) -> str:
    """The text with what `make` returns, given the description and the hash, for each image."""
    return _IMAGE.sub(lambda found: make(found[1], found[2]), text) if IMAGE_SIGN in text else text


def images_parted(text: str, wanted: set[str]) -> list[tuple[str, str]]:
    """The text in parts for a model that sees images: words ("words", …) and, after the words for
    it, each wanted image ("image", its hash), which is removed from `wanted`, because once is
    enough."""
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


def plain(text: str) -> str:
    """A name or title on one line."""
    return " ".join(text.split())


def count(text: str) -> int:
    """The approximate number of tokens of a text for most models: a quarter of its characters, and
    for each image the maximum."""
    return -(-len(text) // 4) + (IMAGE_TOKENS * len(hashes_in(text)) if IMAGE_SIGN in text else 0)


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


# -- stored lines: a long text that a node holds is named there.

STORED_WHOLE = 240  # characters of content that a stored line keeps; longer ones are named
FIRST_WORDS = 8
FIRST_CHARACTERS = 60
# The name of a text in a stored line. No form parses it: such a line cannot be run again.
_NAMED = re.compile(r'[ \n]"[^"\n]*…" \([\d,]+ characters, sha256 ([0-9a-f]{64})\)')


def named(text: str) -> str:
    """The name of a long text in a stored line: its first words, its length and its hash. `"It
    was…" (100,000 characters, sha256 …)`."""
    words = text[: FIRST_CHARACTERS * 4].replace('"', "'").replace("\\", "/").split()
    first = " ".join(words[:FIRST_WORDS])[:FIRST_CHARACTERS].rstrip()
    return f'"{first}…" ({len(text):,} characters, sha256 {digest_of(text)})'


def block_of(canonical: str) -> str:
    """The content of a canonical line that is written as a block; "" if it has none."""
    _, _, block = canonical.partition("\n")
    return block.removesuffix("\n←")


def shortened(canonical: str) -> str:
    """A canonical line as it is stored if a node holds its content: a long block is replaced by
    its name. `→ respond [a7x2] "It was…" (100,000 characters, sha256 …)`. Lines without a long
    block are returned unchanged. Content with a closing line (`←`) is in quotes, not in a block,
    and stays.
    """
    block = block_of(canonical)
    if len(block) <= STORED_WHOLE:
        return canonical
    return f"{canonical.partition(chr(10))[0]} {named(block)}"


def digest_named(line: str) -> str:
    """The SHA-256 of the text that a stored line only names; "" if it names none."""
    found = _NAMED.search(line)
    return found[1] if found else ""


def without_name(line: str) -> str:
    """A stored line without the name of its text; any other line as it is."""
    return _NAMED.sub(" …", line)


# -- ages and excerpts in replies.

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
    """The first words in quotes, on one line; `…` says that there are more. A text of at most that
    many words is its own summary. In scripts without blanks between words, 300 characters count as
    enough.
    """
    head = text[: SUMMARY_CHARACTERS * 8]
    parts = head.split(None, words)
    line = " ".join(parts[:words])
    cut = len(parts) > words or (len(head) < len(text) and bool(text[len(head) :].strip()))
    if len(line) > SUMMARY_CHARACTERS:
        line, cut = line[:SUMMARY_CHARACTERS].rstrip(), True
    return f'"{line}…"' if cut else f'"{line}"'
