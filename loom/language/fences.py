"""Fences: lines of Markdown whose content is code, so that nothing in it is a command."""

import re
from dataclasses import dataclass

_CLOSING = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t\r]*+")
_INDENT = 3


@dataclass(frozen=True)
class Fence:
    """An open fence: its mark and how deep it is."""

    mark: str
    depth: int

    def closed_by(self, line: str) -> bool:
        """Whether a line ends it: the same mark, at least as long, nothing else beside."""
        match = _CLOSING.fullmatch(line)
        return (
            match is not None
            and match[2].startswith(self.mark)
            and len(match[1]) <= self.depth + _INDENT
        )


# A fence may be in an item of a list. Deeper ones than Markdown's count too: where it is
# not clear whether text is code, it is not run.
_OPENING = re.compile(r"((?:[ \t]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*)(`{3,}+|~{3,}+)(.*)", re.DOTALL)


def opens(line: str) -> Fence | None:
    """The fence that a line opens. A line of backticks with others after them opens none."""
    match = _OPENING.match(line)
    if match is None or (match[2][0] == "`" and "`" in match[3]):
        return None
    return Fence(match[2], len(match[1]))
