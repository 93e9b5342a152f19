"""The order of a generation: what is asked of which provider with which settings; for the round of
a turn, the summary of a node or the continuation of a path."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from django.utils import timezone

from agents import agent_prompt, subject_prompt
from agents.agent_prompt import (
    Place,
    demand_turn,
    limit_of,
    place_of,
    said,
    sent_of,
    stops_of,
    view_of,
)
from agents.context import agent_request
from agents.context.agent_request import GO_ON, Aware, Message, Sent
from agents.context.overlap import Overlap
from agents.context.rounds import BY_EXAMPLE, LineReply, Round, Syntax
from agents.context.sections import Counted
from agents.context.subject_request import Reading, TooLong, arrange, count_small
from agents.context.values import Augment, Portion, Request
from agents.providers.attempt import Ask, Blocks
from agents.providers.registry import Provider, addressed, whom
from agents.refusals import too_long
from agents.subject_prompt import asker_of, reading_of, summarised, taken_settings
from loom import access
from loom.access import Actor
from loom.commands import registry, turn_lifecycle, web_search
from loom.commands.money import allowed_addresses, key_of
from loom.commands.view import LISTS
from loom.events import streams
from loom.grammar.gbnf import Known, grammar_of
from loom.models import SUMMARY, Generation, Participant, Tree, Turn, Workspace
from loom.queries.lookup import rows_of, withheld_from_models
from loom.queries.workspaces import budget_of, loaded_in, truncation_for
from loom.rules import node_values
from loom.rules.limits import GENERATE, WEB_SEARCH, Permission
from loom.rules.link_types import STORED
from loom.rules.node_values import count, described, hashes_in
from loom.rules.provider_kinds import PROBED
from loom.rules.windows import refs_named

# The next request of a loom-aware agent, for a place.


AGENTS = 20  # that INSTRUCTIONS name


def assembled(place: Place, *, limit: int = 0, counted: Counted = count) -> Sent:
    """The next request for a place. Raises TooLong where it cannot be made to fit."""
    agent, turn = place.actor.participant, place.turn
    asks = _request(turn)
    agents, models = agents_for(place.actor)
    return agent_request.assemble(
        Aware(
            persona=agent.persona,
            system_context=place.tree.system_context,
            commands=commands_for(place.actor),
            path=stops_of(place),
            rounds=tuple(round_of(one) for one in turn.rounds) if turn else (),
            view=replace(view_of(place), request=_named(asks)),
            closing=GO_ON,
            request=asks,
            truncation=truncation_for(turn.invoked_by if turn else place.actor.person, place.tree),
            limit=limit or agent.context_limit - place.number("truncation_reserve"),
            counted=counted,
            stated=turn.rounds[-1].get("stated", {}) if turn and turn.rounds else {},
            agents=agents,
            models=models,
            lists=(*LISTS, *sorted(STORED)),
            threshold=place.number("result_threshold"),
            kept=place.number("truncation_kept"),
            step=place.number("earlier_step"),
            augments=_augments(place.workspace),
        )
    )


def _augments(workspace: Workspace) -> tuple[Augment, ...]:
    """The loaded ones in the order in which they are sent, then the others by name."""
    loaded = loaded_in(workspace)
    others = [one for one in loaded.every if one not in loaded.texts]
    return tuple(
        Augment(one.name, mark, one.text if mark else "")
        for one in (*loaded.texts, *others)
        for mark in (loaded.mark_of(one),)
    )


def agents_for(actor: Actor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the other agents that may be asked to continue, and their models."""
    if GENERATE not in actor.permissions:
        return (), ()
    others = Participant.objects.filter(
        grove=actor.grove, kind="model", archived_at__isnull=True
    ).exclude(pk=actor.participant.pk)
    found = list(others.order_by("id").values_list("name", "model_ref")[:AGENTS])
    return tuple(name for name, _ in found), tuple(sorted({model for _, model in found}))


def _request(turn: Turn | None) -> Request | None:
    """The words with which the turn was asked for; None without any, and where they were
    excluded or pruned since."""
    if turn is None or turn.input_node is None:
        return None
    (row,) = rows_of([turn.input_node.pk])
    if withheld_from_models([row.id]):
        return None
    return Request(row.local_id, said(row.text, turn.participant), row.author_name, row.author_kind)


