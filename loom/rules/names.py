"""Names of people, agents and groves, and which of them look alike. PURE.

A name is shown in pages and in the headers that models read, so it must be one line of visible
characters, and no name may be mistaken for another. A skeleton stands for what a name looks like:
a reader cannot distinguish two names with the same skeleton. The table below has the common
look-alikes of Latin letters and digits, not all of Unicode's (UTS 39).
"""

import re
import unicodedata
from collections.abc import Iterable

from loom.rules.errors import CommandError

IMPORTED = "imported"
# The colours that tags can have, in the order of the style sheet.
TAG_COLOURS = ("ink", "blue", "teal", "rust", "green", "plum", "amber", "rose")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
# What headers add to a name must not be part of one.
_SAYS_MORE = re.compile(r"\s*\((?:human|model|you|imported(?: \d+)?)\)\s*\Z", re.IGNORECASE)

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
_SEVERAL = {"rn": "m", "vv": "w", "i\u0307": "i", "j\u0307": "j"}  # what looks like one letter
_SAME = str.maketrans({other: one for one, others in _LIKE.items() for other in others})


def checked(name: str, *, most: int) -> str:
    """The name as it is stored (NFKC). INVALID_SYNTAX if it is not allowed."""
    kept = unicodedata.normalize("NFKC", name)
    if not kept.strip() or len(kept) > most or not all(map(_is_seen, kept)):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A name has 1 to {most} characters and no line breaks.",
            hint="choose another name, without control or invisible characters",
        )
    if _SAYS_MORE.search(kept):
        raise CommandError(
            "INVALID_SYNTAX",
            "A name does not end in (human), (model), (you) or (imported).",
            hint="leave the brackets out",
        )
    return kept


def cleaned(name: str, *, most: int) -> str:
    """The allowed part of a name, "" if nothing is left; for names that are not chosen here, such
    as those in a file."""
    kept = unicodedata.normalize("NFKC", "".join(one if one.isprintable() else " " for one in name))
    kept = "".join(one for one in kept if _is_seen(one)).strip()
    while found := _SAYS_MORE.search(kept):
        kept = kept[: found.start()].strip()
    return kept[:most].strip()


def _is_seen(one: str) -> bool:
    return unicodedata.category(one) not in _CATEGORIES and one not in _UNSEEN


def skeleton(name: str) -> str:
    """A value that is equal for names that readers cannot tell apart."""
    seen = unicodedata.normalize("NFKC", name).translate(_SAME)
    # Invisible marks and blanks do not make names different.
    shape = "".join(one for one in seen if not one.isspace() and _is_drawn(one)).casefold()
    for several, one in _SEVERAL.items():
        shape = shape.replace(several, one)
    return shape


def _is_drawn(one: str) -> bool:
    return not ("\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef") and _is_seen(
        one
    )


def shown_title(title: str) -> str:
    """The title of a tree as it is stored: "" if nothing of it would be visible."""
    return title if skeleton(title) else ""


def tree_named(title: str) -> str:
    """`tree:"title"` on one line, as replies name a tree: a title may have line breaks."""
    return f'tree:"{" ".join(title.split())}"'


def look_alike(name: str, taken: Iterable[str]) -> str:
    """The first of the taken names that equals this one or looks like it; "" if none does."""
    same, shape = unicodedata.normalize("NFKC", name).casefold(), skeleton(name)
    return next((one for one in taken if one.casefold() == same or skeleton(one) == shape), "")
