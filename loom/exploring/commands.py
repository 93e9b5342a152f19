"""`explore`: a tree grows by itself within a budget. Only the row is made here; a worker goes on
(loom.exploring.progress)."""

from typing import Annotated, Literal

from django.db.models import QuerySet, Sum
from django.utils import timezone, translation
from django.utils.translation import gettext_noop

from loom.access import Actor
from loom.choices.queries import Learned, learned_from, settings_of
from loom.choices.words import honest, leanings
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.execute import execute
from loom.engine.jobs import enqueue
from loom.engine.registry import command, describe_verb
from loom.engine.undo import Own, undoes
from loom.errors import CommandError
from loom.exploring.access import WITH
from loom.exploring.budget import MOST_CALLS, SHOWN, Amount, Shape
from loom.exploring.checks import checks_of
from loom.exploring.costs import Callers, most_in_all
from loom.exploring.models import Exploration
from loom.exploring.queries import exploration_body
from loom.language.verbs import Phrases, Verb
from loom.money.queries.token_counts import path_tokens
from loom.participants.prices import NANO, dollars
from loom.participants.queries import get_agents
from loom.people.grove_settings import number_of
from loom.people.models import Participant
from loom.people.names import as_sent
from loom.permissions import GENERATE, LOOM, WRITE
from loom.text.counts import counted
from loom.text.shortening import excerpt
from loom.trees.commands.node_writer import demand_text_node, demand_visible
from loom.trees.named_items import get_own_node, touched
from loom.turns.commands.continuing import usual_agent
from loom.turns.queries import budget_of, spent_of, turns

WAYS = ("judge", "check", "taste", "variety")
MOST_OPEN = 5  # explorations of a tree that run at once
MOST_GOAL = 1_000  # characters
TASK = "loom.exploring.tasks.advance"


class Explore(Args):
    """Where to begin, who writes, how many texts below each, how many rounds, how many are kept of
    a round and by what, the goal (by:check: the name of a check), how long a text is, the budget
    (calls of models, tokens, US dollars), and who judges."""

    ref: Annotated[RefField | None, Written("ref", lead="from")] = None
    using: Annotated[RefField | None, Written("ref", lead="using", refs=("agent",))] = None
    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=10)] = 4
    depth: Annotated[int, Written("option", key="depth", value="int", minimum=1, maximum=20)] = 3
    keep: Annotated[int, Written("option", key="keep", value="int", minimum=1, maximum=50)] = 2
    by: Annotated[
        Literal["judge", "check", "taste", "variety"],
        Written("option", key="by", value="choice", choices=WAYS),
    ] = "judge"
    goal: Annotated[str, Written("quoted", shown='"goal"')] = ""
    length: Annotated[
        int, Written("option", key="length", value="int", minimum=16, maximum=4096)
    ] = 200
    steps: Annotated[
        int | None, Written("option", key="steps", value="int", minimum=1, maximum=MOST_CALLS)
    ] = None
    tokens: Annotated[
        int | None,
        Written("option", key="tokens", value="int", minimum=100, maximum=50_000_000),
    ] = None
    money: Annotated[
        float | None, Written("option", key="money", value="float", minimum=0, maximum=10_000)
    ] = None
    judge: Annotated[RefField | None, Written("ref", lead="judge", refs=("agent",))] = None


describe_verb(
    Verb(
        "explore",
        done=gettext_noop("Began to explore"),
        past="explored from",
        asks_first=True,
        takes_documents=False,
        phrases=(Phrases("explore|grow|search for the best continuation"),),
        leads={"with": "using", "below": "from"},
        options={"count": "n", "rounds": "depth", "width": "keep"},
    )
)


@command(
    "explore",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE, GENERATE},
    stream="tree",
)
def explore(context: Context, args: Explore) -> Reply:
    """Grows the tree in rounds within a budget: models write, a judge, checks, your taste or
    variety choose what the next round goes on from. What is not kept is folded, not pruned."""
    row, most = _asked_for(context, args)
    known = _demand_taste(context.actor) if args.by == "taste" else None
    if not context.world.is_dry:
        row.save()
        context.world.append("exploration.changed", {"exploration": exploration_body(row)})
        enqueue(TASK, [row.uid], queue="continue")
    lines = [f"✓ exploring from [{row.point.local_id}]", *_details(row, most, known)]
    return Reply(
        "\n  ".join(lines),
        refs=(row.point.local_id,),
        items=touched(row.point),
        inverse=({"op": "exploration", "uid": row.uid},),
        did=_limits(row, most),
    )


