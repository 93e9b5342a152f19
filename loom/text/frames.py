"""What a text may not look like to a model: frames, headers, the marks of a buffer, and what
templates of chats write between messages. PURE.

A request is made of frames (`---NAME` … `---NAME_END`) and of headers (`[a7x2] Ada (human) ·
2026-11-21 02:07Z`), each alone at the start of a line (docs/model.md §6, §6.1). Texts of people,
models and files may have lines of both shapes, also with characters that nobody sees, or that look
like others. What models are sent has a backslash before them; what is stored is never changed.

A text is compared by its shape: a copy of the same length, in which each character is replaced by
the one it looks like. The time is linear in the length of the text, and a text without a dash or a
bracket is not looked at again.

Servers of open models read the marks of their template also inside of a message (`<|im_end|>`,
measured with llama.cpp): a text with one would end its message and begin another of any role. They
know them by their very characters, so a backslash within is enough.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from loom.text.look_alikes import DASHES, DOTS, LETTERS, UNSEEN, characters, spans

BOUNDARY, OWN = "︱", "︱›"  # in a buffer: between two texts, and before one of the model's own
SHORT = 4_000  # characters of a text whose escaped form is kept: a path is sent again and again
LONGEST_ID, LONGEST_NAME = 40, 400  # visible characters of what may pass for a header

# -- the shape of a text. Nothing in a text has one of these shapes by itself: control characters
# are not seen.
_NOTHING, _TWO, _THREE, _MARK, _ANGLE, _BAR, _LIKE_ANGLE = map(chr, range(7))
_SOFT_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # a model may take them for a new line
_OPEN = "[\uff3b\u2045\u27e6\u301a\u298b\u298d\u298f\u2772\ufe5d"
_CLOSE = "]\uff3d\u2046\u27e7\u301b\u298c\u298e\u2990\u2773\ufe5e"
_PAREN = "(\uff08\u207d\u208d\u2768\u276a\ufe59\ufd3e\u27ee\u2985"
_BARS = "︲︳\uff5c\u2502\u2503\u23d0\u2758\u2759\u275a\u4e28\u2f01\u2223\uffe8\u23aa"
_ANGLES = "\u276f\u276d\u2771\u27e9\u3009\u232a\u02c3\u1433\u16b2\uff1e\ufe65"
_MOST_KEPT = 70_000  # shapes of single characters; more than a script has


class _Shapes(dict[int, str | int]):
    """What each character looks like, for `str.translate`: always one character."""

    def __init__(self) -> None:
        for letter, others in LETTERS.items():
            self.update((ord(character), letter) for character in characters(others))
        for shape, some in (
            ("-", characters(DASHES)),
            ("·", characters(DOTS)),
            ("\r", _SOFT_BREAKS),
            ("[", _OPEN),
            ("]", _CLOSE),
            ("(", _PAREN),
            (_BAR, _BARS),
            (_LIKE_ANGLE, _ANGLES),
            (" ", "\t \u2800\u3164\uffa0"),
            (_TWO, "\u2e3a"),
            (_THREE, "\u2e3b"),
            (_MARK, BOUNDARY),
            (_ANGLE, "›"),
        ):
            self.update((ord(character), shape) for character in some)
        self._starts, self._ends = zip(*spans(UNSEEN), strict=True)

    def __missing__(self, code: int) -> str | int:
        at = bisect_right(self._starts, code) - 1
        is_unseen = at >= 0 and code <= self._ends[at]
        shape: str | int = code
        if is_unseen:
            shape = " " if unicodedata.category(chr(code)) == "Zs" else _NOTHING
        if len(self) < _MOST_KEPT:
            self[code] = shape
        return shape


_SHAPES = _Shapes()

# -- frames and headers in a shape

# `*+` and `++` stand behind single characters only: before Python 3.11.5 a possessive *group* that
# holds alternatives may fail where it should match. What follows a group here cannot begin as
# another turn of the group does, so that going back costs no more than the way there.
_UNSEEN = f"[ {_NOTHING}{_MARK}{_ANGLE}]*+"
_DASH = f"[-{_TWO}{_THREE}]"
# After the first dash. `gaps` holds everything between it and the letter.
_FRAME = (
    rf"(?P<gaps>(?:(?<={_THREE})|(?<={_TWO}){_UNSEEN}{_DASH}"
    rf"|{_UNSEEN}(?:[{_TWO}{_THREE}]|-{_UNSEEN}{_DASH}))"
    rf"(?:{_UNSEEN}{_DASH})*{_UNSEEN})(?:[A-Z]|(?P<small>[a-z]))"
)
_KIND = (
    rf"\({_UNSEEN}(?i:h{_UNSEEN}u{_UNSEEN}m{_UNSEEN}a{_UNSEEN}n"
    rf"|m{_UNSEEN}[o0]{_UNSEEN}d{_UNSEEN}e{_UNSEEN}[li1|])(?!\w)"
)
# A soft break may be inside of a header, unless another header may begin behind it.
_WITHIN = rf"\r(?!{_UNSEEN}\[)"
_HEADER = (
    rf"(?<=\[)(?P<id>(?:[^\]\n\r]++|{_WITHIN})+)\]"
    rf"(?P<name>(?:[^\n\r·(]++|{_WITHIN}|(?!{_KIND})\()*)(?:·|{_KIND})"
)


def _at_starts(first: str, shape: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a shape at the start of a line, and behind unseen characters at the start of a
    line. They begin with what is rare, end with the first character of the shape, and only look at
    the rest: no line is compared twice."""
    begins = r"(?:(?<=[\n\r].)|(?<=\A.))"
    plain = rf"{first}{begins}(?={shape})"
    behind = rf"{_UNSEEN[:-2]}{begins}{_UNSEEN}{first}(?={shape})"
    return re.compile(plain, re.DOTALL), re.compile(behind, re.DOTALL)


