"""A generation from its request to its text: the request of a turn's round or a candidate, the
growing text of a candidate, and the prose of a turn's rounds."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.utils import timezone

from agents.agent_prompt import (
    Place,
    agents_for,
    commands_for,
    demand_turn,
    language,
    place_of,
    sent_of,
    stops_of,
    truncation_for,
    view_of,
)
from agents.context import agent_request
from agents.context.agent_request import GO_ON, Aware, Message, Sent
from agents.context.overlap import Overlap
from agents.context.sections import Counted
from agents.context.subject_request import Reading, TooLong, count_small
from agents.context.values import (
    BY_EXAMPLE,
    Augment,
    LineReply,
    Reply,
    Request,
    Round,
)
from agents.leases import end, is_paid_for
from agents.providers.attempt import read_reply
from agents.providers.registry import (
    Asked,
    Order,
    Provider,
    addressed,
    configuration_of,
    first_of,
    limit_of,
    said,
    sees,
    whom,
)
from agents.providers.values import Ask, Blocks
from agents.refusals import too_long
from agents.subject_prompt import (
    order_of_candidate,
    order_of_summary,
    seeing,
)
from loom import access
from loom.access import Actor
from loom.commands import money, registry, turn_lifecycle
from loom.commands.generation_lifecycle import CUT_OFF
from loom.commands.money import allowed_addresses, key_of
from loom.commands.node_writer import MAX_NODE_BYTES
from loom.commands.view import LISTS
from loom.events import streams
from loom.events.streams import send_async
from loom.grammar.gbnf import Known, grammar_of
from loom.models import SUMMARY, Generation, Participant, Turn, Workspace
from loom.queries.lookup import rows_of, withheld_from_models
from loom.queries.workspaces import budget_of, loaded_in
from loom.rules.errors import CommandError
from loom.rules.link_types import STORED
from loom.rules.node_values import count
from loom.rules.windows import refs_named

# The next request of a loom-aware agent, for a place.


def assembled(place: Place, *, limit: int = 0, counted: Counted = count) -> Sent:
    """The next request for a place. Raises TooLong if it cannot be made to fit."""
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
    """The loaded augments in the order in which they are sent, then the others by name."""
    loaded = loaded_in(workspace)
    others = [one for one in loaded.every if one not in loaded.texts]
    return tuple(
        Augment(one.name, mark, one.text if mark else "")
        for one in (*loaded.texts, *others)
        for mark in (loaded.mark_of(one),)
    )


def _request(turn: Turn | None) -> Request | None:
    """The words that started the turn; None if there were none, or they were excluded or pruned
    since."""
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


def round_of(kept: dict[str, Any]) -> Round:
    """A round as the turn's row stores it."""
    replies = tuple(LineReply(one["line"], one["reply"], one["number"]) for one in kept["replies"])
    return Round(
        kept["text"], replies, kept["dropped"], tuple(kept["notes"]), kept.get("workspace", "")
    )


# The grammar of an agent's answer, for providers that support one.


CAPABILITY = "grammar"


