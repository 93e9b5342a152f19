"""Writers of chats: OpenAI chat JSONL and SillyTavern."""

import json
import re
from collections.abc import Iterator
from typing import Any

from loom.text.hashes import instant
from loom.transfer.selection import (
    IDS_AT_ONCE,
    ExportSelection,
    Selection,
    WalkStep,
    batched,
    select,
    siblings,
)
from loom.trees.models import Node
from loom.trees.queries.lookup import NodeRow, rows_of

Message = dict[str, Any]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
USER, ASSISTANT = "User", "Assistant"  # what authors are called without names
SWIPES = 200  # siblings of one message that are written


def json_line(value: Any) -> bytes:
    """A value as a line of a JSONL file."""
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


class Dialogue:
    """The messages of the current path of a walk. `system`: the tree's system context."""

    def __init__(self, selection: Selection) -> None:
        self.wanted = selection.wanted
        self.is_dialogue = selection.tree.mode == "dialogue"
        system = selection.tree.system_context
        self.head = [{"role": "system", "content": system}] if system else []
        self._rows: list[NodeRow] = []

    def enter(self, step: WalkStep, row: NodeRow) -> None:
        """Goes to a slot, whose place was visited before what is below it."""
        del self._rows[step.depth :]
        self._rows.append(row)

    def rows(self, *, most: int | None = None) -> list[NodeRow]:
        """The rows of the path with a text that may be sent to models; the first `most` levels."""
        return [row for row in self._rows[:most] if row.text and not row.excluded]

    def messages(self, rows: list[NodeRow]) -> list[Message]:
        """The rows as messages: one for each text of a dialogue; of a buffer, one for each run of
        texts with the same role."""
        messages: list[Message] = list(self.head)
        for row in rows:
            role = "assistant" if row.author_kind == "model" else "user"
            is_run = not self.is_dialogue and len(messages) > len(self.head)
            if is_run and messages[-1]["role"] == role:
                messages[-1]["content"] += row.text
                continue
            messages.append({"role": role, "content": row.text})
            if self.wanted.authors and self.is_dialogue and _NAME.fullmatch(row.author_name):
                messages[-1]["name"] = row.author_name
        return messages


def jsonl(wanted: ExportSelection) -> Iterator[bytes]:
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
            yield json_line({"messages": talk.messages(rows)})


# SillyTavern


def sillytavern(wanted: ExportSelection) -> Iterator[bytes]:
    """One path as a chat: a line about the chat, then a line for each text, with its siblings as
    swipes. Excluded texts are hidden messages there."""
    selection = select(wanted)
    yield json_line(
        {
            "user_name": wanted.actor.participant.name if wanted.authors else USER,
            "character_name": _first_model(selection) if wanted.authors else ASSISTANT,
            "create_date": instant(selection.tree.created_at),
            "chat_metadata": {"integrity": selection.tree.uid},
        }
    )
    for page in selection.pages():
        beside = siblings(selection, [step.slot for step, _ in page], most=SWIPES)
        for step, row in page:
            if row.text:
                yield json_line(_message_of(wanted, row, rows_of(beside.get(step.slot, []))))


def _first_model(selection: Selection) -> str:
    rows = Node.objects.filter(author__kind="model").order_by("depth")
    for keys in batched(selection.chosen.values(), IDS_AT_ONCE):
        name = rows.filter(pk__in=keys).values_list("author__name", flat=True).first()
        if name:
            return name
    return ASSISTANT


def _message_of(wanted: ExportSelection, row: NodeRow, beside: list[NodeRow]) -> Message:
    is_model = row.author_kind == "model"
    body: Message = {
        "name": row.author_name if wanted.authors else (ASSISTANT if is_model else USER),
        "is_user": not is_model,
        "is_system": row.excluded,
        "send_date": row.at,
        "mes": row.text,
        "extra": {**_model_of(wanted, row), "api": "heddle"} if is_model else {},
    }
    others = [
        other for other in beside if other.text and (other.author_kind == "model") == is_model
    ]
    if is_model and any(other.id == row.id for other in others):
        body["swipe_id"] = next(at for at, other in enumerate(others) if other.id == row.id)
        body["swipes"] = [other.text for other in others]
        body["swipe_info"] = [
            {"send_date": other.at, "extra": _model_of(wanted, other)} for other in others
        ]
    return body


def _model_of(wanted: ExportSelection, row: NodeRow) -> Message:
    """The model that wrote a text, unless names are left out."""
    return {"model": row.author_name} if wanted.authors else {}
