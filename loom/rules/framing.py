"""Text that a model reads inside a frame: escaped, so that nothing in it may pass for ours, and
counted. PURE.

A request is made of frames (`---NAME` … `---NAME_END`) and of headers (`[a7x2] Ada (human) ·
2026-11-21 02:07Z`), each alone at the start of a line. Text of people, models and files may
hold lines of both shapes, also behind characters that nobody sees. See docs/model.md §6, §6.1.
"""

import re
import unicodedata
from functools import lru_cache

from loom.rules.images import SIGN, TOKENS, hashes_in

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
    return -(-len(text) // 4) + (TOKENS * len(hashes_in(text)) if SIGN in text else 0)
