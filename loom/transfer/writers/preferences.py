"""Preference pairs: which of the siblings somebody chose, as lines of a file for training."""

from collections.abc import Iterator
from dataclasses import replace

from loom.transfer.selection import ExportSelection, Marked, Selection, select
from loom.transfer.writers.chats import Dialogue, Message, json_line
from loom.trees.queries.lookup import NodeRow, rows_of


def preferences(wanted: ExportSelection) -> Iterator[bytes]:
    """A line for each pair of siblings of which one was chosen and the other was not, and at least
    one was written by a model. A text is chosen if it is bookmarked, has continuations, or is on
    the requested path; it is rejected if it was pruned, or is none of these while a sibling is."""
    selection = select(replace(wanted, end=None), pruned=True)
    path = select(wanted) if wanted.end is not None else None
    chosen_slots = set(path.chosen) if path else set()
    marks = selection.marks()
    talk = Dialogue(selection)
    hidden = -1  # the depth of the pruned text that the walk is below
    for step, row in (path or selection).read():
        talk.enter(step, row)
        hidden = hidden if 0 <= hidden < step.depth else -1
        if hidden < 0 and step.slot in selection.pruned:
            hidden = step.depth
        if hidden >= 0:
            continue
        chosen, rejected = _judged(selection, marks, step.slot, chosen_slots)
        if not (chosen and rejected):
            continue
        rows = talk.rows()
        context = talk.messages(rows) if talk.is_dialogue else _as_one(talk, rows)
        yield from _pairs(context, _read(selection, chosen), _read(selection, rejected))


def _judged(
    selection: Selection, marks: dict[int, Marked], above: int, path: set[int]
) -> tuple[list[int], list[int]]:
    chosen: list[int] = []
    rejected: list[int] = []
    for slot in selection.below.get(above, []):
        if slot in path:
            chosen.append(slot)
        elif slot in selection.pruned:
            rejected.append(slot)
        elif marks.get(slot, Marked()).bookmarks or selection.below.get(slot):
            chosen.append(slot)
        else:
            rejected.append(slot)
    return chosen, rejected


def _read(selection: Selection, slots: list[int]) -> list[NodeRow]:
    rows = rows_of([selection.chosen[slot] for slot in slots])
    return [row for row in rows if row.text and not row.excluded]


def _as_one(talk: Dialogue, rows: list[NodeRow]) -> list[Message]:
    """The text so far of a buffer, as the one message that models should continue."""
    text = "".join(row.text for row in rows)
    return [*talk.head, {"role": "user", "content": text}] if text else list(talk.head)


def _pairs(
    context: list[Message], chosen: list[NodeRow], rejected: list[NodeRow]
) -> Iterator[bytes]:
    for good in chosen:
        for bad in rejected:
            if "model" in (good.author_kind, bad.author_kind) and good.text != bad.text:
                yield json_line(
                    {
                        "input": {"messages": context},
                        "preferred_output": [{"role": "assistant", "content": good.text}],
                        "non_preferred_output": [{"role": "assistant", "content": bad.text}],
                    }
                )
