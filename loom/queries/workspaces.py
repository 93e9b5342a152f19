"""Workspaces and turns as the API shows them: position, versions, drafts, rounds, tasks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.grammar.lines import STORED_WHOLE, digest_named, digest_of
from loom.models import (
    Draft,
    Generation,
    Node,
    Participant,
    Step,
    Task,
    Tree,
    Turn,
    VersionChoice,
    Workspace,
)
from loom.models.base import Given, Prepared
from loom.queries import lookup
from loom.queries.event_log import notifications_of
from loom.queries.outline import outline_of, outline_text
from loom.queries.trees import position_of
from loom.queries.window_contents import contents_of, windows_of
from loom.queries.windows import augments_body, depths_of, loaded_in, settings_of, visible
from loom.rules import budgets, identity
from loom.rules.budgets import Budget, Spent
from loom.rules.identity import instant
from loom.rules.node_text import count
from loom.rules.options import budget_of as budget_in

# A person's drafts in a tree, as the API shows them.


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


def workspace_body(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The body of docs/model.md §14.3, "Workspaces"; parts that are planned are empty."""
    return {
        "id": workspace.uid,
        "participant": workspace.participant.uid,
        "tree": workspace.tree.uid,
        "position": position_of(workspace.tree, workspace),
        "versions": versions_of(workspace),
        "revision": workspace.revision,
        "status": status_of(actor, workspace),
        "windows": windows_of(actor, workspace),
        "tasks": tasks_of(workspace),
        "augments": augments_body(workspace),
        "outline": outline_of(workspace),
        "notifications": [{"text": one} for one in notifications_of(actor, workspace)],
        "drafts": drafts_of(actor, workspace),
        "settings": settings_of(workspace),
    }


