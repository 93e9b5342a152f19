"""What a model would write next, and how likely it finds a text: asked of it now, one small request
at a time. What it costs is reserved from the day of whoever asks before the request, and counted
after it, as a generation without a text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine.fields import new_uid
from loom.errors import CommandError
from loom.meaning.indexing import digest_of
from loom.meaning.models import TextScore
from loom.meaning.tokens import (
    Rival,
    ScoredToken,
    echoed_tokens,
    forced_tokens,
    next_rivals,
    packed_tokens,
)
from loom.money import spending
from loom.money.queries.token_counts import path_tokens
from loom.money.spending import CandidateRequest, Share
from loom.participants.endpoint_calls import EndpointFailed
from loom.participants.prices import NANO, counts_of, dollars, prices_from
from loom.people.models import Participant
from loom.permissions import GENERATE, WRITE
from loom.platform.outside_waits import waits_outside
from loom.trees.commands.node_writer import demand_text_node, demand_visible
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import withheld, withheld_from_models
from loom.turns.models import TOKENS, Generation
from loom.turns.token_requests import (
    NEXT_TOKENS,
    SCORE,
    Keeps,
    TokenAnswer,
    TokenExchange,
    ask_next_tokens,
    ask_scores,
    store_exchange,
)

MOST_RIVALS = 10  # next tokens that are asked for
MOST_BEGUN = 2_000  # characters of a path that is opened
MOST_PATH = 100  # tokens of it, about; the price that is said before is that of such a path
MOST_SCORED = 8_000  # characters of a text that is scored
BEFORE = 2_000  # characters of the text above that the model reads before it


def token_agents(tree: Tree) -> list[Participant]:
    """The models of a grove whose endpoint gave probabilities when it was tested, by name."""
    rows = Participant.objects.filter(grove=tree.grove_id, kind="model", archived_at__isnull=True)
    return [agent for agent in rows.order_by("name") if gives_probabilities(agent)]


def gives_probabilities(agent: Participant) -> bool:
    """Whether a test of its endpoint got probabilities of tokens; never assumed."""
    return bool((agent.probe.get("found") or {}).get("logprobs"))


def demand_token_agent(tree: Tree, uid: str) -> Participant:
    """A model by its uid, or the first one that gives probabilities ("": no wish). UNAVAILABLE if
    none does, NOT_FOUND if it is not of this grove."""
    agents = token_agents(tree)
    if not uid and agents:
        return agents[0]
    rows = Participant.objects.filter(grove=tree.grove_id, kind="model", archived_at__isnull=True)
    named = rows.filter(uid=uid).first() if uid else None
    if uid and named is None:
        raise CommandError("NOT_FOUND", "This model is not here.", hint="choose another one")
    if named is not None and named in agents:
        return named
    raise CommandError(
        "UNAVAILABLE",
        f"{named.name} has given no probabilities of tokens when it was tested."
        if named is not None
        else "No model of this grove has given probabilities of tokens when it was tested.",
        hint="test a model in its settings, such as one of llama.cpp or vLLM",
    )


# Money: reserved before, counted after.


@dataclass(frozen=True)
class TokenOffer:
    """What one request would cost: who is asked, about how many tokens it reads, and the price at
    most in billionths of a dollar (0: not known)."""

    agent: Participant
    reading: int
    most: int

    @property
    def price(self) -> str:
        """The price in words; "" if it is not known."""
        return dollars(self.most) if self.most else ""


def offer_of_next(actor: Actor, node: Node, agent: Participant) -> TokenOffer:
    """What one opening below a node costs at most, also at the end of the longest path."""
    here = access.known_workspace_of(actor.participant, node.tree)
    read = path_tokens(actor, node.tree, here, node)
    share = spending.most_of(CandidateRequest(agent, 1, 1), read + MOST_PATH)
    return TokenOffer(agent, share.reading, share.reserved)


def offer_of_score(node: Node, agent: Participant) -> TokenOffer:
    """What scoring a text costs at most."""
    read = spending.estimate(node.text) + BEFORE // 4
    share = spending.most_of(CandidateRequest(agent, 1, 1), read)
    return TokenOffer(agent, share.reading, share.reserved)


def _reserved(actor: Actor, agent: Participant, read: int) -> tuple[date, Share]:
    """Takes the price at most from the day of who asks. LIMIT_EXCEEDED if too little is left."""
    with transaction.atomic():
        request = CandidateRequest(agent, 1, 1)
        day, (share,) = spending.reserve(actor.participant, [request], read)
        if share.reserved:
            spending.lock(actor.participant, day)
            spending.add_spending(actor.participant, day, share.reserved)
    return day, share


def _begun(
    actor: Actor, node: Node, agent: Participant, reserved: tuple[date, Share]
) -> Generation:
    """The row of a request that is not stored."""
    day, share = reserved
    return Generation(
        tree=node.tree,
        participant=agent,
        asked_by=actor.participant,
        payer=actor.participant,
        point=node,
        round=TOKENS,
        batch=new_uid(),
        index=1,
        tokens=1,
        day=day,
        prices=share.prices,
        reading=share.reading,
    )


def _settle(row: Generation, share: Share, usage: Mapping[str, int] | None) -> None:
    """Counts what was read and written in place of what was reserved, and stores the row. `usage`
    None: the request failed, which costs nothing and is not stored; empty: it is estimated."""
    prices = prices_from(row.prices)
    more = -share.reserved
    if usage is not None:
        counts = counts_of(usage or {"prompt_tokens": share.reading, "completion_tokens": 1})
        row.tokens_in, row.tokens_out = counts.read, counts.wrote
        row.spent = prices.of(counts) if prices is not None else None
        row.status, row.ended_at = "done", timezone.now()
        more += row.spent or 0
    with transaction.atomic():
        if more and row.payer is not None and row.day is not None:
            spending.lock(row.payer, row.day)
            spending.add_spending(row.payer, row.day, more)
        if usage is not None:
            row.save()


def _asked(
    actor: Actor,
    node: Node,
    agent: Participant,
    read: int,
    *,
    purpose: str,
    ask: Callable[[Generation, Keeps], TokenAnswer],
) -> tuple[TokenAnswer, Generation]:
    """Asks, pays, and stores each exchange as a call, also of a request that failed.
    LIMIT_EXCEEDED if too many wait for models."""
    with waits_outside(actor.user.pk, "models"):
        reserved = _reserved(actor, agent, read)
        row = _begun(actor, node, agent, reserved)
        exchanges: list[TokenExchange] = []
        try:
            try:
                answer = ask(row, exchanges.append)
            finally:
                for exchange in exchanges:
                    row.call = store_exchange(node.tree, agent, purpose, exchange)
        except EndpointFailed as failed:
            _settle(row, reserved[1], None)
            raise CommandError(
                "UNAVAILABLE", f"{agent.name}: {failed}"[:300], hint="try another model"
            ) from None
        except BaseException:
            _settle(row, reserved[1], None)
            raise
        _settle(row, reserved[1], answer.usage)
        return answer, row


# What can be asked.


def demand_asking(actor: Actor, tree: Tree) -> None:
    """Refuses who may not write and ask models in this tree."""
    access.demand(actor, {WRITE, GENERATE}, "asking a model")
    access.demand_writable(tree)


def is_scored(node: Node) -> bool:
    """Whether a text may be sent to a model that scores it."""
    is_text = node.kind == "text" and bool(node.text.strip())
    return is_text and not withheld_from_models([node.pk])


@dataclass(frozen=True)
class NextOnes:
    """The likely next tokens after a text, the likeliest first, and what asking cost in billionths
    of a dollar (None: not known)."""

    rivals: tuple[Rival, ...]
    read: int
    spent: int | None

    @property
    def usd(self) -> float | None:
        """The cost in dollars."""
        return None if self.spent is None else self.spent / NANO


def next_tokens(actor: Actor, node: Node, agent: Participant, begun: str) -> NextOnes:
    """Asks a model what comes next below a node, after an answer that begins with `begun`: one
    request of one token. REJECTED below what is hidden or no text, UNAVAILABLE if its endpoint
    cannot say it, LIMIT_EXCEEDED without money."""
    demand_asking(actor, node.tree)
    demand_text_node(node, "continued")
    demand_visible(node)
    if spending.estimate(begun) > MOST_PATH:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A path has at most about {MOST_PATH} tokens.",
            hint="take it, and go on from there",
        )
    here = access.known_workspace_of(actor.participant, node.tree)
    read = path_tokens(actor, node.tree, here, node) + spending.estimate(begun)

    def ask(new: Generation, keeps: Keeps) -> TokenAnswer:
        return ask_next_tokens(new, begun, MOST_RIVALS, keeps)

    answer, row = _asked(actor, node, agent, read, purpose=NEXT_TOKENS, ask=ask)
    rivals = next_rivals(answer.bodies[0])
    if not rivals:
        raise CommandError(
            "UNAVAILABLE",
            f"{agent.name} answered without probabilities.",
            hint="test it again in its settings, or choose another model",
        )
    return NextOnes(rivals, row.tokens_in, row.spent)


def score_text(actor: Actor, node: Node, agent: Participant) -> tuple[TextScore, Generation]:
    """Asks a model how likely it finds each token of a text, after the end of the text above as it
    was when it was written, and keeps that by the hash of the text and the name of the model.
    REJECTED for notes and what is hidden or excluded, UNAVAILABLE if its endpoint cannot say it."""
    demand_asking(actor, node.tree)
    demand_text_node(node, "scored")  # notes are only for those who read the tree
    demand_visible(node)
    if withheld(actor, [node.pk]) or withheld_from_models([node.pk]):
        raise CommandError("REJECTED", "This text is kept from models.", hint="include it first")
    if not node.text.strip():
        raise CommandError("REJECTED", "This text is empty.", hint="choose another one")
    if len(node.text) > MOST_SCORED:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A text of at most {MOST_SCORED:,} characters can be scored.",
            hint="split it first",
        )
    before = ""
    if node.parent_slot_id is not None and not withheld_from_models([node.parent_slot_id]):
        versions = Node.objects.filter(slot=node.parent_slot_id)
        above = versions.filter(hash=node.parent_hash).first() or versions.earliest("pk")
        before = above.text[-BEFORE:]
    if before and node.tree.mode != "buffer":
        before += "\n\n"
    read = spending.estimate(node.text) + spending.estimate(before)

    def tokens_in(answer: TokenAnswer) -> list[ScoredToken]:
        if answer.is_forced:
            return forced_tokens(answer.bodies, node.text)
        return echoed_tokens(answer.bodies[0], answer.before, node.text)

    def ask(_: Generation, keeps: Keeps) -> TokenAnswer:
        return ask_scores(agent, before, node.text, lambda answer: bool(tokens_in(answer)), keeps)

    answer, row = _asked(actor, node, agent, read, purpose=SCORE, ask=ask)
    score, _ = TextScore.objects.update_or_create(
        tree=node.tree,
        digest=digest_of(node.text),
        model=agent.model_ref[:120],
        defaults={"tokens": packed_tokens(tokens_in(answer)), "agent": agent, "at": timezone.now()},
    )
    return score, row
