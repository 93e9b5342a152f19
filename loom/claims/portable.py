"""The states of tasks in the texts of a tree: in a file of Heddle's own format, and in the boxes of
an export as text."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from django.utils import timezone
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from loom.access import Actor
from loom.claims.commands.text_tasks import MAX_NOTE
from loom.claims.models import TokenState
from loom.claims.queries.inline_tokens import states_among
from loom.claims.rules.inline_tokens import has_box, tokens_in
from loom.language import ids
from loom.people.models import Participant
from loom.text.counts import counted
from loom.text.hashes import instant
from loom.trees.archive_files import marks_texts
from loom.trees.feature_parts import FeaturePart, StoredPart, fitting
from loom.trees.models import Node, Tree

LARGEST = 4_000_000  # characters of all states of a file together
SHORTEST = 60  # characters of one
BATCH = 500  # states that are read together

Note = Annotated[str, Field(max_length=MAX_NOTE)]


class TaskPart(BaseModel):
    """A task of a node (`id`), by its number among the tokens of its text (`key`)."""

    model_config = ConfigDict(extra="forbid")
    id: Annotated[str, Field(max_length=8)]
    key: Annotated[str, Field(max_length=4)]
    state: Literal["unchecked", "checked", "archived"]
    notes: list[Note] = []
    at: AwareDatetime | None = None


_PART = TypeAdapter(TaskPart)


def write(_: Actor, tree: Tree) -> list[dict[str, Any]] | None:
    """The stored states of the tasks of a tree, whose nodes are all in its file; None if there are
    none. Those that are too many for the file are left out. Two queries, one if there are none."""
    rows = TokenState.objects.filter(item__range=ids.ids_in(tree.pk), kind="task")
    states = list(rows.order_by("item", "pk")[: LARGEST // SHORTEST])
    if not states:
        return None
    nodes = Node.objects.filter(pk__in=rows.values("item"))
    names = dict(nodes.values_list("pk", "local_id"))
    return fitting((_written(state, names) for state in states), LARGEST)


def _written(state: TokenState, names: Mapping[int, str]) -> dict[str, Any]:
    part = {"id": names[ids.node_id(state.item) or 0], "key": state.key, "state": state.state}
    part |= {"notes": notes} if (notes := state.data.get("notes", [])) else {}
    return {**part, "at": instant(state.at)}


def read(tree: Tree, value: Any, by: Participant) -> StoredPart:
    """Stores the states of a file for the tasks of a new tree. What is said of no task there is
    left out, and so is what cannot be read."""
    if not isinstance(value, list):
        return StoredPart(left_out=("the states of tasks, which cannot be read",))
    by_place: dict[tuple[str, str], TaskPart] = {}
    for given in value:
        with suppress(ValidationError):
            part = _PART.validate_python(given)
            by_place[part.id, part.key] = part
    parts = list(by_place.values())
    starts = range(0, len(parts), BATCH)
    stored = sum(_store(tree, parts[first : first + BATCH]) for first in starts)
    lost = len(value) - stored
    states = f"{counted(lost, 'state', 'states')} of tasks"
    left_out = (f"{states} that cannot be read or are of no task",) if lost else ()
    return StoredPart(stored, left_out)


def _store(tree: Tree, parts: Iterable[TaskPart]) -> int:
    """Stores the states of some tasks; returns how many."""
    by_place = {(part.id, part.key): part for part in parts}
    names = {name for name, _ in by_place}
    now = timezone.now()
    rows = [
        TokenState(
            item=ids.of_node(key),
            key=token.key,
            kind="task",
            state=part.state,
            data={"notes": part.notes},
            at=part.at or now,
        )
        for key, name, text in Node.objects.filter(tree=tree, local_id__in=names).values_list(
            "pk", "local_id", "text"
        )
        for token in tokens_in(text)
        if token.kind == "task" and (part := by_place.get((name, token.key))) is not None
    ]
    TokenState.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


PART = FeaturePart(write, read)


@marks_texts
def _mark_boxes(texts: Mapping[int, str]) -> dict[int, str]:
    """The texts of nodes (their row ids) whose tasks have another state than is written, with boxes
    that show it. One query if a text may have a box."""
    tokens = {ids.of_node(key): tokens_in(text) for key, text in texts.items() if has_box(text)}
    marked = {}
    for item, known in (states_among(tokens) if tokens else {}).items():
        key = ids.node_id(item) or 0
        text = texts[key]
        for token in tokens[item]:
            state = known[token.key][0]
            if token.kind == "task" and (state == "unchecked") != (token.state == "unchecked"):
                mark = " " if state == "unchecked" else "x"
                text = f"{text[: token.mark]}{mark}{text[token.mark + 1 :]}"
        if text != texts[key]:
            marked[key] = text
    return marked
