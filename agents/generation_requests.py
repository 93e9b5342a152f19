"""The request of a generation: of a turn's round, or of a candidate."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from django.utils import timezone

from agents.agent_prompt import (
    PromptPlace,
    agents_for,
    commands_for,
    demand_turn,
    place_of,
    sent_of,
    stops_of,
    truncation_for,
    view_of,
    visible_of,
)
from agents.context import agent_request
from agents.context.agent_request import GO_ON, AgentRequest, Aware, Message
from agents.context.sections import Counted
from agents.context.subject_request import PromptTooLong, SubjectPath, count_small
from agents.context.values import (
    AugmentLine,
    LineReply,
    Round,
    TurnRequest,
)
from agents.providers.orders import AskedParticipant, GenerationOrder
from agents.providers.registry import (
    Provider,
    addressed,
    configuration_of,
    first_of,
    limit_of,
    sees,
    text_for,
    tools_of,
    whom,
)
from agents.providers.values import Blocks, ProviderRequest
from agents.refusals import too_long
from agents.reply_grammar import grammar_for
from agents.subject_prompt import (
    order_of_candidate,
    order_of_judge,
    order_of_summary,
    seeing,
)
from loom.access import Actor
from loom.engine import jobs
from loom.language.slices import part_size
from loom.links.vocabulary import names_for
from loom.participants.provider_keys import allowed_addresses, key_of
from loom.participants.provider_kinds import PROBED, room_in
from loom.people.names import as_sent as name_sent
from loom.text.frames import escaped
from loom.text.shortening import plain
from loom.text.tokens import count
from loom.trees.models import Workspace
from loom.trees.queries.lookup import rows_of, withheld_from_models
from loom.turns import access as turn_access
from loom.turns import turn_lifecycle
from loom.turns.generation_lifecycle import instructions_of
from loom.turns.models import SUMMARY, Generation, Turn
from loom.turns.queries import budget_of
from loom.workspace.queries.augments import loaded_in
from loom.workspace.window_rules import refs_named

# The next request of a loom-aware agent, for a place.


def assembled(place: PromptPlace, *, limit: int = 0, counted: Counted = count) -> AgentRequest:
    """The next request for a place. Raises TooLong if it cannot be made to fit."""
    agent, turn = place.actor.participant, place.turn
    asks = _request(turn)
    agents, models = agents_for(place.actor)
    own_text = turn.system_text if turn else None
    return agent_request.assemble(
        Aware(
            persona=agent.persona,
            system_context=first_of(own_text, place.tree.system_context) or "",
            commands=commands_for(place.actor),
            path=stops_of(place),
            rounds=tuple(round_of(kept_round) for kept_round in turn.rounds) if turn else (),
            view=replace(view_of(place), request=_named(asks)),
            closing=_closing(asks, place),
            request=asks,
            truncation=truncation_for(turn.invoked_by if turn else place.actor.person, place.tree),
            limit=limit or room_in(agent.context_limit, place.number("truncation_reserve")),
            counted=counted,
            stated=turn.rounds[-1].get("stated", {}) if turn and turn.rounds else {},
            agents=agents,
            models=models,
            types=tuple(names_for(place.actor)),
            threshold=place.number("result_threshold"),
            part=part_size(agent.context_limit, place.number("result_threshold")),
            kept=place.number("truncation_kept"),
            step=place.number("earlier_step"),
            augments=loaded_augments(place.workspace),
        )
    )


def loaded_augments(workspace: Workspace) -> tuple[AugmentLine, ...]:
    """The loaded augments in the order in which they are sent, then the others by name."""
    loaded = loaded_in(workspace)
    others = [augment for augment in loaded.every if augment not in loaded.texts]
    return tuple(
        AugmentLine(augment.name, mark, augment.text if mark else "")
        for augment in (*loaded.texts, *others)
        for mark in (loaded.mark_of(augment),)
    )


def _request(turn: Turn | None) -> TurnRequest | None:
    """The words that started the turn; None if there were none, or they were excluded or pruned
    since."""
    if turn is None or turn.input_node is None:
        return None
    (row,) = rows_of([turn.input_node.pk])
    if withheld_from_models([row.id]):
        return None
    return TurnRequest(
        row.local_id, text_for(row.text, turn.participant), row.author_name, row.author_kind
    )


SAID_AGAIN = 300  # characters of a request that the last line repeats


def _closing(asks: TurnRequest | None, place: PromptPlace) -> str:
    """The last line of each request of a turn: who asks what in which node."""
    if asks is None:
        seen = visible_of(place.read)
        return f"{GO_ON} You stand at [{seen[-1].local_id}]." if seen else GO_ON
    words = " ".join(asks.text.split())
    asked = words if len(words) <= SAID_AGAIN else f"{words[:SAID_AGAIN].rstrip()}…"
    return escaped(f"{name_sent(asks.author)} asks in [{asks.local_id}]: {plain(asked)}")


def _named(asks: TurnRequest | None) -> str:
    if asks is None:
        return ""
    refs = ", ".join(refs_named(asks.text))
    names = f" · names {refs}" if refs else ""
    return f"[{asks.local_id}] from {asks.author}{names}"


def round_of(kept: dict[str, Any]) -> Round:
    """A round as the turn's row stores it."""
    replies = tuple(
        LineReply(reply["line"], reply["reply"], reply["number"])
        for reply in (*kept.get("tools", ()), *kept["replies"])
    )
    return Round(
        kept["text"], replies, kept["dropped"], tuple(kept["notes"]), kept.get("workspace", "")
    )


