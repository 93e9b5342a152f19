"""Probabilities of tokens in the API: what could come next below a text, and scoring a text."""

from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.errors import not_found
from loom.meaning import token_calls
from loom.meaning.tokens import Rival, unpacked_tokens
from loom.participants.prices import NANO
from loom.site import api_requests as requests
from loom.site.api_requests import read, user_of
from loom.site.responses import Returned
from loom.site.schema import operation
from loom.trees.models import Node
from loom.trees.queries import lookup


class NextTokensSent(requests.Body):
    """Which model is asked (none: the first one that gives probabilities), and how its answer
    begins."""

    agent: str = Field("", max_length=40)
    begun: str = Field("", max_length=token_calls.MOST_BEGUN)


class NextToken(Returned):
    """A token that could come next; `goes_on` is false for the end of a text and for a part of a
    character, after which nothing can be asked."""

    text: str
    probability: float
    goes_on: bool


class NextTokensOf(Returned):
    """What could come next, the likeliest first; the tokens that were read, and the cost in dollars
    (null: not known)."""

    agent: str
    tokens: list[NextToken]
    read: int
    usd: float | None


class ScoreSent(requests.Body):
    """Which model is asked; none: the first one that gives probabilities."""

    agent: str = Field("", max_length=40)


class ScoreOf(Returned):
    """Which model scored the text, how many tokens it has, their mean surprise in bits, and the
    cost in dollars (null: not known)."""

    agent: str
    tokens: int
    bits: float
    usd: float | None


def _asked(request: Request, uid: str, local_id: str) -> tuple[Actor, Node]:
    """The caller, who may ask models about it, and the node."""
    actor, tree = access.get_tree(user_of(request), uid)
    node = lookup.find_node(tree, local_id)
    if node is None:
        raise not_found("This node")
    token_calls.demand_asking(actor, tree)
    return actor, lookup.with_tree(tree, node)


ENDS = ("</s>", "<eos>", "<end_of_turn>")


def goes_on(rival: Rival) -> bool:
    """Whether something can be asked after this token."""
    is_mark = rival.text.startswith("<|") and rival.text.endswith("|>")
    return (
        bool(rival.text) and "\ufffd" not in rival.text and not is_mark and rival.text not in ENDS
    )


@operation(
    "POST",
    "nodes next_tokens",
    "Ask a model for the likely next tokens",
    body=NextTokensSent,
    answers=NextTokensOf,
)
@api_view(["POST"])
def next_tokens(request: Request, uid: str, local_id: str) -> Response:
    """The likely next tokens below a node, after an answer that begins with `begun`: one request of
    one token to the model."""
    actor, node = _asked(request, uid, local_id)
    sent = read(request, NextTokensSent)
    agent = token_calls.demand_token_agent(node.tree, sent.agent)
    answer = token_calls.next_tokens(actor, node, agent, sent.begun)
    tokens = [
        {"text": rival.text, "probability": rival.probability, "goes_on": goes_on(rival)}
        for rival in answer.rivals
    ]
    return Response({"agent": agent.uid, "tokens": tokens, "read": answer.read, "usd": answer.usd})


@operation(
    "POST",
    "nodes score",
    "Have a model score the tokens of a text",
    body=ScoreSent,
    answers=ScoreOf,
)
@api_view(["POST"])
def score(request: Request, uid: str, local_id: str) -> Response:
    """Asks a model how likely it finds each token of a text, also of one that a person wrote. The
    text is shaded by it from then on."""
    actor, node = _asked(request, uid, local_id)
    agent = token_calls.demand_token_agent(node.tree, read(request, ScoreSent).agent)
    kept, row = token_calls.score_text(actor, node, agent)
    tokens = unpacked_tokens(bytes(kept.tokens))
    return Response(
        {
            "agent": agent.uid,
            "tokens": len(tokens),
            "bits": sum(token.bits for token in tokens) / len(tokens),
            "usd": None if row.spent is None else row.spent / NANO,
        }
    )
