"""Which task of a new version of a text each task of the version before it is, so that what is
stored of it stays with it. Pure."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence

from loom.claims.rules.inline_tokens import InlineToken, tokens_in
from loom.text.edits import Edit, difference, kept


def tasks_of(text: str) -> list[InlineToken]:
    """The tasks of a text outside of trees, in order, with keys made from their words."""
    return [token for token in tokens_in(text, stable=True) if token.kind == "task"]


def carried_tasks(before: str, after: str) -> dict[str, str]:
    """The key in a new text of each task of the text before it, by its key there; without those
    that are gone. First come tasks with their old words at their old place, then those that were
    moved, and then those that were reworded where they are."""
    old, new = tasks_of(before), tasks_of(after)
    places = _places(old, new, difference(before, after)) if old and new else {}
    pairs = {was: now for was, now in places.items() if _plain(old[was]) == _plain(new[now])}
    free = set(range(len(new))) - set(pairs.values())
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for now in sorted(free):
        waiting[_plain(new[now])].append(now)
    for was, task in enumerate(old):
        if was not in pairs and waiting[_plain(task)]:
            pairs[was] = waiting[_plain(task)].popleft()
    free -= set(pairs.values())
    for was, now in places.items():
        if was not in pairs and now in free and _is_reworded(old[was], new[now]):
            pairs[was] = now
    return {old[was].key: new[now].key for was, now in pairs.items()}


def _places(
    old: Sequence[InlineToken], new: Sequence[InlineToken], edits: Sequence[Edit]
) -> dict[int, int]:
    """The number of the new task in which an old one ends now, by its number; each new one once.
    Not where it begins: what both have in common there may have been written above it."""
    starts = [task.mark for task in new]
    places: dict[int, int] = {}
    taken: set[int] = set()
    for number, task in enumerate(old):
        span = kept(edits, task.mark, task.last)
        now = -1 if span is None else bisect_right(starts, span[1] - 1) - 1
        if span is not None and now >= 0 and now not in taken and span[0] < new[now].last:
            places[number] = now
            taken.add(now)
    return places


def _is_reworded(task: InlineToken, other: InlineToken) -> bool:
    """Whether a task at the place of another can be that one: it has its mark, or a word of it."""
    words, others = ({*each.words.casefold().split()} for each in (task, other))
    return task.state == other.state or bool(words & others)


def _plain(task: InlineToken) -> str:
    return " ".join(task.words.split())
