"""Windows: their lines, how these move when the text changes, and how they are shown. Pure. See
docs/model.md §3. How long a window stays is in `limits`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from loom.errors import CommandError
from loom.text.edits import differing
from loom.trees.truncations import TRUNCATIONS

MOST_VISIBLE = 40  # windows of one workspace
MOST_DEEP = 10  # nesting depth of windows, if the budget of a turn does not say less
MOST_STASHED = 200
MOST_PAD = 10  # lines around a window that it does not own
MOST_WITH = 10  # linked items that `with:` opens
MOST_NODES = 200  # nodes of a branch or range that are shown, the last ones
WARNED = 350  # lines of all windows; above this STATUS warns
MOST_QUOTED = 60  # characters of a change that the header of a window quotes
LARGE = 200  # for a text with more lines than this, a reply says how many
# Of a grove or a workspace. `window_lines_max` 0: no limit, STATUS only warns. `auto_open`: what
# the request of a turn names is opened for the turn.
SETTINGS: dict[str, Any] = {"window_lines_max": 0, "evict": "", "auto_open": False}
# `truncation`: how the path is cut in what its participant asks for; `order`: the numbers of
# windows in the order in which they are listed, before all others.
OF_WORKSPACE = (*SETTINGS, "truncation", "order")
MOST_ORDERED = 500
_NAMED = re.compile(
    r'doc:"(?:[^"\\\n]|\\.)+"(?: (?:§"(?:[^"\\\n]|\\.)+"|§[\w-]+|lines:\d+-\d+|part:\d+))?'
    r'|tree:"(?:[^"\\\n]|\\.)+" node:[a-z0-9]{4,8}\b|\[([a-z0-9]{4,8})\]',
    re.IGNORECASE,
)
MOST_NAMED = 5  # refs of a request that are opened or listed


@dataclass(frozen=True)
class Lines:
    """A range of lines of an item, from 1, both included."""

    first: int
    last: int

    def overlaps(self, other: "Lines") -> bool:
        """Whether both have a line in common."""
        return self.first <= other.last and other.first <= self.last

    def with_all(self, others: Iterable["Lines"]) -> "Lines":
        """The range from the first to the last line of all of them."""
        every = [self, *others]
        return Lines(min(lines.first for lines in every), max(lines.last for lines in every))


class Span(NamedTuple):
    """A change of a text: its lines `first` to `last` became `now` lines. `last` is `first` - 1 if
    lines were only added."""

    first: int
    last: int
    now: int

    def moved(self, lines: Lines) -> Lines:
        """Where those lines are after the change, including what it put between them. A range that
        the change touches only at one end is cut there, so that two ranges without a common line
        have none afterwards. `last` is less than `first` if nothing is left."""
        return Lines(self._boundary(lines.first - 1) + 1, self._boundary(lines.last))

    def touches(self, lines: Lines) -> bool:
        """Whether the change is inside of those lines, or next to one of them inside."""
        return self.first <= lines.last and self.last >= lines.first

    def _boundary(self, after: int) -> int:
        """The place after that many lines, in the new text."""
        if after < self.first:
            return after
        if after >= self.last:
            return after + self.now - (self.last - self.first + 1)
        return min(after, self.first - 1 + self.now)


def changes(old: str, new: str) -> list[Span]:
    """The differences between two texts, by lines, in order."""
    before, two = old.split("\n"), new.split("\n")
    return [Span(were.start + 1, were.stop, len(are)) for were, are in differing(before, two)]


def difference_named(old: str, new: str) -> str:
    """`line 3: - "stood" + "lay"`, `lines 3–9: + "…" and 2 more places`: the first difference
    between two texts, with its first words and the lines of the new text."""
    spans = changes(old, new)
    if not spans:
        return "no change"
    first = spans[0]
    gone = "\n".join(old.split("\n")[first.first - 1 : first.last])
    come = "\n".join(new.split("\n")[first.first - 1 : first.first - 1 + first.now])
    last = first.first + max(first.now, 1) - 1
    where = f"lines {first.first}–{last}" if last > first.first else f"line {first.first}"
    head, tail = _common_words(gone, come)
    pairs = (("-", gone), ("+", come))
    words = [(sign, _words(piece[head : len(piece) - tail])) for sign, piece in pairs]
    text = " ".join(f'{sign} "{piece}"' for sign, piece in words if piece) or "blank lines"
    more = len(spans) - 1
    rest = f" and {more} more place{'s' if more > 1 else ''}" if more else ""
    return f"{where}: {text}{rest}"


def _common_words(old: str, two: str) -> tuple[int, int]:
    """How many characters two texts have in common at the beginning and at the end, in words."""
    most = min(len(old), len(two))
    head = next((at for at in range(most) if old[at] != two[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != two[-1 - at]), most - head)
    while head and not old[head - 1].isspace():
        head -= 1
    while tail and not old[len(old) - tail].isspace():
        tail -= 1
    return head, tail


def _words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_QUOTED else f"{line[:MOST_QUOTED].rstrip()}…"


def followed(old: str, new: str, lines: Lines) -> Lines:
    """Where lines of a text are in a newer wording of it."""
    for span in reversed(changes(old, new)):  # from the end: numbers above stay those of `old`
        lines = span.moved(lines)
    return lines


def total_of(text: str) -> int:
    """How many lines a text has, as windows count them: one after a last line break, too."""
    return text.count("\n") + 1


class WindowLine(NamedTuple):
    """A line of a window: its number in the whole text (0: none), and whether it is only padding,
    which does not belong to the range."""

    number: int
    text: str
    is_around: bool = False


def rows_of(text: str, lines: Lines, pad: int = 0) -> tuple[WindowLine, ...]:
    """The lines of a text with up to `pad` more on either side."""
    every = text.split("\n")
    first, last = max(1, lines.first - pad), min(len(every), lines.last + pad)
    return tuple(
        WindowLine(number, every[number - 1], not lines.first <= number <= lines.last)
        for number in range(first, last + 1)
    )


def owned(rows: Sequence[WindowLine]) -> list[str]:
    """The texts of the lines that belong to a window, without padding."""
    return [row.text for row in rows if not row.is_around]


def numbered(row: WindowLine) -> str:
    """`12  text`; `(12)  text` for padding; only the text if it has no number."""
    if not row.number:
        return row.text
    return f"({row.number})  {row.text}" if row.is_around else f"{row.number}  {row.text}"


def to_evict(sizes: Sequence[tuple[int, int]], most: int) -> list[int]:
    """The numbers of the windows that have to be hidden so that the others have at most `most`
    lines: from (number, lines), least recently shown first. The last one is never among them."""
    total = sum(lines for _, lines in sizes)
    gone = []
    for number, lines in sizes[:-1]:
        if total <= most:
            break
        gone.append(number)
        total -= lines
    return gone


def demand_settings(given: Mapping[str, Any]) -> None:
    """Raises INVALID_SYNTAX for an invalid setting of a workspace."""
    most = given.get("window_lines_max", 0)
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= 1_000_000:
        raise _wrong("window_lines_max is a number of lines.", "0 means no limit")
    if given.get("evict", "") not in ("", "lru"):
        raise _wrong("evict is lru or empty.", "lru hides what was shown longest ago")
    if not isinstance(given.get("auto_open", False), bool):
        raise _wrong("auto_open is true or false.", "it is off by default")
    order = given.get("order", [])
    if (
        not isinstance(order, list)
        or len(order) > MOST_ORDERED
        or not all(
            isinstance(number, int) and not isinstance(number, bool) and number > 0
            for number in order
        )
    ):
        raise _wrong(f"order is a list of at most {MOST_ORDERED} numbers of windows.", "[6, 4]")
    if given.get("truncation", TRUNCATIONS[0]) not in TRUNCATIONS:
        raise _wrong("This way of truncation does not exist.", " or ".join(TRUNCATIONS))


def _wrong(reason: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", reason, hint=hint)


def refs_named(text: str) -> list[str]:
    """The refs in a text, in order: `[a7x2]` (without its brackets) and `doc:"notes" §motive`, at
    most MOST_NAMED."""
    refs = (match[1].lower() if match[1] else match[0] for match in _NAMED.finditer(text))
    return list(dict.fromkeys(refs))[:MOST_NAMED]
