"""`ask`: a question to an agent, which answers in a turn of its own, or to a person
(docs/model.md §5.1, §5.3)."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from django.utils.translation import gettext_noop

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError, not_found, require
from loom.language.refs import Ref, label_named, print_ref, quote
from loom.language.verbs import Verb
from loom.notes.commands.annotations import note_mentions
from loom.participants.queries import get_agents
from loom.people.grove_settings import number_of
from loom.people.models import Membership, Participant
from loom.people.names import as_sent
from loom.permissions import GENERATE, LOOM, WRITE
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode, demand_text, demand_text_node, demand_visible
from loom.trees.commands.nodes import made_nodes
from loom.trees.commands.rights import right_of
from loom.trees.models import Node
from loom.trees.named_items import get_own_node, touched
from loom.turns import asks, turn_lifecycle
from loom.turns.models import Ask, Turn

MOST_ASKED = 20  # questions of one turn
MOST_MEMBERS = 1_000  # among which a name is looked for
MOST_NAMES = 10  # that a refusal lists


class AskAgent(Args):
    """The agent, the question, and where it belongs to."""

    agent: Annotated[RefField, Written("ref", refs=("agent",))]
    content: Annotated[str, Written("content")]
    at: Annotated[RefField | None, Written("ref", lead="at")] = None


class AskAgentAndWait(AskAgent):
    """The agent, the question, where it belongs to, and the word `wait`."""

    wait: Annotated[str, Written("word", lead="wait")]


class AskPerson(Args):
    """The name of a member, the question, and where it belongs to."""

    person: Annotated[str, Written("quoted", shown='"Person"')]
    content: Annotated[str, Written("content")]
    at: Annotated[RefField | None, Written("ref", lead="at")] = None


class AskPersonAndWait(AskPerson):
    """The name of a member, the question, where it belongs to, and the word `wait`."""

    wait: Annotated[str, Written("word", lead="wait")]


def _named_alone(match: re.Match[str]) -> Iterator[str]:
    """`ask Ada "…"`: it may be an agent or a person."""
    yield f"ask agent:{quote(match[1])} {match[2]}"
    yield f"ask {quote(match[1])} {match[2]}"


describe_verb(
    Verb(
        "ask",
        past="asked",
        done=gettext_noop("Asked others"),
        taught='ask agent:"name" "…" [at REF] [wait] — asks an agent; ask "Person" "…" a member',
        takes_documents=False,
        dropped="and about for",
        hints=((r'(?:ask|invite) @?([^\W\d]\w*),?:?\s+("[^"]*".*)', _named_alone),),
    )
)

_TO_AGENT: dict[str, Any] = {
    "group": "Make",
    "permissions": {LOOM, GENERATE},
    "stream": "tree",
}
_TO_PERSON: dict[str, Any] = {**_TO_AGENT, "permissions": {LOOM, WRITE}}


@command("ask", klass="look ✓", **_TO_AGENT)
def ask_agent_and_wait(context: Context, args: AskAgentAndWait) -> Reply:
    """Asks an agent and waits for its answer, as long as your turn has time."""
    return _ask_agent(context, args, waits=True)


@command("ask", klass="write", **_TO_AGENT)
def ask_agent(context: Context, args: AskAgent) -> Reply:
    """Asks another agent, which answers in a turn of its own with what both of you may do, out of
    your budget; the answer comes as a window and a notification."""
    return _ask_agent(context, args, waits=False)


@command("ask", klass="look ✓", **_TO_PERSON)
def ask_person_and_wait(context: Context, args: AskPersonAndWait) -> Reply:
    """Asks a member and waits for the answer, as long as your turn has time."""
    return _ask_person(context, args, waits=True)


@command("ask", klass="write", **_TO_PERSON)
def ask_person(context: Context, args: AskPerson) -> Reply:
    """Asks a member of the grove: the question is shown to them with a field to answer."""
    return _ask_person(context, args, waits=False)


def _ask_agent(context: Context, args: AskAgent, *, waits: bool) -> Reply:
    point = _point(context, args.at, args.content)
    (agent,) = get_agents(context, (args.agent,))
    turn_lifecycle.demand_aware(agent)
    asking = _asking(context)
    _demand_other(context, agent, asking)
    order = turn_lifecycle.TurnOrder(
        agent=agent,
        invoked_by=context.actor.person,
        point=point,
        form="aside",
        preset=agent.budget,
        scope=asking.scope if asking else getattr(context.actor.user, "scope", "owner"),
        text=args.content,
        author=context.actor.participant,
        asking=asking,
    )
    turn = turn_lifecycle.begin(context.world, order)
    question = require(turn.input_node, "the question")
    ask = _stored(context, question, agent, asking, turn)
    return _asked(ask, question, point, agent_named(agent), waits=waits)


def _ask_person(context: Context, args: AskPerson, *, waits: bool) -> Reply:
    point = _point(context, args.at, args.content)
    who = _member(context, args.person)
    text = f"@{who.name} {args.content}"
    new = NewNode(text, kind="annotation", form="question", parent=point)
    node = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    note_mentions(context.actor, node)
    ask = _stored(context, node, who, _asking(context), None)
    return _asked(ask, node, point, as_sent(who.name), waits=waits)


def agent_named(agent: Participant) -> str:
    """`agent:"Marie"`."""
    return print_ref(Ref("agent", name=agent.name))


def _point(context: Context, at: Ref | None, text: str) -> Node:
    demand_text(text.strip(), what="The question")
    node = get_own_node(context, at)
    demand_text_node(node, "asked about")
    demand_visible(node)
    return node


def _asking(context: Context) -> Turn | None:
    """The turn whose line this is."""
    rows = Turn.objects.select_related("participant")
    asking = rows.filter(uid=context.turn).first() if context.turn else None
    if asking is None:
        return None
    if Ask.objects.filter(asking=asking).count() >= MOST_ASKED:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A turn asks at most {MOST_ASKED} questions.",
            hint="go on with the answers that you have",
        )
    return asking


def _demand_other(context: Context, agent: Participant, asking: Turn | None) -> None:
    """Refuses the agent itself, those who wait for it, and more turns one in another than the
    grove allows."""
    if agent.pk == context.actor.participant.pk:
        raise CommandError(
            "PERMISSION_DENIED", "An agent cannot ask itself.", hint="name another agent"
        )
    above = [asking, *asks.asking_turns(asking)] if asking is not None else []
    if any(turn.participant_id == agent.pk for turn in above):
        raise CommandError(
            "REJECTED", f"{agent.name} waits for this answer itself.", hint="answer it yourself"
        )
    most = number_of(context.tree.grove.settings, "ask_depth")
    if len(above) > most:
        raise CommandError(
            "REJECTED",
            "An agent that was asked may not ask another one."
            if most == 1
            else f"At most {most} agents ask one another in a row.",
            hint="answer with what you know; an owner can set ask_depth, up to 3",
        )


def _member(context: Context, name: str) -> Participant:
    """The member with this name, who must be able to answer."""
    rows = Membership.objects.filter(grove=context.actor.grove).select_related("participant")
    members = list(rows.select_related("user").order_by("pk")[:MOST_MEMBERS])
    asked = name.strip().removeprefix("@").casefold()
    named = [row for row in members if row.participant.name.casefold() == asked]
    if not named:
        names = [label_named(row.participant.name) for row in members[:MOST_NAMES]]
        agents = Participant.objects.filter(
            grove=context.actor.grove, kind="model", archived_at__isnull=True, name__iexact=asked
        )
        agent = agents.first()
        hint = f"there are {', '.join(names)}"
        hint = f'→ ask {agent_named(agent)} "…" asks the agent' if agent is not None else hint
        raise not_found(f"A member called {label_named(name.strip()[:60])}", hint)
    member = named[0]
    if member.participant_id == context.actor.participant.pk:
        raise CommandError("REJECTED", "You cannot ask yourself.", hint="name another member")
    right = right_of(member, context.tree)
    if right == "hidden":
        raise CommandError(
            "REJECTED",
            f"{member.participant.name} may not see this tree, and cannot answer.",
            hint="ask somebody else, or an owner for their right to comment here",
        )
    if not member.user.is_active or right == "read":
        raise CommandError(
            "REJECTED",
            f"{member.participant.name} may only read here, and cannot answer.",
            hint="ask somebody who may write or comment here",
        )
    return member.participant


def _stored(
    context: Context,
    question: Node,
    asked: Participant,
    asking: Turn | None,
    turn: Turn | None,
) -> Ask:
    return Ask.objects.create(
        tree=context.tree,
        node=question,
        asker=context.actor.participant,
        asked=asked,
        asking=asking,
        turn=turn,
        at=context.now,
    )


def _asked(ask: Ask, question: Node, point: Node, who: str, *, waits: bool) -> Reply:
    comes = "the answer comes as a window and a notification"
    is_agents = ask.asking_id is not None
    return Reply(
        f"✓ asked {who} at [{point.local_id}] in [{question.local_id}]"
        + (f"\n  {comes}" if is_agents and not waits else ""),
        refs=(question.local_id,),
        items=touched(question, point),
        inverse=(
            *made_nodes(question),
            {"op": "asked", "ask": ask.uid, "waits": waits and is_agents},
        ),
    )