_FRAMES = _at_starts(_DASH, rf"(?<={_DASH}){_FRAME}")
_BOTH = _at_starts(rf"[-{_TWO}{_THREE}\[]", rf"(?<={_DASH}){_FRAME}|{_HEADER}")
# No text without one of these has a frame, or a frame or header. The first two patterns are for
# texts, the others for their shapes.
_DASH_OR_OPEN = re.compile(f"[{re.escape(''.join(characters(DASHES)) + _OPEN)}\u2e3a\u2e3b]")
_SOME_FRAME = re.compile(rf"-{_UNSEEN}-{_UNSEEN}-|[{_TWO}{_THREE}]")
_SOME = re.compile(rf"\[|{_SOME_FRAME.pattern}")

# The names of frames. In small letters and behind a blank only these are escaped (`--- results`):
# `--- a/file` is a line of a patch.
NAMES: Final = frozenset(
    "INSTRUCTIONS AUGMENTS AUGMENT EARLIER REQUEST RESULTS RESULT WORKSPACE STATUS OUTLINE PATH "
    "WINDOWS WINDOW MEMORY CLAIMS TODOS SCRATCHPAD NOTIFICATIONS TOOLS LOOM MODE CORE "
    "TRANSCRIPT".split()
)
# What begins a mark of a template: ChatML and those like it, DeepSeek, Gemma, Llama, Mistral.
_TEMPLATE = re.compile(
    r"<(?=(?:[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]|/?s|bos|eos|(?:start|end)_of_turn)>|</?SYS>>|/?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)
_NAMED = re.compile(rf"(?i:{'|'.join(sorted(NAMES, reverse=True))})(?:_end)?(?![a-z])", re.I)
_MOST_OF_A_NAME = 200  # characters that are looked at


def escaped(text: str) -> str:
    """A text by somebody else, with a backslash before what would be a frame or a header at the
    start of a line, also after invisible characters, and in marks of a template."""
    return _kept(text) if len(text) <= SHORT else _escaped(text)


def _escaped(text: str) -> str:
    return _with_backslashes(text, [*_places(text, _SOME, _BOTH), *_templates(text)])


_kept = lru_cache(maxsize=8_192)(_escaped)


def frames_escaped(text: str) -> str:
    """Heddle's own text with headers of its own: only frames and marks of a template get a
    backslash."""
    return _with_backslashes(text, [*_places(text, _SOME_FRAME, _FRAMES), *_templates(text)])


def _templates(text: str) -> Iterator[int]:
    """The places within the marks of a template."""
    return (match.end() for match in _TEMPLATE.finditer(text))


def _places(
    text: str, some: re.Pattern[str], patterns: tuple[re.Pattern[str], re.Pattern[str]]
) -> Iterator[int]:
    """Where a frame or header begins."""
    if not _DASH_OR_OPEN.search(text):
        return
    shape = text.translate(_SHAPES)
    if not some.search(shape):
        return
    for pattern in patterns:
        for match in pattern.finditer(shape):
            if _is_ours(match):
                yield match.end() - 1


def _is_ours(match: re.Match[str]) -> bool:
    if match.lastgroup == "gaps":  # a capital letter
        return True
    if match.lastgroup == "name":
        return _seen(match["id"]) <= LONGEST_ID and _seen(match["name"]) <= LONGEST_NAME
    if " " not in match["gaps"]:
        return True
    start = match.start("small")
    name = match.string[start : start + _MOST_OF_A_NAME].replace(_NOTHING, "")
    return _NAMED.match(name) is not None


def _seen(shape: str) -> int:
    """The number of visible characters."""
    return len(shape) - sum(map(shape.count, (_NOTHING, " ", "\r")))


def _with_backslashes(text: str, places: list[int]) -> str:
    """The text with a backslash at each of these places."""
    if not places:
        return text
    parts, before = [], 0
    for place in sorted(places):
        parts += [text[before:place], "\\"]
        before = place
    return "".join([*parts, text[before:]])


# -- the marks between the texts of a buffer (docs/model.md §6.1)

# `|›` in ASCII bars, and any bar with any angle: `|>` alone is an operator of several languages.
_MARKS = re.compile(
    rf"{_MARK}|{_BAR}(?=[ {_NOTHING}]*+[{_ANGLE}{_LIKE_ANGLE}>])"
    rf"|\|(?=[ {_NOTHING}]*+[{_ANGLE}{_LIKE_ANGLE}])"
)
_FIRST_ANGLE = re.compile(rf"[ {_NOTHING}\n\r]*+[{_ANGLE}{_LIKE_ANGLE}]")
_MARK_OR_ANGLE = re.compile(f"[{_BARS}{_ANGLES}{OWN}]")


def marks_escaped(text: str) -> str:
    """A text of a buffer with a backslash before each `︱`, before what looks like `︱›`, and
    before a `›` with which it begins: with the mark before the text it would look like `︱›`."""
    if not _MARK_OR_ANGLE.search(text):
        return text
    shape = text.translate(_SHAPES)
    places = [match.start() for match in _MARKS.finditer(shape)]
    if first := _FIRST_ANGLE.match(shape):
        places.append(first.end() - 1)
    return _with_backslashes(text, places)
