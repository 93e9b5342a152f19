"""Workspaces and turns as the API shows them: position, versions, drafts, rounds."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from loom.access import Actor, items_of
from loom.grammar.lines import STORED_WHOLE, digest_named, digest_of
from loom.models import Draft, Generation, Node, Step, Tree, Turn, VersionChoice, Workspace
from loom.queries import lookup
from loom.queries.lookup import selected_versions
from loom.queries.news import notifications_of
from loom.queries.node_bodies import counted_below
from loom.queries.node_rows import NodeRow, fetch, rows_of, walked
from loom.queries.tasks import tasks_of
from loom.queries.trees import position_of
from loom.queries.windows import windows_of
from loom.rules import budgets, identity
from loom.rules.budgets import Budget, Spent
from loom.rules.identity import instant

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


OUTLINE_DEPTH = 2  # levels shown before anything was said
SIBLINGS = 12  # of a position that an outline is unfolded to
ANCESTORS = 4  # above it; of more the nearest ones, and how many are left out


def workspace_body(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The body of docs/model.md §14.3, "Workspaces"; parts that are planned are empty."""
    return {
        "id": workspace.uid,
        "participant": workspace.participant.uid,
        "tree": workspace.tree.uid,
        "position": position_of(workspace.tree, workspace),
        "versions": versions_of(workspace),
        "revision": workspace.revision,
        "status": status_of(workspace),
        "windows": windows_of(actor, workspace),
        "tasks": tasks_of(workspace),
        "augments": [],
        "outline": outline_of(workspace),
        "notifications": [{"text": one} for one in notifications_of(actor, workspace)],
        "drafts": drafts_of(actor, workspace),
    }


def status_of(workspace: Workspace) -> dict[str, int]:
    """The last step seen, and how many there are."""
    return {"checkpoint": workspace.checkpoint, "steps": workspace.steps_made}


def outline_of(workspace: Workspace) -> dict[str, Any]:
    """The state of the outline: folded to `depth`, except for what was `expanded`; the last `query`
    of find and the local ids of its `hits`."""
    return {"depth": OUTLINE_DEPTH, "expanded": [], "query": "", "hits": [], **workspace.outline}


def versions_of(workspace: Workspace) -> dict[str, str]:
    """The version chosen for each slot, by the local id of the slot."""
    choices = VersionChoice.objects.filter(workspace=workspace)
    return dict(choices.values_list("slot__local_id", "node__local_id"))


# The tree as an outline: what is below a slot, down to a depth, with counts.


MAX_ROWS = 1000

# Breadth first, so that the deepest lines are left out. Bounded by depth and by rows.
_DOWN = """
    WITH RECURSIVE down(slot, above, level) AS (
        SELECT id, parent_slot_id, 0 FROM loom_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id, down.level + 1 FROM down
        JOIN loom_node n ON n.parent_slot_id = down.slot AND n.kind = 'text'
            AND n.slot_id = n.id AND NOT n.pruned
        WHERE down.level < %s AND {walked}
    ) SELECT slot, above FROM down LIMIT %s
"""


class Line(NamedTuple):
    """One line of an outline. `level` from 0; `children` and `annotations` that are seen;
    `shown` of the children are lines below it; `is_last` among its siblings shown. With
    `left_out` the line stands for so many nodes, each below the one before."""

    row: NodeRow
    level: int
    children: int
    annotations: int
    shown: int
    is_last: bool
    left_out: int = 0


class Outline(NamedTuple):
    """Lines in reading order; `is_cut` if there are more than `MAX_ROWS`."""

    lines: list[Line]
    is_cut: bool


def outline(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node,
    *,
    depth: int = 5,
    limit: int = MAX_ROWS,
) -> Outline:
    """The text slots from `node` down `depth` levels, in order of creation below each other.

    In each slot the selected version; `node` itself in its own. Five queries.
    """
    sql = _DOWN.format(walked=walked("down.slot"))
    found = fetch(sql, [node.slot_id, depth, limit + 1])
    is_cut = len(found) > limit
    below: dict[int, list[int]] = defaultdict(list)
    for slot, above in found[:limit]:
        if slot != node.slot_id:
            below[above].append(slot)
    slots = [slot for slot, _ in found[:limit]]
    return Outline(_lines(node, workspace, slots, below), is_cut)


def _lines(
    node: Node, workspace: Workspace | None, slots: list[int], below: dict[int, list[int]]
) -> list[Line]:
    """Reading order without recursion: a stack of (slot, level, is it the last)."""
    selected = {slot: key for slot, (key, _) in selected_versions(slots, workspace).items()}
    selected[node.slot_id] = node.pk
    rows = {row.slot_id: row for row in rows_of([selected[slot] for slot in slots])}
    counts = counted_below(slots)
    lines = []
    stack = [(node.slot_id, 0, True)]
    while stack:
        slot, level, is_last = stack.pop()
        children = sorted(below[slot])
        texts, notes = counts.get((slot, "text"), 0), counts.get((slot, "annotation"), 0)
        lines.append(Line(rows[slot], level, texts, notes, len(children), is_last))
        for place, child in enumerate(reversed(children)):
            stack.append((child, level + 1, place == 0))
    return lines