# The order of a generation: from rows to plain values.


def order_of(generation: Generation, *, is_shown: bool = False, then: str = "") -> GenerationOrder:
    """The order of a generation, read now. Raises CommandError (the person who asked is no longer
    allowed to, the key belongs to another address, the path is too long) or Broken (no provider).
    `is_shown`: the order is only shown to people, so it has no key, and the provider may be down;
    `then` is a text that the person has not added yet.
    """
    participant = generation.participant
    provider, base_url, model = addressed(participant) if is_shown else whom(participant)
    if generation.round == SUMMARY:
        return order_of_summary(generation, AskedParticipant(provider, base_url, model))
    instructions = instructions_of(generation.round)
    if instructions is not None:
        asked = AskedParticipant(provider, base_url, model)
        return order_of_judge(generation, asked, instructions)
    if generation.round and generation.turn is not None:
        return _order_of_round(generation.turn, AskedParticipant(provider, base_url, model))
    return order_of_candidate(
        generation, AskedParticipant(provider, base_url, model), is_shown=is_shown, then=then
    )


def prepared_round(turn: Turn, actor: Actor) -> dict[str, Any]:
    """The request of the turn's next round, assembled once: the same value is priced and sent.
    Raises TooLong, or Broken if there is no provider."""
    provider, _, _ = whom(actor.participant)
    place = place_of(actor, turn)
    sent = assembled_for(place, provider)
    if any(portion.name == "EARLIER" for portion in sent.portions):
        named = [turn.tree.uid, turn.invoked_by_id, [row.id for row in place.read], False, turn.uid]
        jobs.enqueue("agents.tasks.summarise", named, queue="continue")
    return {**prepared(place, sent), "kept": _kept(turn.prepared, sent)}


def _kept(before: Mapping[str, Any] | None, sent: AgentRequest) -> int:
    """How many tokens at the beginning of a request are those of the round before."""
    if before is None:
        return 0
    old = [before["system"], *(block for _, blocks, _ in before["messages"] for block in blocks)]
    new = [sent.system, *(block for message in sent.messages for block in message.blocks)]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    return sum(count(block) for block, _ in same)


def assembled_for(place: PromptPlace, provider: Provider) -> AgentRequest:
    """The next request for a place within the limit of its provider. Raises TooLong."""
    limit = limit_of(provider, place.actor.participant, place.tree.grove)
    return assembled(place, limit=limit, counted=count_small if provider.context else count)