def _named(asks: Request | None) -> str:
    if asks is None:
        return ""
    refs = ", ".join(refs_named(asks.text))
    names = f" · names {refs}" if refs else ""
    return f"[{asks.local_id}] from {asks.author}{names}"


def commands_for(actor: Actor) -> tuple[Syntax, ...]:
    without = web_search.unusable(actor) if WEB_SEARCH in actor.permissions else frozenset()
    return _usable(actor.permissions, without, len(registry.verbs()))


@lru_cache(maxsize=64)
def _usable(
    permissions: frozenset[Permission], without: frozenset[str], verbs: int
) -> tuple[Syntax, ...]:
    """The commands for these permissions, `without` some verbs; `verbs` are how many there are."""
    listed = (one for one in registry.listed() if one.verb not in without)
    allowed = (one for one in listed if one.permissions <= permissions)
    return tuple(Syntax(one.group, one.syntax, one.summary.split(".")[0]) for one in allowed)


def round_of(kept: dict[str, Any]) -> Round:
    """A round as the turn's row keeps it."""
    replies = tuple(LineReply(one["line"], one["reply"], one["number"]) for one in kept["replies"])
    return Round(
        kept["text"], replies, kept["dropped"], tuple(kept["notes"]), kept.get("workspace", "")
    )


# The grammar that an agent's answer is held to, where its provider takes one.


CAPABILITY = "grammar"


def grammar_for(
    actor: Actor,
    provider: Provider,
    nodes: Sequence[str],
    *,
    acts: bool = False,
    verbs: Collection[str] = (),
) -> str:
    """What the agent who acts may write: prose, and lines of the commands that are open to
    him and to whoever asked him, about `nodes` (local ids); "" where the provider takes no
    grammar and the participant does not say that its server does.

    With `acts` an answer is one line: a model too small to think of one then acts. With
    `verbs` only these are lines.
    """
    agent = actor.participant
    if not provider.grammar and CAPABILITY not in agent.capabilities:
        return ""
    others = Participant.objects.filter(
        grove_id=agent.grove_id, kind="model", archived_at__isnull=True
    )
    names = others.exclude(pk=agent.pk).values_list("name", flat=True)
    known = Known(tuple(nodes), (*LISTS, *sorted(STORED)), tuple(names))
    open_to = (one for one in registry.listed() if one.permissions <= actor.permissions)
    forms = (one.form for one in open_to if not verbs or one.verb in verbs)
    return grammar_of(forms, known, acts=acts)


# What a generation asks for: from rows to the plain values of an order.


T = TypeVar("T")
SMALLEST_WINDOW = 150
CONCLUDE_S = 60


