"""`continue`: asks models for candidates. Only rows are made here; a worker runs them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from django.utils.translation import gettext_noop

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.fields import new_uid
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError, not_found
from loom.language.verbs import Phrases, Verb
from loom.money import spending
from loom.money.queries.token_counts import path_tokens
from loom.money.spending import CandidateRequest, Share
from loom.participants import provider_kinds
from loom.participants.prices import prices_of
from loom.participants.queries import get_agents
from loom.people.grove_settings import number_of
from loom.people.models import Participant
from loom.people.names import as_sent
from loom.permissions import GENERATE, LOOM
from loom.text.counts import counted
from loom.text.shortening import excerpt
from loom.trees.commands.node_writer import demand_text_node, demand_visible
from loom.trees.commands.nodes import made_nodes, save_buffer
from loom.trees.models import Node, Workspace
from loom.trees.named_items import get_own_node, touched
from loom.trees.queries import places
from loom.turns import left_out, stored_events
from loom.turns.models import Generation, Turn
from loom.turns.queueing import queue

MAX_TOKENS = 8192
ENDED = ("done", "stopped", "interrupted", "failed")


class Continue(Args):
    """Where to continue from, how many, how long, at what temperature, which parts of the request
    to leave out this once, and which agents to ask."""

    ref: Annotated[RefField | None, Written("ref", lead="from")] = None
    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=10)] = 1
    tokens: Annotated[
        int | None,
        Written("option", key="tokens", value="int", minimum=1, maximum=MAX_TOKENS, shown="m"),
    ] = None
    temperature: Annotated[
        float | None, Written("option", key="temperature", value="float", minimum=0, maximum=2)
    ] = None
    settings: Annotated[str, Written("option", key="settings", value="quoted")] = ""
    without: Annotated[str, Written("option", key="without", value="quoted")] = ""
    using: Annotated[
        tuple[RefField, ...], Written("ref", lead="using", many=True, refs=("agent",))
    ] = ()


describe_verb(
    Verb(
        "continue",
        done=gettext_noop("Asked for continuations"),
        past="continued from",
        taught=('continue [from REF] [n:1] [using agent:"name"] — asks models for n continuations'),
        takes_count=True,
        takes_documents=False,
        phrases=(
            Phrases(
                "continue|generate|go on|carry on|keep going|proceed|extend|sample|keep writing"
            ),
            Phrases(
                "let * continue|have * continue|ask * to continue|get * to continue", before="using"
            ),
            Phrases(
                "let * write|have * write|ask * for|ask * to write", before="using", needs="count"
            ),
            Phrases(
                "give me|give us|make|create|write|write me|produce|i want|get|get me|draft",
                needs="count",
            ),
        ),
        swaps=(("max tokens", "tokens"),),
        dropped=(
            "after alternative alternatives another at below by candidate candidates"
            " completion completions continuation continuations different further more new of"
            " on option options starting times under variant variants"
        ),
        leads={"with": "using", "by": "using"},
        options={"count": "n", "number": "n", "max_tokens": "tokens", "temp": "temperature"},
    )
)


@command(
    "continue",
    group="Make",
    klass="look",
    permissions={LOOM, GENERATE},
    stream="tree",
    makes_window=False,
)
def continue_(context: Context, args: Continue) -> Reply:
    """Asks models for n continuations each; they are streamed and become nodes when they end. In a
    buffer what the caller has typed below the node and not saved becomes a node first."""
    point = get_own_node(context, args.ref)
    demand_text_node(point, "continued")
    demand_visible(point)
    most = number_of(context.tree.grove.settings, "continue_max")
    if args.n > most:
        raise CommandError(
            "LIMIT_EXCEEDED", f"n is at most {most} in this grove.", hint=f"n:{most}"
        )
    agents = get_agents(context, args.using) if args.using else [usual_agent(context)]
    if any(agent.pk == context.actor.participant.pk for agent in agents):
        raise CommandError(
            "PERMISSION_DENIED",
            "An agent cannot ask itself for continuations.",
            hint="name another with using agent:…",
        )
    without = left_out.parts_in(args.without)
    saved = save_buffer(context, point)
    point = saved or point
    args, settings = resolved(context, point, args)
    day, shares = _reserved(context, point, agents, args)
    batch = new_uid()
    generations = [
        generation
        for agent, share in zip(agents, shares, strict=True)
        for generation in _queue(
            context, point, _Order(agent, args, settings, without, share, day, batch)
        )
    ]
    if context.workspace.last_used_id != agents[-1].pk:
        Workspace.objects.filter(pk=context.workspace.pk).update(last_used=agents[-1])
    asked = {"op": "generations", "uids": [generation.uid for generation in generations]}
    words = f"✓ created [{saved.local_id}] from what you typed\n" if saved else ""
    return Reply(
        f"{words}✓ {counted(len(generations), 'continuation')} from [{point.local_id}] started",
        generations=tuple(generation.uid for generation in generations),
        items=touched(point),
        inverse=(asked, *(made_nodes(saved) if saved else ())),
        running=True,
    )


def resolved(context: Context, point: Node, args: Continue) -> tuple[Continue, dict[str, Any]]:
    """(the line with its length and temperature, the samplers that apply here): what the line
    says, else what is pinned nearest above."""
    pinned = places.settings_at(context.actor, context.tree, context.workspace, point)
    settings = (
        {**pinned, **provider_kinds.read_samplers(args.settings)} if args.settings else dict(pinned)
    )
    shared = {
        name: settings.pop(name) for name in provider_kinds.REQUEST_OPTIONS if name in settings
    }
    given = {name: value for name in shared if (value := getattr(args, name)) is not None}
    return args.model_copy(update={**shared, **given}), settings


def usual_agent(context: Context) -> Participant:
    """The agent used last in this tree, else the grove's first; never the caller itself."""
    last = context.workspace.last_used
    if last is not None and last.archived_at is None and last.pk != context.actor.participant.pk:
        return last
    first = (
        Participant.objects.filter(
            grove=context.actor.grove, kind="model", archived_at__isnull=True
        )
        .exclude(pk=context.actor.participant.pk)
        .first()
    )
    if first is None:
        raise CommandError(
            "UNAVAILABLE",
            "This grove has no models.",
            hint="an owner adds one under Participants",
        )
    return first


