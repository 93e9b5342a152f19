"""How long a window stays visible (docs/model.md §3), and which windows a text mentions. Pure."""

import re
from dataclasses import dataclass, replace

from loom.errors import CommandError

# How long a window stays visible. One that is kept stays; any other is hidden at the end of the
# turn in which it was opened, or of the next turn if it was opened between turns. `show`, or its
# number in the answer, extends it by one turn (docs/model.md §3).

_NUMBER = re.compile(r"(?<![\w#&])#([1-9][0-9]{0,8})(?![\w-])")


@dataclass(frozen=True)
class WindowState:
    """The state of one window. `is_extended`: it stays for one more turn."""

    is_visible: bool = True
    is_kept: bool = False
    is_extended: bool = False
    is_closed: bool = False

    def _open(self) -> "WindowState":
        if self.is_closed:
            raise CommandError("REJECTED", "This window is closed.", hint="open it again")
        return self

    def shown(self, *, in_turn: bool, keep: bool = False) -> "WindowState":
        """Visible; during a turn for one turn more. With `keep` it stays until it is hidden."""
        kept = self._open().is_kept or keep
        return WindowState(is_visible=True, is_kept=kept, is_extended=in_turn and not kept)

    def hidden(self) -> "WindowState":
        """Hidden; a kept window stays kept when it is shown again."""
        return replace(self._open(), is_visible=False, is_extended=False)

    def closed(self) -> "WindowState":
        """Closed permanently."""
        self._open()
        return WindowState(is_visible=False, is_closed=True)

    def after_turn(self, *, is_mentioned: bool) -> "WindowState":
        """The state after the end of a turn, whose answer may have mentioned the window."""
        if self.is_closed or self.is_kept:
            return self
        if self.is_visible and (self.is_extended or is_mentioned):
            return replace(self, is_extended=False)
        return WindowState(is_visible=is_mentioned)


def mentioned(text: str) -> set[int]:
    """The numbers of windows that a text mentions: `#14`, but not `#1st` or `a#1`."""
    return {int(number) for number in _NUMBER.findall(text)}