@dataclass(frozen=True)
class Order:
    """A request to be made: who it is for, of what, with which settings."""

    provider: Provider
    reading: Reading
    ask: Ask
    configuration: str
    left_out: str = ""  # settings that are not sent
    note: str = ""
    purpose: str = "continue"
    text: str = ""  # of a buffer, which a chat goes on with
    portions: tuple[Portion, ...] = ()  # its sections, for people
    until: datetime | None = None  # of a round: when the time of its turn is over
    allow: tuple[str, ...] = ()  # what may be called although it is private
    sees: tuple[Actor, Tree] | None = None  # whose images are sent along, and where

    @property
    def strategy(self) -> str:
        """How a buffer is handed over; "" for anything else."""
        return self.reading.strategy or "" if self.purpose == "continue" else ""

    def overlap(self) -> Overlap | None:
        """Where an answer meets the buffer; None where it is as it comes."""
        return Overlap(self.text, self.strategy) if self.text else None

    @property
    def tokens(self) -> int:
        """About how many tokens are sent: a quarter of the bytes."""
        said = (one["content"] for one in self.ask.messages or ())
        return len("".join([self.ask.prompt or "", *said]).encode()) // 4

    def shared(self, many: int) -> "Order":
        """The same for many candidates in one answer."""
        return replace(self, ask=replace(self.ask, many=many))

    def narrower(self) -> "Order | None":
        """The same with half the window, where a provider's window proved too wide for this
        text; None where there is none, or it is as small as is useful."""
        window = self.reading.window
        if window is None or window // 2 < SMALLEST_WINDOW:
            return None
        return _order(self, replace(self.reading, window=window // 2))


def order_of(generation: Generation, *, is_shown: bool = False, then: str = "") -> Order:
    """What a generation asks for, read now. Raises CommandError (who asked may no longer, the
    key is another's, the path is too long) or Broken (no provider).

    `is_shown`: for people, so without a key, and though the provider may be away; `then` is a
    text that the asker has not added yet.
    """
    participant = generation.participant
    provider, base_url, model = addressed(participant) if is_shown else whom(participant)
    if generation.round == SUMMARY:
        return _order_of_summary(generation, Asked(provider, base_url, model))
    if generation.round and generation.turn is not None:
        return _order_of_round(generation.turn, Asked(provider, base_url, model))
    settings_, left = taken_settings(generation)
    ask = Ask(
        base_url=base_url,
        model=model,
        messages=None,
        prompt=None,
        temperature=_first(generation.temperature, participant.temperature),
        max_tokens=_first(generation.tokens, participant.max_tokens, provider.max_tokens),
        stop=(*participant.stop, *settings_.get("stop", ())),
        grammar=settings_.get("grammar", ""),
        samplers={name: value for name, value in settings_.items() if name in PROBED},
        key="" if is_shown else key_of(participant),
        auth=participant.auth,
    )
    asker = asker_of(generation)
    reading = reading_of(generation, asker, provider, then)
    allow = allowed_addresses(base_url, allow_private=participant.allow_private)
    hashed = configuration_of(participant, reading.strategy)
    reader = access.acting_as(asker, participant)
    sees = (reader, generation.tree) if agent_prompt.sees(participant) else None
    made = Order(provider, reading, ask, hashed, left_out=left, allow=allow, sees=sees)
    try:
        return _order(made, reading)
    except TooLong as long:
        raise too_long(long) from None


@dataclass(frozen=True)
class Asked:
    """Who is asked, and where."""

    provider: Provider
    base_url: str
    model: str


def prepared_round(turn: Turn, actor: Actor) -> dict[str, Any]:
    """The request of the turn's next round, assembled once: it is priced and sent as it is.
    Raises TooLong, or Broken where there is no provider."""
    provider, _, _ = whom(actor.participant)
    place = place_of(actor, turn)
    sent = assembled_for(place, provider)
    if any(one.name == "EARLIER" for one in sent.portions):
        named = [turn.tree.uid, turn.invoked_by_id, [row.id for row in place.read], False]
        streams.enqueue("agents.tasks.summarise", named, queue="continue")
    return prepared(place, sent)


def assembled_for(place: Place, provider: Provider) -> Sent:
    """The next request for a place within what its provider can read. Raises TooLong."""
    limit = limit_of(provider, place.actor.participant, place.tree.grove)
    return assembled(place, limit=limit, counted=count_small if provider.context else count)


def prepared(place: Place, sent: Sent) -> dict[str, Any]:
    """A request as the row of its turn keeps it from the pricing of a round to its sending."""
    asked = place.turn.input_node_id if place.turn else None
    return {
        "system": sent.system,
        "messages": [[one.role, one.blocks, one.kept] for one in sent.messages],
        "tokens": sent.tokens,
        "note": sent.note,
        "is_brief": sent.is_brief,
        "workspace": sent.workspace,
        "stated": dict(sent.stated),
        "nodes": [row.local_id for row in place.read],
        "read": [row.id for row in sent_of(place.read)] + ([asked] if asked else []),
    }


def as_sent(kept: Mapping[str, Any]) -> Sent:
    """The request that `prepared` returned."""
    messages = [
        Message(role, tuple(blocks), tuple(marks)) for role, blocks, marks in kept["messages"]
    ]
    return Sent(
        kept["system"],
        tuple(messages),
        (("ALL", kept["tokens"]),),
        kept["note"],
        kept["is_brief"],
        kept["workspace"],
        kept["stated"],
    )


def _order_of_round(turn: Turn, asked: Asked) -> Order:
    """The request of a turn's round: no tools, and no prefix of somebody's text to go on.

    What was prepared is sent as it is, unless a text of it was excluded or pruned since.
    """
    actor = access.acting_in(turn)
    demand_turn(actor)
    agent, tree = actor.participant, turn.tree
    kept = turn.prepared
    if kept is None or withheld_from_models(kept["read"]):
        try:
            kept = prepared_round(turn, actor)
        except TooLong as long:
            raise too_long(long) from None
        turn_lifecycle.replace_request(turn, kept)
    sent = as_sent(kept)
    ask = Ask(
        base_url=asked.base_url,
        model=asked.model,
        messages=sent.bodies,
        prompt=None,
        temperature=agent.temperature,
        max_tokens=_first(agent.max_tokens, asked.provider.max_tokens),
        stop=tuple(agent.stop),
        grammar=grammar_for(
            actor,
            asked.provider,
            kept["nodes"],
            # The embedded model would never think of a line by itself (measured: 0 of 40).
            acts=asked.provider.grammar and not turn.rounds,
            verbs=BY_EXAMPLE if sent.is_brief else (),
        ),
        blocks=tuple(Blocks(one.role, one.blocks, one.kept) for one in sent.messages),
        key=key_of(agent),
        auth=agent.auth,
    )
    ask = _seeing(ask, (actor, tree) if agent_prompt.sees(agent) else None)
    nothing = Reading("dialogue", "chat", ())
    made = configuration_of(agent, "plain" if tree.mode == "buffer" else None)
    until = until_of(turn)
    return Order(
        asked.provider,
        nothing,
        ask,
        made,
        note=sent.note,
        purpose="reply",
        until=until,
        allow=allowed_addresses(asked.base_url, allow_private=agent.allow_private),
    )


def _order_of_summary(generation: Generation, asked: Asked) -> Order:
    """The request for the summary of a node, or of the tree where the point is its root."""
    one = generation.participant
    ask = Ask(
        base_url=asked.base_url,
        model=asked.model,
        messages=summarised(generation),
        prompt=None,
        temperature=None,
        max_tokens=generation.tokens,
        stop=(),
        key=key_of(one),
        auth=one.auth,
    )
    return Order(
        asked.provider,
        Reading("dialogue", "chat", ()),
        ask,
        configuration_of(one, None),
        purpose="summary",
        allow=allowed_addresses(asked.base_url, allow_private=one.allow_private),
    )


def until_of(turn: Turn) -> datetime:
    """When the current round of a turn has to end: with the time of the turn; the round in
    which it may conclude has CONCLUDE_S more."""
    end = turn.created_at + timedelta(milliseconds=budget_of(turn).milliseconds)
    if turn.is_concluding:
        return max(end, timezone.now() + timedelta(seconds=CONCLUDE_S))
    return end


def _order(order: Order, reading: Reading) -> Order:
    sent = arrange(reading)
    prompt = order.provider.opening if sent.prompt == "" else sent.prompt
    goes_on = reading.strategy == "continue_final" and sent.text.strip() != ""
    ask = replace(order.ask, messages=sent.messages, prompt=prompt, goes_on=goes_on)
    ask = _seeing(ask, order.sees)
    note = " · ".join(one for one in (order.left_out, sent.note) if one)
    return replace(
        order, reading=reading, ask=ask, note=note, text=sent.text, portions=sent.portions
    )


def _seeing(ask: Ask, sees: tuple[Actor, Tree] | None) -> Ask:
    """The request with the images that the user's texts name; where there are none, every text
    says in words what its images show."""
    if sees is None or not any(hashes_in(one["content"]) for one in ask.messages or ()):
        return ask
    texts = [one["content"] for one in ask.messages or () if one["role"] == "user"]
    if found := subject_prompt.pictures(*sees, texts):
        return replace(ask, images=found)
    said = tuple({**one, "content": described(one["content"])} for one in ask.messages or ())
    blocks = tuple(replace(one, texts=tuple(map(described, one.texts))) for one in ask.blocks)
    return replace(ask, messages=said, blocks=blocks)


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def configuration_of(participant: Participant, strategy: str | None) -> str:
    """The hash of the settings a call was made with; `strategy` of prose, None in a dialogue.

    See docs/model.md §2.1, §11.
    """
    return node_values.sha256(
        {
            "model_ref": participant.model_ref,
            "base_url": participant.base_url,
            "endpoint": participant.endpoint,
            "persona": participant.persona,
            "temperature": participant.temperature,
            "max_tokens": participant.max_tokens,
            "stop": participant.stop,
            "prose_strategy": strategy,
        }
    )