def _reserved(
    context: Context, point: Node, agents: Sequence[Participant], args: Continue
) -> tuple[date, list[Share]]:
    """The day, and what one candidate of each agent may cost. The path is only measured if a price
    is known."""
    requests = [CandidateRequest(agent, args.n, args.tokens) for agent in agents]
    is_priced = any(prices_of(agent) is not None for agent in agents)
    tokens = path_tokens(context.actor, context.tree, context.workspace, point) if is_priced else 0
    return spending.reserve(context.actor.person, requests, tokens)


@dataclass(frozen=True)
class _Order:
    """What one line asks of one agent."""

    agent: Participant
    args: Continue
    settings: dict[str, Any]
    without: tuple[str, ...]
    share: Share
    day: date
    batch: str


def _queue(context: Context, point: Node, order: _Order) -> list[Generation]:
    """Stores the rows of one agent's candidates and hands them to a worker together."""
    turn = Turn.objects.filter(uid=context.turn).first() if context.turn else None
    rows = [
        {
            "tree": context.tree,
            "asked_by": context.actor.participant,
            "turn": turn,
            "batch": order.batch,
            "point": point,
            "index": index,
            "after": context.world.stream.items,
            "tokens": order.args.tokens,
            "temperature": order.args.temperature,
            "settings": order.settings,
            "without": list(order.without),
            "system_text": context.system_text,
        }
        for index in range(1, order.args.n + 1)
    ]
    reserved, is_dry = (order.day, order.share), context.world.is_dry
    generations = queue(order.agent, context.actor.person, reserved, rows, is_dry=is_dry)
    for generation in generations:
        context.world.append("generation.started", stored_events.started(generation))
    return generations


def outcome_of(uids: list[str]) -> tuple[bool, Reply, list[dict[str, Any]]]:
    """(all ended?, the reply of docs/model.md §5.1 with the nodes in refs, the errors) of a
    `continue`."""
    return outcome_in(asked_for(uids))


def asked_for(uids: Collection[str]) -> list[Generation]:
    """The generations with these ids, in order, with the rows that their outcome names; one
    query."""
    rows = Generation.objects.filter(uid__in=uids).order_by("id")
    return list(rows.select_related("point", "node__author", "participant")) if uids else []


def outcome_in(rows: Sequence[Generation]) -> tuple[bool, Reply, list[dict[str, Any]]]:
    """Whether these generations have ended, and their reply and errors; no query."""
    if not rows:
        raise not_found("This tree")  # it was erased meanwhile
    nodes = [row.node for row in rows if row.node is not None]
    errors = [row.error for row in rows if row.error]
    point = rows[0].point.local_id
    lines = [f"✓ {counted(len(nodes), 'continuation')} from [{point}]"]
    lines += [f"  {_candidate(node)}" for node in nodes]
    lines += [f"  ✗ {error['message']}" for error in errors]
    reply = Reply(
        "\n".join(lines),
        refs=tuple(node.local_id for node in nodes),
        generations=tuple(row.uid for row in rows),
    )
    return all(row.status in ENDED for row in rows), reply, errors


def _candidate(node: Node) -> str:
    """`[d5n7] Muse · "She…"`, and why it broke off if it did."""
    text = f"[{node.local_id}] {as_sent(node.author.name)} · {excerpt(node.text)}"
    return text if node.finish == "complete" else f"{text} · {node.finish.replace(':', ': ', 1)}"
