"""Workspaces as pages and the API show them: position, drafts, tasks, and the lines of turns with
their texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine.models import Step
from loom.engine.steps import items_of
from loom.language import ids
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.front_matter import title_key
from loom.text.hashes import digest_of, instant
from loom.text.shortening import digest_named, plain
from loom.text.tokens import count
from loom.trees.models import Draft, Node, Tree, VersionChoice, Workspace
from loom.trees.queries.outline import outline_of, outline_text
from loom.trees.queries.trees import position_of
from loom.turns import budgets
from loom.turns.budgets import Spent
from loom.turns.models import Generation, Turn
from loom.turns.queries import budget_of, spent_of, turns
from loom.workspace.models import Task
from loom.workspace.queries.augments import Augment, Loaded, loaded_in
from loom.workspace.queries.notifications import notifications_of
from loom.workspace.queries.tasks import current_tasks
from loom.workspace.queries.window_contents import (
    WindowContent,
    contents_of,
    window_body,
    windows_shown,
)
from loom.workspace.queries.windows import settings_of, visible

MOST_NOTES = 50
MOST_ARCHIVED = 100  # archived tasks that are listed, the newest ones
TASK_MARKS = {"unchecked": "[ ]", "checked": "[x]", "archived": "[-]"}


def draft_body(draft: Draft) -> dict[str, Any]:
    """One draft: slot (a local id), kind, text, and the time that identifies its state."""
    return {
        "slot": draft.slot.local_id,
        "kind": draft.kind,
        "text": draft.text,
        "at": instant(draft.at),
    }


def drafts_of(actor: Actor, workspace: Workspace) -> list[dict[str, Any]]:
    """All drafts of a workspace, oldest first; those of a person only for themselves."""
    if workspace.participant_id != actor.participant.pk:
        return []
    rows = Draft.objects.filter(workspace=workspace).select_related("slot")
    return [draft_body(draft) for draft in rows.order_by("id")]


def text_at(workspace: Workspace, node: Node, kind: str) -> str:
    """What was typed at a node's slot and is not a node yet; "" for nothing."""
    rows = Draft.objects.filter(workspace=workspace, slot=node.slot_id, kind=kind)
    return rows.values_list("text", flat=True).first() or ""


@dataclass(frozen=True)
class Parts:
    """What several parts of a body are made from, read once: the windows that are not closed, with
    what they show, the current tasks, and the augments."""

    windows: Sequence[WindowContent]
    tasks: Sequence[Task]
    loaded: Loaded


