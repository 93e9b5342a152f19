"""What a participant keeps in view: the state of a window, and ranges of lines. Pure.

See docs/model.md §3. A window is visible or hidden until it is closed. One that is kept stays;
any other is hidden at the end of the turn in which it was opened, or of the next turn where it
was opened between turns. `show`, or its number in the answer, extends it by one turn.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from loom.rules.errors import CommandError

MOST_VISIBLE = 40  # windows of one workspace
MOST_STASHED = 200
_NUMBER = re.compile(r"(?<![\w#&])#([1-9][0-9]{0,8})(?![\w-])")


@dataclass(frozen=True)
class State:
    """Of one window. `is_extended`: it stays for one more turn."""

    is_visible: bool = True
    is_kept: bool = False
    is_extended: bool = False
    is_closed: bool = False

    def _open(self) -> "State":
        if self.is_closed:
            raise CommandError("REJECTED", "This window is closed.", hint="open it again")
        return self

    def shown(self, *, in_turn: bool, keep: bool = False) -> "State":
        """Visible; during a turn for one turn more. With `keep` it stays until it is hidden."""
        kept = self._open().is_kept or keep
        return State(is_visible=True, is_kept=kept, is_extended=in_turn and not kept)

    def hidden(self) -> "State":
        """Hidden; a kept one stays so when it is shown again."""
        return replace(self._open(), is_visible=False, is_extended=False)

    def closed(self) -> "State":
        """Closed for good."""
        self._open()
        return State(is_visible=False, is_closed=True)

    def after_turn(self, *, is_mentioned: bool) -> "State":
        """As it is when a turn has ended, whose answer may have mentioned it."""
        if self.is_closed or self.is_kept:
            return self
        if self.is_visible and (self.is_extended or is_mentioned):
            return replace(self, is_extended=False)
        return State(is_visible=is_mentioned)


@dataclass(frozen=True)
class Lines:
    """A range of lines of an item, from 1, both included."""

    first: int
    last: int

    def overlaps(self, other: "Lines") -> bool:
        """Whether both hold a line."""
        return self.first <= other.last and other.first <= self.last

    def with_all(self, others: Iterable["Lines"]) -> "Lines":
        """The range from the first to the last line of all of them."""
        every = [self, *others]
        return Lines(min(one.first for one in every), max(one.last for one in every))


def mentioned(text: str) -> set[int]:
    """The numbers of windows that a text mentions: `#14`, but not `#1st` or `a#1`."""
    return {int(found) for found in _NUMBER.findall(text)}