def prepared(place: PromptPlace, sent: AgentRequest) -> dict[str, Any]:
    """A request as the row of its turn stores it between pricing and sending a round."""
    asked = place.turn.input_node_id if place.turn else None
    return {
        "system": sent.system,
        "messages": [[message.role, message.blocks, message.kept] for message in sent.messages],
        "tokens": sent.tokens,
        "note": sent.note,
        "is_brief": sent.is_brief,
        "workspace": sent.workspace,
        "stated": dict(sent.stated),
        "nodes": [row.local_id for row in place.read],
        "read": [row.id for row in sent_of(place.read)] + ([asked] if asked else []),
    }


def as_sent(kept: Mapping[str, Any]) -> AgentRequest:
    """The request that `prepared` returned."""
    messages = [
        Message(role, tuple(blocks), tuple(marks)) for role, blocks, marks in kept["messages"]
    ]
    return AgentRequest(
        kept["system"],
        tuple(messages),
        (("ALL", kept["tokens"]),),
        kept["note"],
        kept["is_brief"],
        kept["workspace"],
        kept["stated"],
    )


def _order_of_round(turn: Turn, asked: AskedParticipant) -> GenerationOrder:
    """The order of a turn's round: no tools, and no text to continue. The prepared request is sent
    unchanged, unless a text in it was excluded or pruned since.
    """
    actor = turn_access.acting_in(turn)
    demand_turn(actor)
    agent, tree = actor.participant, turn.tree
    kept = turn.prepared
    if kept is None or withheld_from_models(kept["read"]):
        try:
            kept = {**prepared_round(turn, actor), "kept": 0}  # it is the same round
        except PromptTooLong as long:
            raise too_long(long, agent) from None
        turn_lifecycle.replace_request(turn, kept)
    sent = as_sent(kept)
    ask = ProviderRequest(
        base_url=asked.base_url,
        model=asked.model,
        messages=sent.bodies,
        prompt=None,
        temperature=first_of(turn.settings.get("temperature"), agent.temperature),
        max_tokens=_most_tokens(turn, first_of(agent.max_tokens, asked.provider.max_tokens)),
        stop=(*agent.stop, *turn.settings.get("stop", ())),
        samplers={name: value for name, value in turn.settings.items() if name in PROBED},
        grammar=grammar_for(
            actor,
            asked.provider,
            kept["nodes"],
            # The embedded model never writes a line on its own (measured: 0 of 40).
            acts=asked.provider.grammar and not turn.rounds,
            only_examples=sent.is_brief,
        ),
        blocks=tuple(
            Blocks(message.role, message.blocks, message.kept) for message in sent.messages
        ),
        tools=tools_of(agent),
        key=key_of(agent),
        auth=agent.auth,
    )
    if sees(agent):
        ask = seeing(ask, (actor, tree))
    nothing = SubjectPath("dialogue", "chat", ())
    configuration = configuration_of(agent, "plain" if tree.mode == "buffer" else None)
    until = until_of(turn)
    return GenerationOrder(
        asked.provider,
        nothing,
        ask,
        configuration,
        note=sent.note,
        purpose="reply",
        until=until,
        allow=allowed_addresses(asked.base_url, allow_private=agent.allow_private),
    )


def _most_tokens(turn: Turn, own: int | None) -> int | None:
    """How many tokens a round has at most: what the agent or its provider has, or the program that
    started the turn wants if that is less."""
    wanted = turn.settings.get("tokens")
    return min((most for most in (wanted, own) if most is not None), default=None)


CONCLUDE_S = 60


def until_of(turn: Turn) -> datetime:
    """When the current round of a turn has to end: with the time of the turn; the concluding round
    has CONCLUDE_S more."""
    end = turn.created_at + timedelta(milliseconds=budget_of(turn).milliseconds)
    if turn.is_concluding:
        return max(end, timezone.now() + timedelta(seconds=CONCLUDE_S))
    return end