def grammar_for(
    actor: Actor,
    provider: Provider,
    nodes: Sequence[str],
    *,
    acts: bool = False,
    verbs: Collection[str] = (),
) -> str:
    """The GBNF grammar of what the acting agent may write: prose, and lines of the commands that
    the agent and its inviter may use, about `nodes` (local ids); "" if the provider supports no
    grammar and the participant does not say that its server does. With `acts` an answer is a
    single line, so that a model too small to think of one acts at all. With `verbs` only these are
    lines.
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


# The order of a generation: from rows to plain values.


def order_of(generation: Generation, *, is_shown: bool = False, then: str = "") -> Order:
    """The order of a generation, read now. Raises CommandError (the person who asked is no longer
    allowed to, the key belongs to another address, the path is too long) or Broken (no provider).
    `is_shown`: the order is only shown to people, so it has no key, and the provider may be down;
    `then` is a text that the person has not added yet.
    """
    participant = generation.participant
    provider, base_url, model = addressed(participant) if is_shown else whom(participant)
    if generation.round == SUMMARY:
        return order_of_summary(generation, Asked(provider, base_url, model))
    if generation.round and generation.turn is not None:
        return _order_of_round(generation.turn, Asked(provider, base_url, model))
    return order_of_candidate(
        generation, Asked(provider, base_url, model), is_shown=is_shown, then=then
    )


def prepared_round(turn: Turn, actor: Actor) -> dict[str, Any]:
    """The request of the turn's next round, assembled once: the same value is priced and sent.
    Raises TooLong, or Broken if there is no provider."""
    provider, _, _ = whom(actor.participant)
    place = place_of(actor, turn)
    sent = assembled_for(place, provider)
    if any(one.name == "EARLIER" for one in sent.portions):
        named = [turn.tree.uid, turn.invoked_by_id, [row.id for row in place.read], False]
        streams.enqueue("agents.tasks.summarise", named, queue="continue")
    return prepared(place, sent)


def assembled_for(place: Place, provider: Provider) -> Sent:
    """The next request for a place within the limit of its provider. Raises TooLong."""
    limit = limit_of(provider, place.actor.participant, place.tree.grove)
    return assembled(place, limit=limit, counted=count_small if provider.context else count)


def prepared(place: Place, sent: Sent) -> dict[str, Any]:
    """A request as the row of its turn stores it between pricing and sending a round."""
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
    """The order of a turn's round: no tools, and no text to continue. The prepared request is sent
    unchanged, unless a text in it was excluded or pruned since.
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
        max_tokens=first_of(agent.max_tokens, asked.provider.max_tokens),
        stop=tuple(agent.stop),
        grammar=grammar_for(
            actor,
            asked.provider,
            kept["nodes"],
            # The embedded model never writes a line on its own (measured: 0 of 40).
            acts=asked.provider.grammar and not turn.rounds,
            verbs=BY_EXAMPLE if sent.is_brief else (),
        ),
        blocks=tuple(Blocks(one.role, one.blocks, one.kept) for one in sent.messages),
        key=key_of(agent),
        auth=agent.auth,
    )
    if sees(agent):
        ask = seeing(ask, (actor, tree))
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


CONCLUDE_S = 60


def until_of(turn: Turn) -> datetime:
    """When the current round of a turn has to end: with the time of the turn; the concluding round
    has CONCLUDE_S more."""
    end = turn.created_at + timedelta(milliseconds=budget_of(turn).milliseconds)
    if turn.is_concluding:
        return max(end, timezone.now() + timedelta(seconds=CONCLUDE_S))
    return end


# The text of one generation while it grows.


BETWEEN_MESSAGES_S = 0.05
SEND_S = 2.0  # seconds; a broker that hangs must not delay the text, which is in the row


