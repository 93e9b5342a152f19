"""`continue`: asks models for candidates. Only rows are made here; a worker runs them."""

from typing import Annotated, Any

from loom.commands.args import Args, RefField, Written
from loom.commands.context import Context, Reply, touched
from loom.commands.guards import demand_text_node, demand_visible
from loom.commands.phrases import counted
from loom.commands.registry import command
from loom.commands.resolve import get_agents, get_own_node
from loom.grammar.shown import quote
from loom.log.jobs import enqueue
from loom.models import Generation, Node, Participant, Workspace
from loom.models.base import new_uid
from loom.rules.refusals import Refused, not_found

MAX_TOKENS = 8192
ENDED = ("done", "stopped", "interrupted", "failed")


class Continue(Args):
    """Below what, how many, how long, how daring, and by whom."""

    ref: Annotated[RefField | None, Written("ref", lead="from")] = None
    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=10)] = 1
    tokens: Annotated[
        int | None,
        Written("option", key="tokens", value="int", minimum=1, maximum=MAX_TOKENS, shown="m"),
    ] = None
    temperature: Annotated[
        float | None, Written("option", key="temperature", value="float", minimum=0, maximum=2)
    ] = None
    using: Annotated[
        tuple[RefField, ...], Written("ref", lead="using", many=True, refs=("agent",))
    ] = ()


@command("continue", group="Make", klass="look", letters="AG", world=True, view=True)
def continue_(context: Context, args: Continue) -> Reply:
    """Asks models for n continuations each; they stream in, and become nodes as they end."""
    point = get_own_node(context, args.ref)
    demand_text_node(point, "continued")
    demand_visible(point)
    agents = get_agents(context, args.using) if args.using else [_usual_agent(context)]
    batch = new_uid()
    made = [
        _queue(context, point, agent, args, batch=batch, index=index)
        for agent in agents
        for index in range(1, args.n + 1)
    ]
    Workspace.objects.filter(pk=context.workspace.pk).update(last_used=agents[-1])
    return Reply(
        f"✓ {counted(len(made), 'continuation')} from [{point.local_id}] started",
        generations=tuple(one.uid for one in made),
        items=touched(point),
        inverse=({"op": "generations", "uids": [one.uid for one in made]},),
        running=True,
    )


def _usual_agent(context: Context) -> Participant:
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
        raise Refused(
            "UNAVAILABLE",
            "No model takes part in this grove.",
            hint="an owner adds one under Participants",
        )
    return first


def _queue(
    context: Context, point: Node, agent: Participant, args: Continue, *, batch: str, index: int
) -> Generation:
    if agent.pk == context.actor.participant.pk:
        raise Refused(
            "PERMISSION_DENIED",
            "An agent cannot continue by itself.",
            hint="name another one: using agent:…",
        )
    made = Generation.objects.create(
        tree=context.tree,
        participant=agent,
        asked_by=context.actor.participant,
        batch=batch,
        point=point,
        index=index,
        tokens=args.tokens,
        temperature=args.temperature,
    )
    context.world.append("generation.started", {"generation": started_body(made)})
    if index == 1:  # whoever takes the first takes the line's other candidates too
        enqueue("agents.tasks.run_generation", [made.uid], queue="continue")
    return made


def started_body(generation: Generation) -> dict[str, Any]:
    """A generation as `generation.started` carries it."""
    return {
        "id": generation.uid,
        "participant": generation.participant.uid,
        "point": generation.point.local_id,
        "index": generation.index,
        "batch": generation.batch,
        "asked_by": generation.asked_by.uid,
        "status": "queued",
    }


def outcome_of(uids: list[str]) -> tuple[bool, Reply, list[dict[str, Any]]]:
    """(all ended?, the reply of MM §5.1 with the nodes in refs, the errors) of a `continue`."""
    rows = list(
        Generation.objects.filter(uid__in=uids)
        .select_related("point", "node__author", "participant")
        .order_by("id")
    )
    if not rows:
        raise not_found("This tree")  # it was erased meanwhile
    nodes = [row.node for row in rows if row.node is not None]
    errors = [row.error for row in rows if row.error]
    point = rows[0].point.local_id
    lines = [f"✓ {counted(len(nodes), 'continuation')} from [{point}]"]
    lines += [f"  [{node.local_id}] {node.author.name} · {quote(node.text)}" for node in nodes]
    lines += [f"  ✗ {error['message']}" for error in errors]
    reply = Reply(
        "\n".join(lines),
        refs=tuple(node.local_id for node in nodes),
        generations=tuple(row.uid for row in rows),
    )
    return all(row.status in ENDED for row in rows), reply, errors
