"""Requests for probabilities of tokens, answered at once, and the calls that prove them. What sends
them, over checked addresses only, is registered by the package that speaks with providers."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loom.participants.endpoint_calls import EndpointFailed
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns import generation_lifecycle
from loom.turns.generation_lifecycle import Received
from loom.turns.models import Call, Generation

# The purposes of calls that ask for probabilities.
NEXT_TOKENS, SCORE = "tokens", "score"
MOST_REQUEST = 64 * 1024  # bytes of the JSON of a request that is stored whole
MOST_TEXT = 2_000  # characters that are kept of each text of a longer one
MOST_PARTS = 20  # messages of it that are kept


@dataclass(frozen=True)
class TokenAnswer:
    """What an endpoint answered, as it was received, and the usage that it counted (empty: none).
    A text that was scored is repeated after `before`; or `is_forced`: it was written again, in one
    or several answers, and nothing but the text is in them."""

    bodies: tuple[bytes, ...]
    usage: Mapping[str, int] = field(default_factory=dict)
    before: str = ""
    is_forced: bool = False


@dataclass(frozen=True)
class TokenExchange:
    """One exchange with a provider, without keys: the request as a call stores it, and what was
    received. `note`: how it differs from the bytes that went over the wire."""

    provider: str
    configuration: str
    request: Mapping[str, Any]
    received: Received
    note: str = ""


Keeps = Callable[[TokenExchange], None]
Reads = Callable[[TokenAnswer], bool]
NextTokens = Callable[[Generation, str, int, Keeps], TokenAnswer]
Scores = Callable[[Participant, str, str, Reads, Keeps], TokenAnswer]
_next_tokens: list[NextTokens] = []
_scores: list[Scores] = []


def sends_next_tokens(function: NextTokens) -> NextTokens:
    """Registers what asks for one token of a generation whose answer begins with a text, with so
    many likely ones. It hands over each exchange, and raises EndpointFailed, or CommandError for
    what cannot be asked."""
    _next_tokens[:] = [function]
    return function


def sends_scores(function: Scores) -> Scores:
    """Registers what asks a participant how likely it finds a text after another one, in one way
    after the other until an answer can be read. It hands over the exchange that the numbers come
    from, and raises EndpointFailed if there is none, after the last one that failed."""
    _scores[:] = [function]
    return function


def ask_next_tokens(generation: Generation, begun: str, most: int, keeps: Keeps) -> TokenAnswer:
    """One token after `begun`. Raises EndpointFailed or CommandError."""
    if not _next_tokens:
        raise EndpointFailed("Endpoints cannot be called here.")
    return _next_tokens[0](generation, begun, most, keeps)


def ask_scores(
    agent: Participant, before: str, text: str, reads: Reads, keeps: Keeps
) -> TokenAnswer:
    """An answer with the probabilities of `text` after `before` that `reads` can read. Raises
    EndpointFailed."""
    if not _scores:
        raise EndpointFailed("Endpoints cannot be called here.")
    return _scores[0](agent, before, text, reads, keeps)


# The calls of such requests.


def store_exchange(
    tree: Tree, agent: Participant, purpose: str, exchange: TokenExchange
) -> Call | None:
    """Stores an exchange as a sealed call that leads to no node. None if the tree is being erased.
    A long request is stored shortened: each piece that is opened would repeat the whole path."""
    if not Tree.objects.filter(pk=tree.pk, erasing_at__isnull=True).exists():
        return None
    request, shortened = _bounded(exchange.request)
    call = Call(
        tree=tree,
        participant=agent,
        purpose=purpose,
        provider=exchange.provider,
        configuration=exchange.configuration,
        request=request,
        note=" ".join(words for words in (exchange.note, shortened) if words),
    )
    call.save()
    generation_lifecycle.seal(call, exchange.received)
    return call


def _bounded(request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(a request as it is stored, how it differs from the one that was sent)."""
    sent = json.dumps(request.get("body"), ensure_ascii=False, separators=(",", ":")).encode()
    if len(sent) <= MOST_REQUEST:
        return dict(request), ""
    digest = hashlib.sha256(sent).hexdigest()
    note = f"The request was shortened: it had {len(sent):,} bytes with the SHA-256 {digest}."
    return {**request, "body": _shortened(request.get("body"))}, note


def _shortened(value: Any) -> Any:
    """A value of JSON with the ends of its long texts and lists."""
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else f"…{value[-MOST_TEXT:]}"
    if isinstance(value, Mapping):
        return {name: _shortened(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(part) for part in value[-MOST_PARTS:]]
    return value