class Candidate:
    """The growing text of one generation, the `index`th of the answer. Used on the event loop
    only."""

    def __init__(
        self,
        generation: Generation,
        index: int,
        *,
        stream: str,
        overlap: Overlap | None = None,
        left_out: str = "",
    ) -> None:
        self.generation = generation
        self._overlap = overlap
        self._left_out = left_out
        self.index = index
        self.uid = generation.uid
        self.shown = ""
        self.chunk = 0
        self.is_open = True
        self.is_whole = False
        self.reason = ""
        self._prices = money.allowed(generation)
        self.reserved = generation.reserved
        self._pieces = self._bytes = 0
        self._written = 0
        self._stream = stream
        self._waiting: list[str] = []
        self._room = MAX_NODE_BYTES
        self._news = asyncio.Event()
        self._sending = asyncio.Lock()
        self._sender = asyncio.create_task(self._send_on())

    @property
    def has_text(self) -> bool:
        """Whether any text has arrived."""
        return bool(self.shown or self._waiting or (self._overlap and self._overlap.holds))

    @property
    def note(self) -> str:
        """What was left out of the request, and what was changed where the answer meets the
        text."""
        joined = self._overlap.note if self._overlap else ""
        return " · ".join(one for one in (self._left_out, joined) if one)[:200]

    @property
    def whole(self) -> str:
        """How it finished if nothing interrupted it; for a round also that it reached its limit."""
        is_cut = self.reason in ("length", "max_tokens") and self.generation.round
        return CUT_OFF if is_cut else "complete"

    @property
    def has_news(self) -> bool:
        """Whether more was shown than its row has stored."""
        return self.chunk > self._written

    def written(self) -> tuple[str, int]:
        """The values that its row should have now."""
        self._written = self.chunk
        return self.shown, self.chunk

    @property
    def wrote(self) -> int:
        """The approximate number of tokens that arrived: at least one for each piece."""
        return max(self._pieces, -(-self._bytes // 4))

    @property
    def tokens(self) -> int:
        """The approximate number of tokens by bytes alone: pieces may be single letters."""
        return -(-self._bytes // 4)

    @property
    def lacks(self) -> int:
        """Its cost so far, if that is more than is reserved; else 0."""
        if self._prices is None:
            return 0
        cost = self._prices.reading(self.generation.reading) + self._prices.writing(self.wrote)
        return cost if cost > self.reserved else 0

    def add(self, text: str) -> bool:
        """Adds a piece. False if the node would become too large: the piece is cut there."""
        size = len(text.encode())
        self._pieces += 1
        self._bytes += size
        if size > self._room:
            text = text.encode()[: self._room].decode(errors="ignore")
        self._room -= size
        self._wait(self._overlap.feed(text) if self._overlap else text)
        return self._room >= 0

    def _wait(self, text: str) -> None:
        if text:
            self._waiting.append(text)
            self._news.set()

    async def _send_on(self) -> None:
        while True:
            await self._news.wait()
            await self._show()
            await asyncio.sleep(BETWEEN_MESSAGES_S)

    async def _show(self) -> None:
        """Sends the waiting text as one message."""
        async with self._sending:
            self._news.clear()
            text, self._waiting = "".join(self._waiting), []
            if not text:
                return
            self.chunk += 1
            self.shown += text
            message = {"type": "delta", "generation": self.uid, "chunk": self.chunk, "text": text}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(send_async(self._stream, message), SEND_S)

    async def close(self) -> None:
        """Accepts no more pieces; shows what is still waiting."""
        self.is_open = False
        async with self._sending:
            self._sender.cancel()
        if self._overlap:
            self._wait(self._overlap.rest())
        await self._show()


# Ending a generation whose worker was lost.


MAX_TRIES = 3

LOST = "interrupted:worker lost"


def was_lost(taken: Generation, lease: str) -> bool:
    """Ends a generation whose worker was lost in the middle of its text, or three times, or when
    another attempt would cost too much."""
    error: dict[str, Any] | None = None
    if not taken.text and taken.tries > MAX_TRIES:
        said = "The worker was lost each time this was tried."
        error = CommandError("UNAVAILABLE", said, hint="Try again.").body
    elif not taken.text:
        if taken.tries == 1 or is_paid_for(taken):
            return False
        error = money.used_up().body
    end(taken, lease, finish=LOST, error=error)
    return True


# The prose of a turn's rounds.


def reply_of(said: Generation) -> Reply:
    """The parsed reply of a round, read from its row alone: always the same result."""
    return _read(said.text, said.finish == "complete")


@lru_cache(maxsize=8)
def _read(text: str, finished: bool) -> Reply:
    """Cached, because it is needed once for every line."""
    return read_reply(text, language(), finished=finished)


def prose(turn: Turn) -> str:
    """The answer: the prose of the last round that has any, even if it was cut off. The prose of
    earlier rounds stays with them."""
    parts = [one["prose"] for one in turn.rounds]
    last = turn.generation
    if last is not None and not any(one["generation"] == last.uid for one in turn.rounds):
        parts.append(reply_of(last).prose)
    return next((part for part in reversed(parts) if part.strip()), "")