def unfolded(lines: list[Line], path: Sequence[NodeRow], workspace: Workspace) -> list[Line]:
    """The lines, with those from the deepest node of the path that has one down to its end,
    which gets its siblings beside it. Nothing is added where the end has a line."""
    at = {line.row.slot_id: place for place, line in enumerate(lines)}
    deepest = max((n for n, row in enumerate(path) if row.slot_id in at), default=-1)
    missing = path[deepest + 1 :]
    if deepest < 0 or not missing:
        return lines
    place = at[path[deepest].slot_id]
    opened = lines[place]
    end = place + 1
    while end < len(lines) and lines[end].level > opened.level:
        end += 1
    added = _chain(missing[:-1], opened.level + 1)
    beside = [
        row for row in _siblings(missing[-1], path[-2].slot_id, workspace) if row.slot_id not in at
    ]
    level = opened.level + 1 + len(added)
    counts = counted_below([row.slot_id for row in beside])
    for row in beside:
        below = counts.get((row.slot_id, "text"), 0)
        notes = counts.get((row.slot_id, "annotation"), 0)
        added.append(Line(row, level, below, notes, 0, row is beside[-1]))
    before = [
        line._replace(is_last=False) if line.level == opened.level + 1 else line
        for line in lines[place + 1 : end]
    ]
    direct = 1 if missing[:-1] else len(beside)
    opened = opened._replace(shown=min(opened.shown + direct, opened.children))
    return [*lines[:place], opened, *before, *added, *lines[end:]]


def _chain(above: Sequence[NodeRow], level: int) -> list[Line]:
    """A line for each of the nodes, each below the one before; of many the last ones."""
    left_out = len(above) - ANCESTORS if len(above) > ANCESTORS else 0
    lines = [Line(above[0], level, 0, 0, 0, True, left_out)] if left_out else []
    counts = counted_below([row.slot_id for row in above[left_out:]])
    for row in above[left_out:]:
        below = counts.get((row.slot_id, "text"), 0)
        notes = counts.get((row.slot_id, "annotation"), 0)
        lines.append(Line(row, level + len(lines), below, notes, min(below, 1), True))
    return lines


def _siblings(here: NodeRow, parent_slot: int, workspace: Workspace) -> list[NodeRow]:
    """The node with those beside it, in their order; of many the ones next to it."""
    slots = list(lookup.slots_below(parent_slot).values_list("slot_id", flat=True))
    place = slots.index(here.slot_id) if here.slot_id in slots else len(slots)
    first = max(0, min(place - SIBLINGS // 2, len(slots) - SIBLINGS))
    near = [slot for slot in slots[first : first + SIBLINGS] if slot != here.slot_id]
    found = selected_versions(near, workspace)
    rows = rows_of([key for key, _ in found.values()])
    return sorted([*rows, here], key=lambda row: row.slot_id)


# Turns as they are shown: what they may use, what they used, and the body of docs/model.md §14.3.


WITH = (
    "tree__grove",
    "participant",
    "invoked_by__user",
    "invoked_at",
    "stands_at",
    "input_node",
    "generation",
    "node",
)


def turns() -> QuerySet[Turn]:
    """Turns with the rows that their body needs; the request of the current round is read when
    it is asked for."""
    return Turn.objects.select_related(*WITH).defer("prepared")


def budget_of(turn: Turn) -> Budget:
    """What the turn may use: its preset and what was granted in addition."""
    return budgets.extended(budgets.budget_of(turn.preset), turn.more_steps)


def lines_of(turn: Turn) -> QuerySet[Step]:
    """The steps of the turn's lines, in order; one per line, also if it made several."""
    return Step.objects.filter(turn_uid=turn.uid).exclude(turn_place="").order_by("id")


def texts_of(steps: Sequence[Step]) -> dict[int, str]:
    """The texts that stored lines only name, by the id of the step: those of the nodes that
    the steps touched, found by their digests. Two queries; none where no line names one."""
    named = [(step, digest) for step in steps if (digest := digest_named(step.canonical))]
    items = chain.from_iterable(items_of(step for step, _ in named).values()) if named else ()
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
        items=used["items"],
        rounds=len(turn.rounds),
        milliseconds=int((end - turn.created_at).total_seconds() * 1000),
        tokens=turn.tokens,
        steps_today=_steps_today(turn, now),
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
        "stands": turn.stands_at.local_id,
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
