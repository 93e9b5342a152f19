"""Turns as readers see them, with their rounds, lines and what they spent."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from loom.engine.models import Step
from loom.language.ids import home_of
from loom.participants.budgets import Budget
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.hashes import instant, instant_or_none
from loom.text.shortening import STORED_WHOLE
from loom.trees.models import Node, Tree
from loom.turns import budgets
from loom.turns.budgets import Spent
from loom.turns.grove_settings import budget_in
from loom.turns.models import Call, Generation, Turn

# Turns: what they may use, what they have used, and the body of docs/model.md §14.3.


WITH = (
    "tree__grove",
    "participant",
    "invoked_by__user",
    "invoked_at",
    "answers_below",
    "input_node",
    "generation",
    "node__slot",
)


def homes_of_calls(tree: Tree) -> list[int]:
    """The row ids of the trees that keep the calls behind the texts of a tree: itself and, of a
    sandbox, the tree at which it hangs, for the texts that it copied from there and for those that
    were promoted, whose calls stay there when that is undone. Whoever may see a sandbox may see
    that tree, whose rights it has."""
    return [tree.pk] if tree.sandbox_at is None else [tree.pk, home_of(tree.sandbox_at)]


def turns() -> QuerySet[Turn]:
    """Turns with the rows that their body needs; the request of the current round is loaded on
    access."""
    return Turn.objects.select_related(*WITH).defer("prepared")


def budget_of(turn: Turn) -> Budget:
    """What the turn may use: its preset and what was granted in addition; if an agent asked for
    it, no more than what is left of that agent's turn."""
    of_grove = budget_in(turn.preset, turn.tree.grove.settings)
    own = budgets.extended(of_grove, turn.more_steps, turn.more_tokens)
    if turn.asking_id is None:
        return own
    asking = turns().get(pk=turn.asking_id)
    now = timezone.now()
    return budgets.within(own, spent_of(turn, now), budget_of(asking), spent_of(asking, now))


def lines_of(*turns: Turn) -> QuerySet[Step]:
    """The steps of the lines of turns, in order; one per line, also if it made several."""
    named = [turn.uid for turn in turns]
    return Step.objects.filter(turn_uid__in=named).exclude(turn_place="").order_by("id")


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
    return [reply["made"] for reply in replies if not reply.get("near")]


NOTHING_MORE = {"steps": 0, "tokens": 0, "why": ""}


def wants_more(turn: Turn, **amounts: Any) -> dict[str, Any] | None:
    """What a turn asks for (`Turn.extension`), with these steps and tokens, and why, in place of
    those before."""
    tool = (turn.extension or {}).get("tool")
    return _wanted({**NOTHING_MORE, **amounts}, tool)


def wants_tool(turn: Turn, tool: dict[str, str] | None) -> dict[str, Any] | None:
    """What a turn asks for, with this tool to be allowed (None: no more)."""
    amounts = {**NOTHING_MORE, **(turn.extension or {})}
    return _wanted({name: amounts[name] for name in NOTHING_MORE}, tool)


def _wanted(amounts: dict[str, Any], tool: dict[str, str] | None) -> dict[str, Any] | None:
    wanted = {**amounts, **({"tool": tool} if tool else {})}
    return wanted if any(wanted.values()) else None


Depths = Callable[[Sequence[Turn]], dict[int, int]]
_depths: list[Depths] = []


def measures_depth(measure: Depths) -> Depths:
    """Registers what measures how deep the windows of turns of one tree are nested, by the row ids
    of the turns."""
    _depths.append(measure)
    return measure


def depths_of(turns: Sequence[Turn]) -> dict[int, int]:
    """The greatest nesting depth of windows, by the row ids of turns of one tree."""
    measured = [measure(turns) for measure in _depths]
    return {turn.pk: max((depths[turn.pk] for depths in measured), default=0) for turn in turns}


