"""A window as a request shows it: its header, its numbered lines and its links. Pure."""

from dataclasses import dataclass, replace

from loom.text.frames import escaped, frames_escaped
from loom.text.shortening import plain
from loom.text.tokens import count
from loom.workspace.window_rules import LARGE, WindowLine, numbered

LEAST_OF_LINE = 20  # tokens of a line that are shown


@dataclass(frozen=True)
class Pane:
    """A visible window: its number, what it shows, its `kind`, and its `lines`; `more` says how to
    read on if there was no room for all of them. `span` is the first and last line in a text of
    `total` lines, whose `revision` is shown. `notes` say why and how it is there; `is_kept`: it
    stays after the turn; `stale`: what is newer; `changes`: the last ones, newest first; `links`:
    those of what it shows, by type, as portals: `▶ [supports] ──→ 2 nodes`."""

    number: int
    name: str
    lines: tuple[WindowLine, ...]
    kind: str = ""
    span: tuple[int, int] | None = None
    total: int = 0
    revision: int = 0
    notes: tuple[str, ...] = ()
    is_kept: bool = False
    stale: str = ""
    label: str = ""
    changes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    more: str = ""

    def within(self, tokens: int) -> "Pane":
        """The window with its first lines, of about so many tokens, and how to read on (`more`);
        the same if all of it fits. At least the beginning of its first line stays."""
        lines, used = [], 0
        for row in self.lines:
            used += count(row.text) + 1
            if used > tokens:
                break
            lines.append(row)
        if len(lines) == len(self.lines):
            return self
        last = self.lines[-1].number
        if lines and last:
            following = f"→ resize #{self.number} lines:{lines[-1].number + 1}-{last}"
            more = f"up to line {lines[-1].number}, there is no room for more: {following}"
        else:
            begun = self.lines[len(lines)]
            rest = max(tokens - sum(count(line.text) + 1 for line in lines), LEAST_OF_LINE)
            lines.append(begun._replace(text=f"{begun.text[: rest * 4]}…"))
            more = f"cut, there is no room for more: → view #{self.number} part:1 reads it in parts"
        return replace(self, lines=tuple(lines), more=more)

    @property
    def count(self) -> int:
        """The number of its lines, without padding."""
        return sum(not line.is_around for line in self.lines)

    @property
    def extent(self) -> str:
        """`lines 3-9 (7)`, `lines 1-200 (200 of 812)`; nothing without a span."""
        if self.span is None:
            return ""
        first, last = self.span
        size = last - first + 1
        of = f" of {self.total:,}" if self.total > max(LARGE, size) else ""
        return f"lines {first}-{last} ({size}{of})"


def pane_text(pane: Pane) -> str:
    """A window as a request shows it."""
    head = [
        f"#{pane.number} {plain(pane.name)}",
        pane.extent,
        f"revision {pane.revision}" if pane.revision else "",
        pane.kind,
        *map(plain, pane.notes),
        "keep" if pane.is_kept else "",
        pane.stale,
        f"label {plain(pane.label)}" if pane.label else "",
    ]
    body = "\n".join(numbered(_escaped(pane, line)) for line in pane.lines)
    body += f"\n({pane.more})" if pane.more else ""
    title = " · ".join(part for part in head if part)
    changed = "".join(f"\n({plain(change)})" for change in pane.changes)
    links = "".join(f"\n{portal}" for portal in pane.links)
    return f"---WINDOW {title}{changed}\n{body}{links}\n---WINDOW_END #{pane.number}"


OURS = ("result", "branch", "range", "tree")  # windows with headers of our own, without a number


def _escaped(pane: Pane, row: WindowLine) -> WindowLine:
    is_ours = pane.kind in OURS and not row.number
    return row._replace(text=(frames_escaped if is_ours else escaped)(row.text))
