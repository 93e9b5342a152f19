"""The difference between two texts in the unified format of `diff`. Pure."""

from collections.abc import Iterator, Sequence

from loom.text.edits import differing

Ranges = tuple[range, range]


def unified_diff(
    old: Sequence[str], new: Sequence[str], names: tuple[str, str] = ("", ""), *, around: int = 3
) -> Iterator[str]:
    """The lines of a unified diff with that many equal lines `around` each change; nothing for
    equal texts. As those of `difflib`, but in n log n steps, whatever the lines are."""
    changes = list(differing(old, new))
    if changes:
        yield f"--- {names[0]}"
        yield f"+++ {names[1]}"
    for group in _groups(changes, 2 * around):
        first, last = group[0], group[-1]
        above = min(around, first[0].start)
        below = min(around, len(old) - last[0].stop)
        was = range(first[0].start - above, last[0].stop + below)
        now = range(first[1].start - above, last[1].stop + below)
        yield f"@@ -{_place(was)} +{_place(now)} @@"
        at = was.start
        for gone, come in group:
            yield from (f" {line}" for line in old[at : gone.start])
            yield from (f"-{line}" for line in old[gone.start : gone.stop])
            yield from (f"+{line}" for line in new[come.start : come.stop])
            at = gone.stop
        yield from (f" {line}" for line in old[at : was.stop])


def _groups(changes: Sequence[Ranges], most: int) -> Iterator[list[Ranges]]:
    """Changes with at most that many equal lines between them."""
    group: list[Ranges] = []
    for change in changes:
        if group and change[0].start - group[-1][0].stop > most:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _place(lines: range) -> str:
    """Lines as a header names them, from 1: the first one and how many; where there are none, the
    one before."""
    if len(lines) == 1:
        return str(lines.start + 1)
    return f"{lines.start + 1 if lines else lines.start},{len(lines)}"