def _asked_for(context: Context, args: Explore) -> tuple[Exploration, Amount]:
    """The row of an exploration that is not stored, and what it costs at most."""
    actor = context.actor
    point = get_own_node(context, args.ref)
    demand_text_node(point, "explored")
    demand_visible(point)
    most_at_once = number_of(context.tree.grove.settings, "continue_max")
    if args.n > most_at_once:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"n is at most {most_at_once} in this grove.",
            hint=f"n:{most_at_once}",
        )
    agent = get_agents(context, (args.using,))[0] if args.using else usual_agent(context)
    judge = _judge(context, args, agent)
    is_agent = actor.participant.kind != "human"
    if is_agent:
        _demand_others(actor, args, agent, judge)
    if args.by == "check":
        _demand_checks(context, args.goal)
    if len(args.goal) > MOST_GOAL:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A goal has at most {MOST_GOAL:,} characters.", hint="shorten it"
        )
    shape = Shape(args.n, args.depth, args.keep, judge is not None)
    if shape.calls > MOST_CALLS and (args.steps or shape.calls) > MOST_CALLS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"This would take {shape.calls:,} calls; at most {MOST_CALLS:,} are made.",
            hint="take fewer rounds, keep fewer, or give steps:n",
        )
    if Exploration.objects.filter(tree=context.tree, ended_at__isnull=True).count() >= MOST_OPEN:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"{MOST_OPEN} explorations run in this tree already.",
            hint="stop one, or wait until one has ended",
        )
    path = path_tokens(actor, context.tree, context.workspace, point)
    most = most_in_all(Callers(agent, args.length, judge), shape, path)
    steps = min(args.steps or most.steps, MOST_CALLS)
    tokens = args.tokens or most.tokens
    if is_agent and context.turn:
        left = _left_of_turn(context.turn)
        steps, tokens = min(steps, left.steps), min(tokens, left.tokens)
        if steps < 1 or tokens < args.length:
            raise CommandError(
                "LIMIT_EXCEEDED",
                "What is left of this turn's budget allows no exploration.",
                hint="end the turn, or ask for budget extend",
            )
    row = Exploration(
        tree=context.tree,
        point=point,
        asked_by=actor.person,
        begun_by=actor.participant if is_agent else None,
        turn=context.turn if is_agent else "",
        agent=agent,
        judge=judge,
        scope=actor.user.scope,
        n=args.n,
        depth=args.depth,
        keep=args.keep,
        by=args.by,
        goal=args.goal,
        length=args.length,
        most_steps=steps,
        most_tokens=tokens,
        most_money=None if args.money is None else round(args.money * NANO),
        frontier=[point.pk],
    )
    return row, most


def _demand_others(
    actor: Actor, args: Explore, agent: Participant, judge: Participant | None
) -> None:
    """Refuses what an agent may not begin: to write or judge itself, and by the taste of the
    person, which is theirs alone."""
    if actor.participant.pk in (agent.pk, judge.pk if judge is not None else 0):
        raise CommandError(
            "PERMISSION_DENIED",
            "An agent cannot ask itself for texts or judgements.",
            hint="name others with using agent:… and judge agent:…, or take by:variety",
        )
    if args.by == "taste":
        raise CommandError(
            "PERMISSION_DENIED",
            "What somebody tends to choose is theirs alone.",
            hint="take by:judge or by:variety",
        )


def _left_of_turn(uid: str) -> Amount:
    """What is left of the budget of an agent's turn, without what its explorations may use."""
    turn = turns().filter(uid=uid).first()
    if turn is None:
        return Amount()
    budget, spent = budget_of(turn), spent_of(turn, timezone.now())
    held = Exploration.objects.filter(turn=uid).aggregate(
        steps=Sum("most_steps"), tokens=Sum("most_tokens")
    )
    return Amount(
        max(0, budget.steps - spent.steps - (held["steps"] or 0)),
        max(0, budget.tokens - spent.tokens - (held["tokens"] or 0)),
    )