def spent_of(turn: Turn, now: datetime) -> Spent:
    """What the turn has used so far. A refused line does not count as a step."""
    steps, items = _USED.first(turn=turn.uid) or (0, 0)
    end = turn.ended_at or now
    own = Spent(
        steps=steps,
        depth=depths_of([turn])[turn.pk],
        items=items,
        rounds=len(turn.rounds),
        milliseconds=int((end - turn.created_at).total_seconds() * 1000),
        tokens=turn.used_tokens,
        steps_today=_steps_today(turn, now),
    )
    for asked in _ASKED.all(turn=turn.pk):
        own = budgets.with_asked(own, spent_of(asked, now))
    return own


# The turns that a turn asked for; seldom any, so that one short query is all that most turns pay.
_ASKED = PreparedQuery(
    lambda: Turn.objects.filter(asking=Given("turn")).defer("prepared").order_by("pk")
)


def _steps_today(turn: Turn, now: datetime) -> int:
    since = now - timedelta(hours=budgets.HOURS_OF_A_DAY)
    row = _TODAY.first(agent=turn.participant_id, tree=turn.tree_id, since=since)
    return row[0] if row else 0


# Each line of a turn asks for both.
_USED = PreparedQuery(
    lambda: (
        Step.objects.filter(turn_uid=Given("turn"), outcome="ok")
        .exclude(turn_place="")
        .order_by()
        .values("turn_uid")
        .annotate(steps=Count("pk", distinct=True), items=Count("touched__item", distinct=True))
        .values_list("steps", "items")
    )
)
_TODAY = PreparedQuery(
    lambda: (
        Step.objects.filter(workspace__participant=Given("agent"), workspace__tree=Given("tree"))
        .filter(at__gte=Given("since"))  # by the index on (…, at): it is one workspace
        .exclude(turn_uid="")
        .order_by()
        .values("workspace")
        .annotate(steps=Count("pk"))
        .values_list("steps")
    )
)


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
        "answers_below": turn.answers_below.local_id,
        "asked_in": _asked_in(turn),
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
        "limit": limit_of(turn, budget, spent) or None,
        "extension": turn.extension,
        "generations": list(_rounds(turn).values_list("uid", flat=True)),
        "steps": list(lines_of(turn).values_list("seq", flat=True)),
        "node": turn.node.local_id if turn.node else None,
        "finish": turn.finish or None,
        "error": turn.error,
        "created_at": instant(turn.created_at),
        "ended_at": instant_or_none(turn.ended_at),
    }


def limit_of(turn: Turn, budget: Budget, spent: Spent) -> str:
    """The part of its budget for whose sake an ended turn had to conclude, such as `tokens`; ""
    if it ended by itself."""
    if turn.ended_at is None or turn.finish in ENDED_OTHERWISE:
        return ""
    if not (turn.is_concluding or turn.finish == TIME_OVER):
        return ""
    # The last round may have been asked for because the next one would have used too many.
    return budgets.part_over(budget, replace(spent, depth=0)) or "tokens"


TIME_OVER = "interrupted:time"
ENDED_OTHERWISE = ("interrupted:loop", "interrupted:stopped")


def _asked_in(turn: Turn) -> str | None:
    """The turn in which an agent asked for this one; one query if there is one."""
    if turn.asking_id is None:
        return None
    return Turn.objects.values_list("uid", flat=True).get(pk=turn.asking_id)


def _rounds(turn: Turn) -> QuerySet[Generation]:
    return Generation.objects.filter(turn=turn, round__gt=0).order_by("round", "id")


def nodes_of_call(call: Call) -> list[Node]:
    """The nodes that a call produced: its candidates, or those of the turn whose last round it was.
    An imported call has neither; for it all nodes of its tree are checked."""
    if call.origin:
        return list(Node.objects.filter(tree=call.tree, call_uid=call.origin).order_by("id"))
    candidates = Generation.objects.filter(call=call, node__isnull=False).values_list("node")
    keys = [key for (key,) in candidates]
    if call.turn_id is not None:
        turns = Turn.objects.filter(pk=call.turn_id, node__isnull=False).values_list("node")
        keys += [key for (key,) in turns]
    return list(Node.objects.filter(pk__in=keys, call_uid=call.uid).order_by("id"))