def workspace_body(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The body of docs/model.md §14.3, "Workspaces"; parts that are planned are empty."""
    parts = Parts(
        windows=windows_shown(actor, workspace),
        tasks=current_tasks(workspace),
        loaded=loaded_in(workspace),
    )
    return {
        "id": workspace.uid,
        "participant": workspace.participant.uid,
        "tree": workspace.tree.uid,
        "position": position_of(workspace.tree, workspace),
        "versions": versions_of(workspace),
        "revision": workspace.revision,
        "status": _status(actor, workspace, parts),
        "windows": [window_body(window) for window in parts.windows],
        "tasks": [_task_body(task) for task in (*parts.tasks, *_archived(workspace))],
        "scratchpad": workspace.scratchpad,
        "augments": _augments(parts.loaded),
        "outline": outline_of(workspace),
        "notifications": [
            {"text": notification} for notification in notifications_of(actor, workspace)
        ],
        "drafts": drafts_of(actor, workspace),
        "settings": settings_of(workspace),
    }


_GOING_ON = PreparedQuery(
    lambda: turns().filter(
        participant=Given("participant"), tree=Given("tree"), ended_at__isnull=True
    )
)


def status_of(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The last step seen, the number of steps, and the tokens of the view that the actor may see,
    in total and by section; the running turn, and what it has used."""
    parts = Parts(
        windows=contents_of(actor, workspace, visible(workspace)),
        tasks=current_tasks(workspace),
        loaded=loaded_in(workspace),
    )
    return _status(actor, workspace, parts)


def _status(actor: Actor, workspace: Workspace, parts: Parts) -> dict[str, Any]:
    todos = [line for task in parts.tasks for line in task_lines(task)]
    sections = {
        "AUGMENTS": sum(count(text.text) for text in parts.loaded.texts),
        "OUTLINE": count(outline_text(actor, workspace)),
        "WINDOWS": sum(window.tokens for window in parts.windows if window.window.is_visible),
        "TODOS": count("\n".join(todos)),
        "SCRATCHPAD": count(workspace.scratchpad),
    }
    going_on = _GOING_ON.all(participant=workspace.participant_id, tree=workspace.tree_id)
    now = going_on[-1] if going_on else None
    seen = {
        "checkpoint": workspace.checkpoint,
        "steps": workspace.steps_made,
        "turn": now.uid if now else None,
        "budget": budgets.shown(budget_of(now), spent_of(now, timezone.now())) if now else "",
    }
    return {**seen, "tokens": sum(sections.values()), "sections": sections}


def versions_of(workspace: Workspace) -> dict[str, str]:
    """The version chosen for each slot, by the local id of the slot."""
    choices = VersionChoice.objects.filter(workspace=workspace)
    return dict(choices.values_list("slot__local_id", "node__local_id"))


def task_rows(workspace: Workspace) -> QuerySet[Task]:
    """The tasks that were not removed, in no order."""
    return Task.objects.filter(workspace=workspace.pk, is_removed=False).order_by()


def listed_tasks(workspace: Workspace) -> list[Task]:
    """The tasks that were not removed, and the newest archived ones after them."""
    return [*current_tasks(workspace), *_archived(workspace)]


def _archived(workspace: Workspace) -> QuerySet[Task]:
    return task_rows(workspace).filter(state="archived").order_by("-number")[:MOST_ARCHIVED]


def last_task_number(workspace: Workspace) -> int:
    """The highest number that a task of the workspace has had; numbers are never used again."""
    rows = Task.objects.filter(workspace=workspace.pk)
    return rows.aggregate(last=Max("number"))["last"] or 0


def task_mark(task: Task) -> str:
    """`[ ]`, `[x]` or `[-]`."""
    return TASK_MARKS[task.state]


def task_lines(task: Task) -> list[str]:
    """`t7 [ ] text`, and a line for each note."""
    return [
        f"t{task.number} {task_mark(task)} {plain(task.text)}",
        *(f"  note: {plain(note)}" for note in task.notes),
    ]


def task_brief(task: Task) -> dict[str, Any]:
    """A task as events name it: its texts are in its row."""
    return {
        "number": task.number,
        "state": task.state,
        "place": task.place,
        "removed": task.is_removed,
    }


def tasks_of(workspace: Workspace) -> list[dict[str, Any]]:
    """The bodies of the tasks, in their order, and of the newest archived ones."""
    return [_task_body(task) for task in listed_tasks(workspace)]


def _task_body(task: Task) -> dict[str, Any]:
    return {
        **task_brief(task),
        "ref": f"t{task.number}",
        "text": task.text,
        "notes": task.notes,
        "made_at": instant(task.made_at),
    }


def led_out(steps: Sequence[Step], tree: Tree, items: Mapping[int, list[int]]) -> set[int]:
    """The row ids of those steps in a tree that touched an item of another grove, or of a tree that
    is hidden from somebody (`items` as `items_of` returns them): not every member may see their
    texts. One query, none if all items
    are of that tree."""
    homes = {step.pk: set(map(ids.home_of, items[step.pk])) for step in steps}
    every = set().union(*homes.values()) - {tree.pk}
    if not every:
        return set()
    away = Tree.objects.filter(~Q(grove=tree.grove_id) | access.hidden_from_some(), pk__in=every)
    trees = set(away.values_list("pk", flat=True))
    return {key for key, touched in homes.items() if touched & trees}


def texts_of(steps: Sequence[Step]) -> dict[int, str]:
    """The texts that stored lines only name, by the id of the step: those of the nodes that the
    steps touched, found by their hashes. Two queries; none if no line names one."""
    named = [(step, digest) for step in steps if (digest := digest_named(step.canonical))]
    touched = items_of(step for step, _ in named) if named else {}
    items = chain.from_iterable(touched.values())
    keys = [key for item in items if (key := ids.node_id(item)) is not None]
    if not keys:
        return {}
    rows = Node.objects.filter(pk__in=keys).values_list("text", flat=True)
    texts = {digest_of(text): text for text in rows}
    return {step.pk: texts[digest] for step, digest in named if digest in texts}


def said_in(generation: Generation, turn: Turn) -> str:
    """The text of a round of a turn, up to its cut, from the row of its generation or from the
    node that it became."""
    over = {turn_round["generation"]: turn_round for turn_round in turn.rounds}
    kept: dict[str, Any] = over.get(generation.uid, {})
    if kept.get("is_answer") and turn.node is not None:
        return turn.node.text
    return generation.text[: kept.get("length")]


def spent_in(
    turn: Turn, now: datetime, steps: Iterable[Step], items: Mapping[int, list[int]], depth: int
) -> Spent:
    """What a turn has used, from its lines, their items and the `depth` of its windows, as far as
    pages show it; no query."""
    used = [step for step in steps if step.outcome == "ok"]
    return Spent(
        steps=len(used),
        depth=depth,
        items=len(set(chain.from_iterable(items[step.pk] for step in used))),
        rounds=len(turn.rounds),
        milliseconds=int(((turn.ended_at or now) - turn.created_at).total_seconds() * 1000),
        tokens=turn.used_tokens,
    )


def circle_of(augment: Augment, every: Sequence[Augment]) -> list[str]:
    """The names of a circle of requirements that leads back to `augment`; [] if there is none."""
    named = {**{other.key: other for other in every}, augment.key: augment}
    ways = [[augment.key, title_key(name)] for name in reversed(augment.requires)]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        if way[-1] == augment.key:
            return [named[key].name for key in way]
        if way[-1] in named and way[-1] not in seen:
            seen.add(way[-1])
            ways += [[*way, title_key(name)] for name in reversed(named[way[-1]].requires)]
    return []


def augments_body(workspace: Workspace) -> list[dict[str, Any]]:
    """The augments of the grove, by name, and what the workspace has loaded of them."""
    return _augments(loaded_in(workspace))


def _augments(loaded: Loaded) -> list[dict[str, Any]]:
    names = {augment.key for augment in loaded.every}
    return [
        {
            "name": augment.name,
            "document": f"doc:{augment.uid}",
            "loaded": augment in loaded.texts,
            "chosen": augment in loaded.chosen,
            "pinned": augment in loaded.pinned,
            "requires": list(augment.requires),
            "missing": [name for name in augment.requires if title_key(name) not in names],
            "required_by": loaded.needing(augment) if augment in loaded.texts else [],
            "tools": list(augment.tools),
            "characters": len(augment.text),
        }
        for augment in loaded.every
    ]