def _judge(context: Context, args: Explore, agent: Participant) -> Participant | None:
    """Who judges: the agent that is named, else another model than the one that writes, else that
    one. None where no model judges."""
    if args.by != "judge":
        if args.judge is not None:
            raise CommandError(
                "INVALID_SYNTAX", "A judge is only for by:judge.", hint="leave it out"
            )
        return None
    if args.judge is not None:
        return get_agents(context, (args.judge,))[0]
    rows = Participant.objects.filter(grove=agent.grove_id, kind="model", archived_at__isnull=True)
    rows = rows.exclude(pk__in=(agent.pk, context.actor.participant.pk))
    return rows.order_by("id").first() or agent


def _demand_checks(context: Context, name: str) -> None:
    """Refuses by:check where no check applies, or where the one that is named is a judge's."""
    if not checks_of(context.actor.grove, context.tree, name):
        named = f" named {name[:40]!r}" if name else ""
        raise CommandError(
            "REJECTED",
            f"No check{named} applies here that a program runs.",
            hint="declare one under Checks, or take by:judge",
        )


def _demand_taste(actor: Actor) -> Learned:
    """What is known of the actor's taste. Refuses by:taste unless they have switched on that texts
    may be ordered by it, and something was learned."""
    if not settings_of(actor.participant).orders:
        raise CommandError(
            "REJECTED",
            "Ordering as you tend to choose is off.",
            hint="switch it on under Your choices, or take by:judge",
        )
    known = learned_from(actor)
    if known.taste is None:
        raise CommandError(
            "REJECTED",
            f"Your choices here are too few to learn from (n = {known.n}).",
            hint="go on from texts that you see side by side, or take by:judge",
        )
    return known


def _limits(row: Exploration, most: Amount) -> dict[str, object]:
    """What an exploration may do and use, for programs; `usd` is 0 where no price is known."""
    return {
        "texts": Shape(row.n, row.depth, row.keep, row.judge is not None).texts,
        "rounds": row.depth,
        "kept": row.keep,
        "agent": row.agent.uid,
        "judge": None if row.judge is None else row.judge.uid,
        "calls": row.most_steps,
        "tokens": row.most_tokens,
        "usd": _most_money(row, most) / NANO,
    }


def _most_money(row: Exploration, most: Amount) -> int:
    return most.money if row.most_money is None else min(most.money, row.most_money)


def _details(row: Exploration, most: Amount, known: Learned | None) -> list[str]:
    """What an exploration may do and use, in words."""
    shape = Shape(row.n, row.depth, row.keep, row.judge is not None)
    texts = f"at most {counted(shape.texts, 'text')} in {counted(row.depth, 'round')}"
    judged = ""
    if row.judge is not None:
        of_itself = ", its own texts" if row.judge == row.agent else ""
        judged = f", each judged by {as_sent(row.judge.name)}{of_itself}"
    money = _most_money(row, most)
    cost = f" · at most {dollars(money)}" if money else ""
    lines = [
        f"{texts}{judged}; keeps {row.keep} of each round, chosen by {row.by}",
        f"budget: {counted(row.most_steps, 'call')} · {row.most_tokens:,} tokens{cost}",
    ]
    if row.goal:
        lines.append(f"goal: {excerpt(row.goal, SHOWN)}")
    if known is not None:
        with translation.override("en"):  # replies are English
            lines.append(f"as you tend to choose ({leanings(known)}): {honest(known)}")
    return [*lines, f"exploration {row.uid}"]


@undoes("exploration")
def _stops(context: Context, op: Op, _own: Own) -> list[Op]:
    """Stops an exploration that runs; what it has written is undone by its own lines."""
    _ask_stop(Exploration.objects.filter(uid=op["uid"], tree=context.tree))
    return []


class StopExploration(Args):
    """The exploration to stop."""

    uid: str


@action("stop_exploration", stream="tree", role="writer")
def stop_exploration(change: RunningAction, args: StopExploration) -> Exploration:
    """Stops an exploration: nothing more is asked for, what is being written ends at once."""
    rows = Exploration.objects.filter(uid=args.uid, tree=change.tree)
    _ask_stop(rows)
    return rows.select_related(*WITH).get()


def _ask_stop(rows: QuerySet[Exploration]) -> None:
    for row in rows.filter(ended_at__isnull=True):
        Exploration.objects.filter(pk=row.pk).update(stop_asked=True)
        enqueue(TASK, [row.uid], queue="continue")


def stop(actor: Actor, row: Exploration) -> Exploration:
    """Stops an exploration, for a writer of its grove. Does nothing if it has ended."""
    return execute(actor, row.tree, stop_exploration, StopExploration(uid=row.uid))
