"""Writers of chats: OpenAI chat JSONL, preference pairs, and a path as a chat of SillyTavern."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from loom.models import Node
from loom.queries.node_rows import NodeRow, rows_of
from loom.rules.identity import instant
from loom.transfer.selection import (
    IDS_AT_ONCE,
    Marked,
    Selection,
    Step,
    Wanted,
    batched,
    select,
    siblings,
)

Message = dict[str, Any]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
SWIPES = 200  # siblings of one message that are written


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


class Dialogue:
    """The messages of the path that a walk is at. `system`: what models are told in this tree."""

    def __init__(self, selection: Selection) -> None:
        self.wanted = selection.wanted
        self.is_dialogue = selection.tree.mode == "dialogue"
        system = selection.tree.system_context
        self.head = [{"role": "system", "content": system}] if system else []
        self._rows: list[NodeRow] = []

    def enter(self, step: Step, row: NodeRow) -> None:
        """Goes to a slot, whose place was visited before what is below it."""
        del self._rows[step.depth :]
        self._rows.append(row)

    def rows(self, *, most: int | None = None) -> list[NodeRow]:
        """The rows of the path with a text that may be sent to models; the first `most` levels."""
        return [row for row in self._rows[:most] if row.text and not row.excluded]

    def messages(self, rows: list[NodeRow]) -> list[Message]:
        """The rows as messages: one for each text of a dialogue; of a buffer, one for each run of
        texts with the same role."""
        made: list[Message] = list(self.head)
        for row in rows:
            role = "assistant" if row.author_kind == "model" else "user"
            is_run = not self.is_dialogue and len(made) > len(self.head)
            if is_run and made[-1]["role"] == role:
                made[-1]["content"] += row.text
                continue
            made.append({"role": role, "content": row.text})
            if self.wanted.authors and self.is_dialogue and _NAME.fullmatch(row.author_name):
                made[-1]["name"] = row.author_name
        return made


def jsonl(wanted: Wanted) -> Iterator[bytes]:
    """One line for the path, or one for every leaf: `{"messages": [{role, content}]}`. Excluded
    texts are left out, as they are of every request to a model."""
    selection = select(wanted)
    talk = Dialogue(selection)
    for step, row in selection.read():
        talk.enter(step, row)
        if step.below:
            continue
        rows = talk.rows()
        if rows:
            yield _line({"messages": talk.messages(rows)})


# Preferences: which of the siblings somebody chose.


def preferences(wanted: Wanted) -> Iterator[bytes]:
    """A line for each pair of siblings of which one was chosen and the other was not, and of which
    a model wrote at least one. A text is chosen if it is bookmarked, goes on, or is on the path
    that was asked for; it is rejected if it was pruned, or none of these while a sibling was."""
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
    """The text so far of a buffer, as the one message that models are to go on with."""
    text = "".join(row.text for row in rows)
    return [*talk.head, {"role": "user", "content": text}] if text else list(talk.head)


def _pairs(
    context: list[Message], chosen: list[NodeRow], rejected: list[NodeRow]
) -> Iterator[bytes]:
    for good in chosen:
        for bad in rejected:
            if "model" in (good.author_kind, bad.author_kind) and good.text != bad.text:
                yield _line(
                    {
                        "input": {"messages": context},
                        "preferred_output": [{"role": "assistant", "content": good.text}],
                        "non_preferred_output": [{"role": "assistant", "content": bad.text}],
                    }
                )


# SillyTavern


def sillytavern(wanted: Wanted) -> Iterator[bytes]:
    """One path as a chat: a line about the chat, then a line for each text, with the texts beside
    it as its swipes. Excluded texts are hidden messages there."""
    selection = select(wanted)
    yield _line(
        {
            "user_name": wanted.actor.participant.name,
            "character_name": _first_model(selection),
            "create_date": instant(selection.tree.created_at),
            "chat_metadata": {"integrity": selection.tree.uid},
        }
    )
    for page in selection.pages():
        beside = siblings(selection, [step.slot for step, _ in page], most=SWIPES)
        for step, row in page:
            if row.text:
                yield _line(_said(wanted, row, rows_of(beside.get(step.slot, []))))


def _first_model(selection: Selection) -> str:
    rows = Node.objects.filter(author__kind="model").order_by("depth")
    for keys in batched(selection.chosen.values(), IDS_AT_ONCE):
        name = rows.filter(pk__in=keys).values_list("author__name", flat=True).first()
        if name:
            return name
    return "Assistant"


def _said(wanted: Wanted, row: NodeRow, beside: list[NodeRow]) -> Message:
    is_model = row.author_kind == "model"
    body: Message = {
        "name": row.author_name if wanted.authors else ("Assistant" if is_model else "User"),
        "is_user": not is_model,
        "is_system": row.excluded,
        "send_date": row.at,
        "mes": row.text,
        "extra": {"model": row.author_name, "api": "heddle"} if is_model else {},
    }
    others = [one for one in beside if one.text and (one.author_kind == "model") == is_model]
    if is_model and any(one.id == row.id for one in others):
        body["swipe_id"] = next(at for at, one in enumerate(others) if one.id == row.id)
        body["swipes"] = [one.text for one in others]
        body["swipe_info"] = [
            {"send_date": one.at, "extra": {"model": one.author_name}} for one in others
        ]
    return body
