"""Cutting a path to what a model can read: the three truncations of a tree. PURE.

Counts are estimates of about four characters a token. See docs/model.md §6.3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loom.rules import node_text

KEPT_AT_THE_END = 4  # nodes that truncateMiddle never leaves out
GAP = "gap"  # the role of the part that stands for what was left out
MARKER = "[…]"

Counted = Callable[[str], int]
count = node_text.count


class TooLong(ValueError):
    """What must be sent exceeds the room there is; the text is one sentence."""

    def __init__(self, tokens: int, room: int) -> None:
        super().__init__(
            f"The path has about {tokens:,} tokens, and there is room for {max(room, 0):,}."
        )


@dataclass(frozen=True)
class Part:
    """One text of the path and whose it is: `user`, `assistant` or GAP."""

    role: str
    text: str


@dataclass(frozen=True)
class Portion:
    """One section of a request: its exact text and how many tokens that has. `detail` says what
    it holds, `note` why it is there, or what of it was shortened or left out and why."""

    name: str
    text: str
    tokens: int
    detail: str = ""
    note: str = ""


@dataclass(frozen=True)
class Fitted:
    """What is left of the parts, and a note for the reader of the answer ("": nothing went)."""

    parts: tuple[Part, ...]
    note: str = ""


def count_small(text: str) -> int:
    """The same for a small vocabulary, which spells other scripts by parts of letters.

    Measured with SmolLM2, bytes a token: Chinese 1.5, Japanese 1.6, Arabic 2.0, Russian 2.3.
    """
    if text.isascii():
        return count(text)
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + -(-(len(text.encode()) - plain) * 2 // 3)


def total(parts: Sequence[Part], counted: Counted) -> int:
    """About how many tokens the parts have together."""
    return sum(counted(part.text) for part in parts)


def truncate_middle(
    parts: Sequence[Part], room: int, counted: Counted = count, kept: int = KEPT_AT_THE_END
) -> Fitted:
    """The first nodes, a marker, and the last ones: at least `kept` of them, cut in front
    where even they do not fit."""
    if total(parts, counted) <= room:
        return Fitted(tuple(parts))
    tail = tuple(parts[-kept:])
    left = room - total(tail, counted) - counted(MARKER)
    if left < 0:
        return rolling_window(tail, room, counted)
    head = list(parts[: -len(tail)])
    first = _fitting(head, left // 4, counted) or _fitting(head[:1], left, counted)
    rest = head[len(first) :]
    last = _fitting(rest[::-1], left - total(first, counted), counted)[::-1]
    missing = len(rest) - len(last)
    return Fitted(
        (*first, Part(GAP, MARKER), *last, *tail),
        f"left out {missing:,} node{'' if missing == 1 else 's'} in the middle",
    )


def _fitting(parts: Sequence[Part], room: int, counted: Counted) -> list[Part]:
    """The parts from the start on that fit together."""
    kept: list[Part] = []
    for part in parts:
        room -= counted(part.text)
        if room < 0:
            break
        kept.append(part)
    return kept


def rolling_window(parts: Sequence[Part], room: int, counted: Counted = count) -> Fitted:
    """The end of the path; the oldest text is cut inside, after a blank if one is near."""
    if total(parts, counted) <= room:
        return Fitted(tuple(parts))
    kept = _fitting(parts[::-1], room, counted)[::-1]
    cut = parts[len(parts) - len(kept) - 1]
    left = room - total(kept, counted)
    end = _end_of(cut.text, left, counted) if left else ""
    begun = [Part(cut.role, end)] if end else []
    return Fitted((*begun, *kept), f"read the last {room:,} tokens")


def _end_of(text: str, room: int, counted: Counted) -> str:
    """The longest end of `text` that fits, without a broken word in front where it can be."""
    text = text[-4 * room :]  # no count is below a quarter of the characters
    low, high = 0, len(text)  # the first start that fits lies between
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if counted(text[middle:]) <= room else (middle + 1, high)
    end = text[low:]
    blank = next((at for at, char in enumerate(end[:80]) if char.isspace()), -1)
    return end[blank + 1 :]


def stop_at_limit(parts: Sequence[Part], room: int, counted: Counted = count) -> Fitted:
    """All parts. Raises TooLong where they do not fit."""
    tokens = total(parts, counted)
    if tokens > room:
        raise TooLong(tokens, room)
    return Fitted(tuple(parts))


TRUNCATIONS: dict[str, Callable[[Sequence[Part], int, Counted], Fitted]] = {
    "rollingWindow": rolling_window,
    "stopAtLimit": stop_at_limit,
}


def fit(
    parts: Sequence[Part],
    truncation: str,
    room: int,
    counted: Counted = count,
    *,
    kept: int = KEPT_AT_THE_END,
) -> Fitted:
    """The parts cut to `room` tokens by a truncation; `kept`: the last nodes that truncateMiddle
    never leaves out.

    Raises TooLong where there is no room at all, or the truncation says stop.
    """
    if room <= 0:
        raise TooLong(total(parts, counted), room)
    if truncation == "truncateMiddle":
        return truncate_middle(parts, room, counted, kept)
    return TRUNCATIONS[truncation](parts, room, counted)
