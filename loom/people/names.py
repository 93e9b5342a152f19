"""Names of people, agents and groves, and which of them look alike. PURE.

A name is shown in pages and in the headers that models read, so it must be one line of visible
characters, and no name may be mistaken for another. A skeleton stands for what a name looks like:
a reader cannot distinguish two names with the same skeleton. It is made with
Unicode's table of look-alikes (UTS 39), and the short one below for what that table treats apart.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from loom.errors import CommandError
from loom.text.frames import escaped
from loom.text.look_alikes import LETTERS, characters

IMPORTED = "imported"
# The colours that tags can have, in the order of the style sheet.
TAG_COLOURS = ("ink", "blue", "teal", "rust", "green", "plum", "amber", "rose")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
# What headers add to a name must not be part of one, nor the signs that they are made of.
_SAYS_MORE = re.compile(r"\s*\((?:human|model|you|imported(?: \d+)?)\)\s*", re.IGNORECASE)
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])・(?=[^\W\d_])")  # as in ジョン・スミス
_ARROWS = (
    "\u2190-\u21ff\u2794\u2798-\u27af\u27b1-\u27be\u27f0-\u27ff\u2900-\u297f\u2b00-\u2b11\uffeb"
)
_SIGNS = re.compile(rf"[\[\]·•∙⋅‧‣・･᛫ꞏ⸱⸳\u0387\u318d\u1427\u2981︱︲⟦⟧⁅⁆〚〛{_ARROWS}]")
# In requests `you` is the agent that is sent them; the others speak for no participant.
RESERVED = ("you", "heddle", "system")

_LIKE = {
    "A": "АΑᎪꓮ",
    "B": "ВΒᏴꓐ",
    "C": "СϹᏟꓚ",
    "D": "Ꭰꓓ",
    "E": "ЕΕᎬꓰ",
    "F": "Ϝꓝ",
    "G": "Ԍ\u13c0ꓖ",
    "H": "НΗᎻꓧ",
    "J": "ЈͿᎫꓙ",
    "K": "КΚᏦꓗ",
    "L": "Ꮮꓡ",
    "M": "МΜᎷꓟϺ",
    "N": "Νꓠ",
    "P": "РΡᏢꓑ",
    "Q": "Ԛ",
    "R": "Ꭱꓣ",
    "S": "ЅՏᏚꓢ",
    "T": "ТΤᎢꓔ",
    "U": "Սꓴ",
    "V": "ѴᏙꓦ",
    "W": "ԜᎳꓪ",
    "X": "ХΧꓫ",
    "Y": "УҮΥꓬ",
    "Z": "ΖᏃꓜ",
    "a": "аαɑ",
    "b": "Ьƅ",
    "c": "сϲᴄ",
    "d": "ԁ",
    "e": "еҽ",
    "g": "ɡցƍ",
    "h": "һհ",
    "i": "іıɩιɪ",
    "j": "јϳȷ",
    "k": "кκᴋ",
    "m": "ᴍм",
    "n": "ոռ",
    "o": "оοօᴏσO0ОΟՕꓳ০०๐໐٥۵",
    "p": "рρ",
    "q": "ԛզ",
    "r": "гᴦ",
    "s": "ѕꜱƽ",
    "t": "тτᴛ",
    "u": "υսᴜʋ",
    "v": "νѵᴠ",
    "w": "ѡԝᴡ",
    "x": "хⅹ",
    "y": "уүγʏ",
    "z": "ᴢ",
    "l": "I1|ІΙӀӏǀ\u2223ꓲʟ١۱\u05c0",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212",
    "'": "\u2018\u2019\u02bc\u02b9`\u00b4\u2032",
    ".": "\u2024\u06d4",
}
_LATIN = str.maketrans(
    {character: to for to, some in LETTERS.items() for character in characters(some)}
)
_MARKS = frozenset((1, 202, 214, 216, 218, 220, 222, 224, 226, 228, 230, 232, 233, 234, 240))
_SEVERAL = {"rn": "m", "vv": "w"}  # what looks like one letter
_SAME = str.maketrans({other: letter for letter, others in _LIKE.items() for other in others})


def checked(name: str, *, most: int, writes: bool = True) -> str:
    """The name as it is stored (NFKC). INVALID_SYNTAX if it is not allowed. `writes`: its bearer
    writes texts, so that models read the name in headers."""
    kept = unicodedata.normalize("NFKC", name)
    if not kept.strip() or len(kept) > most or not all(map(_is_seen, kept)):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A name has 1 to {most} characters and no line breaks.",
            hint="choose another name, without control or invisible characters",
        )
    if writes and (sentence := _why_not(kept)):
        raise CommandError("INVALID_SYNTAX", sentence[0], hint=sentence[1])
    return kept


def _why_not(kept: str) -> tuple[str, str] | None:
    """Why models would misread a text signed with this name, and what to do; None if they would
    not."""
    if _says_more(kept):
        reason = "A name has no (human), (model), (you) or (imported) in it."
        return reason, "leave the brackets out"
    if match := _SIGNS.search(_BETWEEN_LETTERS.sub("", kept)):
        reason = f"A name has no {match[0]} in it, because models would misread it."
        return reason, "leave the sign out, or write - in its place"
    if escaped(kept) != kept:
        return "A name does not begin like a line of Heddle's own.", "leave the dashes out"
    if skeleton(kept) in _RESERVED:
        reason = f"Nobody is called {kept.strip()}, because models would take it for somebody else."
        return reason, "choose another name"
    return None


def _says_more(name: str) -> bool:
    """Whether a name holds a word in brackets that headers add, in whatever letters."""
    return "(" in name and _SAYS_MORE.search(_latin(name)) is not None


def is_misread(name: str) -> bool:
    """Whether models would misread a text signed with this name, which comes from a file."""
    bare = _ADDED_BY_IMPORT.sub("", unicodedata.normalize("NFKC", name).strip())
    return bool(bare) and _why_not(bare) is not None


@lru_cache(maxsize=4_096)
def as_sent(name: str) -> str:
    """A name in a header that a model reads, on one line. One that is not allowed any more, but was
    stored before or came another way, is in quotes and without the signs of a header."""
    line = " ".join(name.split())
    bare = _ADDED_BY_IMPORT.sub("", line)
    if bare and _why_not(bare) is None:
        return line
    plain = _SIGNS.sub("-", line).replace('"', "'").replace("(", "<").replace(")", ">")
    return f'"{plain}"'


def cleaned(name: str, *, most: int) -> str:
    """The allowed part of a name, "" if nothing is left; for names that are not chosen here, such
    as those in a file."""
    kept = unicodedata.normalize(
        "NFKC", "".join(letter if letter.isprintable() else " " for letter in name)
    )
    kept = "".join(letter for letter in kept if _is_seen(letter)).strip()
    while _SAYS_MORE.search(kept):
        kept = _SAYS_MORE.sub(" ", kept).strip()
    if _why_not(kept) is None:
        return kept[:most].strip()
    if _says_more(kept):  # in letters that only look like these
        kept = kept.replace("(", "").replace(")", "")
    whole = " ".join(_SIGNS.sub(lambda sign: sign[0] if sign[0] == "・" else "-", kept).split())
    kept = _SIGNS.sub("-", whole) if _why_not(whole) else whole
    kept = kept if escaped(kept) == kept else kept.lstrip("-– ")
    if skeleton(kept) in _RESERVED:
        kept = f"{kept} {ELSEWHERE}"
    return kept[:most].strip()


def _is_seen(letter: str) -> bool:
    return unicodedata.category(letter) not in _CATEGORIES and letter not in _UNSEEN


def skeleton(name: str) -> str:
    """A value that is equal for names that readers cannot tell apart."""
    seen = _latin(name).translate(_SAME)
    # Invisible marks and blanks do not make names different.
    shape = "".join(
        letter for letter in seen if not letter.isspace() and _is_drawn(letter)
    ).casefold()
    for several, single in _SEVERAL.items():
        shape = shape.replace(several, single)
    return shape


def _latin(name: str) -> str:
    """The name without marks on its letters, and in Latin letters where it looks like them."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name))
    bare = "".join(letter for letter in parts if not _is_mark(letter))
    return unicodedata.normalize("NFKC", bare).translate(_LATIN)


def _is_mark(letter: str) -> bool:
    """Whether it is an accent, or another mark that letters of any script can have; the vowels of
    Indian and Thai scripts and the marks of kana are not."""
    return unicodedata.combining(letter) in _MARKS


def _is_drawn(letter: str) -> bool:
    return not (
        "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef"
    ) and _is_seen(letter)


_RESERVED = frozenset(map(skeleton, RESERVED))
_ADDED_BY_IMPORT = re.compile(r" \(imported(?: \d+)?\)\Z")
ELSEWHERE = "of the file"  # behind a reserved name in a file


def shown_title(title: str) -> str:
    """The title of a tree as it is stored: "" if nothing of it would be visible."""
    return title if skeleton(title) else ""


def look_alike(name: str, taken: Iterable[str]) -> str:
    """The first of the taken names that equals this one or looks like it; "" if none does."""
    same, shape = unicodedata.normalize("NFKC", name).casefold(), skeleton(name)
    return next(
        (other for other in taken if other.casefold() == same or skeleton(other) == shape), ""
    )
