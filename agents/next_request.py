"""The next request of a participant, before it is sent: its text, sections, price, and the
difference from the last one.

It is assembled by the same code as turns and candidates; nothing is stored and no provider is
called.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.agent_prompt import PromptPlace, agents_for, commands_for, place_of
from agents.context.agent_request import BRIEF_OVER
from agents.context.sections import Teaching, instructions, mode_of
from agents.context.subject_request import JOINT, PromptTooLong, count_small
from agents.context.values import Portion
from agents.generation_requests import assembled_for, order_of
from agents.providers.registry import addressed, limit_of
from agents.refusals import too_long
from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.links.vocabulary import names_for
from loom.money.queries import estimates, token_counts
from loom.participants.prices import NANO, caches_from, prices_of
from loom.people.models import Participant
from loom.permissions import LOOM
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.reading.queries import provenance
from loom.text.tokens import count
from loom.trees.commands.node_writer import demand_text_node, demand_visible
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup, places
from loom.turns import access as turn_access
from loom.turns.models import Call, Generation, Turn
from loom.turns.queries import turns
from loom.workspace.queries.workspace_bodies import text_at

How = Literal["turn", "continue"]
PURPOSES = {"turn": "reply", "continue": "continue"}


@dataclass(frozen=True)
class PreviewOptions:
    """The request to show: for which agent, where, as a round of a turn or as a candidate; and
    whether the unsent text in the caller's buffer there counts as the last text. Unless the node
    `is_named`, a turn is read at the position of its agent."""

    participant: Participant
    node: Node
    how: How
    with_draft: bool = False
    is_named: bool = True
    without: tuple[str, ...] = ()  # as loom.turns.left_out names them; of a candidate


@dataclass(frozen=True)
class Next:
    """A request that was not sent. `messages` are those of a chat, system first; otherwise there
    is a `prompt`. Unless `is_open`, the caller may not see every item in it."""

    options: PreviewOptions
    messages: tuple[Mapping[str, str], ...]
    prompt: str | None
    portions: tuple[Portion, ...]
    limit: int
    length: int  # tokens of the answer, at most
    note: str = ""
    is_open: bool = True

    @property
    def text(self) -> str:
        """The whole of it as one text."""
        body = {"prompt": self.prompt} if self.prompt is not None else {"messages": self.messages}
        return provenance.request_text({"body": body})


def next_request(member: Actor, tree: Tree, options: PreviewOptions) -> Next:
    """The request, for the member who would send it. Raises CommandError if the member may not, or
    the path is too long."""
    try:
        if options.how == "turn":
            return _of_turn(member, tree, options)
        return _of_candidate(member, tree, options)
    except PromptTooLong as long:
        raise too_long(long, options.participant) from None


def usual(agent: Participant) -> How:
    """How a participant is asked by default: a loom-aware one for a turn, others for a
    candidate."""
    return "turn" if LOOM in agent.permissions else "continue"


def _of_turn(member: Actor, tree: Tree, options: PreviewOptions) -> Next:
    workspace = access.workspace_of(options.participant, tree)
    place = next_place(member, workspace, options.node if options.is_named else None)
    provider, _, _ = addressed(options.participant)
    sent = assembled_for(place, provider)
    is_open = place.turn is None or turn_access.may_read_turn(member, place.turn)
    limit = limit_of(provider, options.participant, tree.grove)
    length = options.participant.max_tokens or provider.max_tokens or estimates.USUAL_TOKENS
    return Next(options, sent.bodies, None, sent.portions, limit, length, sent.note, is_open)


def next_place(member: Actor, workspace: Workspace, node: Node | None = None) -> PromptPlace:
    """Where an agent's workspace reads next: in its current turn, else in a turn that would start
    at `node`, else at its position. REJECTED for a person's workspace, and for an agent that is
    sent text only.
    """
    agent, tree = workspace.participant, workspace.tree
    if LOOM not in agent.permissions:
        raise CommandError(
            "REJECTED",
            f"{agent.name} is sent text only, without sections.",
            hint="request the context of a loom-aware agent",
        )
    current = _OPEN_TURN.first(agent=agent.pk, tree=tree.pk)
    if current is not None:  # usually there is none, so the joins are only read here
        turn = turns().get(pk=current[0])
        return place_of(turn_access.acting_in(turn), turn)
    actor = access.at_tree(access.acting_as(member, agent), tree)
    position = workspace.position
    if node is not None and node.pk != position.pk:
        workspace.position = position = node  # as at the beginning of a turn; not stored
        workspace.revision += 1
    if not access.may_reach(actor, position.tree_id, here=tree):
        position = lookup.root_of(tree)
    return PromptPlace(actor, tree, workspace, position)


_OPEN_TURN = PreparedQuery(
    lambda: (
        Turn.objects.filter(participant=Given("agent"), tree=Given("tree"), ended_at__isnull=True)
        .order_by("-pk")
        .values_list("pk")[:1]
    )
)


def _of_candidate(member: Actor, tree: Tree, options: PreviewOptions) -> Next:
    demand_text_node(options.node, "continued")
    demand_visible(options.node)
    own = access.workspace_of(member.participant, tree)
    pinned = places.settings_at(member, tree, own, options.node)
    generation = Generation(
        tree=tree,
        participant=options.participant,
        asked_by=member.participant,
        point=options.node,
        tokens=pinned.pop("tokens", None),
        temperature=pinned.pop("temperature", None),
        settings=pinned,
        without=list(options.without),
    )
    typed = text_at(own, options.node, "buffer") if options.with_draft and own.pk else ""
    order = order_of(generation, is_shown=True, then=typed)
    return Next(
        options,
        order.ask.messages or (),
        order.ask.prompt,
        order.portions,
        order.reading.limit,
        order.ask.max_tokens or estimates.USUAL_TOKENS,
        order.note,
    )


def taught(member: Actor, agent: Participant, mode: Literal["dialogue", "buffer"]) -> str:
    """The INSTRUCTIONS of a loom-aware agent if the member asks it, before any call, and what it
    is told of the mode of a tree; "" for a subject, which gets none."""
    if LOOM not in agent.permissions:
        return ""
    teaching = teaching_of(access.acting_as(member, agent))
    provider, _, _ = addressed(agent)
    whole = instructions(teaching)
    counted = count_small if provider.context else count
    is_brief = counted(whole) * BRIEF_OVER > limit_of(provider, agent, member.grove)
    taught_text = instructions(teaching, brief=True) if is_brief else whole
    return f"{taught_text}{JOINT}{mode_of(mode)}"


def teaching_of(actor: Actor) -> Teaching:
    """What an acting agent is taught in every tree."""
    agents, models = agents_for(actor)
    return Teaching(commands_for(actor), agents, models, tuple(names_for(actor)))


# -- what it costs


def priced(preview: Next, same: int) -> dict[str, Any]:
    """Tokens, counted or estimated, and dollars if the price is known; `same` is the number of
    characters at the beginning that the previous request had too, which may be cached."""
    agent = preview.options.participant
    tokens, how = token_counts.tokens_of(preview.text, agent.model_ref)
    prices = prices_of(agent)
    if prices is None:
        return {"tokens": tokens, "how": how, "usd": None, "cached_usd": None, "answer_usd": None}
    kept = tokens * same // max(len(preview.text), 1)
    least = caches_from(agent)
    cached = None
    if least is not None and kept >= least and prices.cached is not None:
        cached = (prices.reading(tokens - kept) + round(kept * prices.cached * 1000)) / NANO
    return {
        "tokens": tokens,
        "how": how,
        "usd": prices.reading(tokens) / NANO,
        "cached_usd": cached,
        "answer_usd": prices.writing(preview.length) / NANO,
    }


# -- what differs from the request before


@dataclass(frozen=True)
class RequestDifference:
    """The difference from an earlier call: the number of `same` characters at the beginning of
    both, and the lines of a unified diff; `is_cut`: there are more."""

    call: Call
    same: int
    lines: tuple[str, ...]
    is_cut: bool


def call_before(member: Actor, tree: Tree, options: PreviewOptions) -> Call | None:
    """The participant's last request of this kind in the tree; None if there is none, or the
    member may not see every item in it."""
    rows = Call.objects.filter(tree=tree, participant=options.participant, origin="")
    call = rows.filter(purpose=PURPOSES[options.how]).select_related("turn").order_by("-id").first()
    return call if call is not None and turn_access.may_read_call(member, call) else None


def difference(preview: Next, before: Call) -> RequestDifference:
    """The difference between the request and a call."""
    change = provenance.changed(provenance.request_text(before.request), preview.text)
    return RequestDifference(before, change.same, change.lines, change.is_cut)


def point_of(member: Actor, tree: Tree, workspace: Workspace) -> Node:
    """Where a request from a workspace of the tree would be made: at its position, if the member
    may see it."""
    position = workspace.position
    if not access.may_reach(member, position.tree_id, here=tree) or position.tree_id != tree.pk:
        return lookup.root_of(tree)
    return lookup.visible_at_or_above(position, workspace)