def status_of(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The last step seen, how many there are, and how many tokens the view takes, as far as the
    actor may see it: in all and by section; the turn that goes on, and what it has used."""
    windows = contents_of(actor, workspace, visible(workspace))
    todos = [line for task in current_tasks(workspace) for line in task_lines(task)]
    sections = {
        "AUGMENTS": sum(count(one.text) for one in loaded_in(workspace).texts),
        "OUTLINE": count(outline_text(actor, workspace)),
        "WINDOWS": sum(one.tokens for one in windows),
        "TODOS": count("\n".join(todos)),
    }
    turn = turns().filter(
        participant=workspace.participant_id, tree=workspace.tree_id, ended_at__isnull=True
    )
    now = turn.last()
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


# Turns as they are shown: what they may use, what they used, and the body of docs/model.md §14.3.


WITH = (
    "tree__grove",
    "participant",
    "invoked_by__user",
    "invoked_at",
    "answers_below",
    "input_node",
    "generation",
    "node",
)


def turns() -> QuerySet[Turn]:
    """Turns with the rows that their body needs; the request of the current round is read when
    it is asked for."""
    return Turn.objects.select_related(*WITH).defer("prepared")


# Each state of a turn reads it again: building the SQL of ten joins takes 2.7 ms (measured).
_TURN = Prepared(lambda: turns().filter(pk=Given("pk")))


def turn_again(pk: int) -> Turn:
    """One of `turns` as its row is now. Raises DoesNotExist where there is none any more."""
    found = _TURN.first(pk=pk)
    if found is None:
        raise Turn.DoesNotExist
    return found


def truncation_for(asker: Participant, tree: Tree) -> str:
    """How the path is cut in requests that somebody asks for: as they chose in the tree, else as
    the tree says. One query."""
    return truncation_in(access.known_workspace_of(asker, tree), tree)


def truncation_in(own: Workspace | None, tree: Tree) -> str:
    """The same for who asks from a workspace of theirs (None: they have none); no query."""
    return str((own.settings if own else {}).get("truncation") or tree.truncation)


def budget_of(turn: Turn) -> Budget:
    """What the turn may use: its preset and what was granted in addition."""
    of_grove = budget_in(turn.preset, turn.tree.grove.settings)
    return budgets.extended(of_grove, turn.more_steps)


def lines_of(*turns: Turn) -> QuerySet[Step]:
    """The steps of the lines of turns, in order; one per line, also if it made several."""
    named = [one.uid for one in turns]
    return Step.objects.filter(turn_uid__in=named).exclude(turn_place="").order_by("id")


def led_out(steps: Sequence[Step], tree: Tree, items: Mapping[int, list[int]]) -> set[int]:
    """The row ids of those steps in a tree that touched an item of another grove (`items` as
    `items_of` returns them): not every member may see their texts. One query, none where all
    items are of that tree."""
    homes = {step.pk: set(map(identity.home_of, items[step.pk])) for step in steps}
    every = set().union(*homes.values()) - {tree.pk}
    if not every:
        return set()
    away = Tree.objects.filter(pk__in=every).exclude(grove=tree.grove_id)
    trees = set(away.values_list("pk", flat=True))
    return {key for key, touched in homes.items() if touched & trees}


def texts_of(steps: Sequence[Step]) -> dict[int, str]:
    """The texts that stored lines only name, by the id of the step: those of the nodes that
    the steps touched, found by their digests. Two queries; none where no line names one."""
    named = [(step, digest) for step in steps if (digest := digest_named(step.canonical))]
    touched = lookup.items_of(step for step, _ in named) if named else {}
    items = chain.from_iterable(touched.values())
    keys = [key for item in items if (key := identity.node_id(item)) is not None]
    if not keys:
        return {}
    rows = Node.objects.filter(pk__in=keys).values_list("text", flat=True)
    texts = {digest_of(text): text for text in rows}
    return {step.pk: texts[digest] for step, digest in named if digest in texts}


def texts_made_by(turn: Turn) -> list[str]:
    """The long texts of the nodes that the lines of a turn made. Two queries at most."""
    ops = chain.from_iterable(
        inverse or () for inverse in lines_of(turn).values_list("inverse", flat=True)
    )
    keys = [op["node"] for op in ops if op.get("op") == "made"]
    rows = Node.objects.filter(pk__in=keys).annotate(size=Length("text"))
    return list(rows.filter(size__gt=STORED_WHOLE).values_list("text", flat=True)) if keys else []


def made_by(replies: Iterable[dict[str, Any]]) -> list[str]:
    """The ids that the lines of a round made, in order; "" for a line that made nothing."""
    return [one["made"] for one in replies if not one.get("near")]


def said_in(generation: Generation, turn: Turn) -> str:
    """What a round of a turn said, up to its cut, read from the row of its generation or from
    the node that it became."""
    over = {one["generation"]: one for one in turn.rounds}
    kept: dict[str, Any] = over.get(generation.uid, {})
    if kept.get("is_answer") and turn.node is not None:
        return turn.node.text
    return generation.text[: kept.get("length")]


def spent_of(turn: Turn, now: datetime) -> Spent:
    """What the turn has used by now. A line that was refused is no step of it."""
    used = (
        lines_of(turn)
        .filter(outcome="ok")
        .aggregate(steps=Count("pk", distinct=True), items=Count("touched__item", distinct=True))
    )
    end = turn.ended_at or now
    return Spent(
        steps=used["steps"],
        depth=depths_of([turn])[turn.pk],
        items=used["items"],
        rounds=len(turn.rounds),
        milliseconds=int((end - turn.created_at).total_seconds() * 1000),
        tokens=turn.tokens,
        steps_today=_steps_today(turn, now),
    )


def spent_in(
    turn: Turn, now: datetime, steps: Iterable[Step], items: Mapping[int, list[int]], depth: int
) -> Spent:
    """The same from the turn's lines, their items and the `depth` of its windows, as far as pages
    show it; no query."""
    used = [step for step in steps if step.outcome == "ok"]
    return Spent(
        steps=len(used),
        depth=depth,
        items=len(set(chain.from_iterable(items[step.pk] for step in used))),
        rounds=len(turn.rounds),
        milliseconds=int(((turn.ended_at or now) - turn.created_at).total_seconds() * 1000),
        tokens=turn.tokens,
    )


def _steps_today(turn: Turn, now: datetime) -> int:
    since = now - timedelta(hours=budgets.HOURS_OF_A_DAY)
    views = Workspace.objects.filter(participant=turn.participant_id, tree=turn.tree_id)
    rows = Step.objects.filter(workspace__in=views, at__gte=since)  # by the index on (…, at)
    return rows.exclude(turn_uid="").count()


def turn_body(turn: Turn) -> dict[str, Any]:
    """The turn as API and events show it; read with WITH. Three queries."""
    budget, spent = budget_of(turn), spent_of(turn, timezone.now())
    return {
        "id": turn.uid,
        "tree": turn.tree.uid,
        "status": turn.status,
        "participant": turn.participant.uid,
        "invoked_by": turn.invoked_by.uid,
        "point": turn.invoked_at.local_id,
        "stands": turn.answers_below.local_id,
        "input": turn.input_node.local_id if turn.input_node else None,
        "as": turn.form,
        "budget": {
            "preset": turn.preset,
            "steps": budget.steps,
            "depth": budget.depth,
            "items": budget.items,
            "rounds": budget.rounds,
            "milliseconds": budget.milliseconds,
            "tokens": budget.tokens,
        },
        "usage": {
            "steps": spent.steps,
            "depth": spent.depth,
            "items": spent.items,
            "rounds": spent.rounds,
            "milliseconds": spent.milliseconds,
            "tokens": spent.tokens,
            "shown": budgets.shown(budget, spent),
        },
        "extension": turn.extension,
        "generations": list(_rounds(turn).values_list("uid", flat=True)),
        "steps": list(lines_of(turn).values_list("seq", flat=True)),
        "node": turn.node.local_id if turn.node else None,
        "finish": turn.finish or None,
        "error": turn.error,
        "created_at": instant(turn.created_at),
        "ended_at": instant(turn.ended_at) if turn.ended_at else None,
    }


def _rounds(turn: Turn) -> QuerySet[Generation]:
    return Generation.objects.filter(turn=turn, round__gt=0).order_by("round", "id")


# -- tasks: the list of a workspace, and what lines, requests and the API show of it


MOST_NOTES = 50
MOST_ARCHIVED = 100  # that are listed, the newest ones
TASK_MARKS = {"unchecked": "[ ]", "checked": "[x]", "archived": "[-]"}


def task_rows(workspace: Workspace) -> QuerySet[Task]:
    """The tasks that were not removed, in no order."""
    return Task.objects.filter(workspace=workspace, is_removed=False).order_by()


def current_tasks(workspace: Workspace) -> list[Task]:
    """The tasks that are neither archived nor removed, in their order. There are few of them, so
    that the database need not sort them."""
    if not workspace.pk:  # it is not stored yet
        return []
    found = _CURRENT_TASKS.all(of=workspace.pk)
    return sorted(found, key=lambda task: (task.place, task.number))


_CURRENT_TASKS = Prepared(
    lambda: Task.objects.filter(
        workspace=Given("of"), is_removed=False, state__in=("unchecked", "checked")
    ).order_by()
)


def listed_tasks(workspace: Workspace) -> list[Task]:
    """The same, and the newest archived ones after them."""
    archived = task_rows(workspace).filter(state="archived").order_by("-number")
    return [*current_tasks(workspace), *archived[:MOST_ARCHIVED]]


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
        f"t{task.number} {task_mark(task)} {task.text}",
        *(f"  note: {one}" for one in task.notes),
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
    rows = Task.objects.filter(workspace=workspace.pk, is_removed=False, state="archived")
    archived = rows.order_by("-number")[:MOST_ARCHIVED]
    return [_task_body(one) for one in (*current_tasks(workspace), *archived)]


def _task_body(task: Task) -> dict[str, Any]:
    return {
        **task_brief(task),
        "ref": f"t{task.number}",
        "text": task.text,
        "notes": task.notes,
        "made_at": instant(task.made_at),
    }
