"""Requests for probabilities of tokens, answered at once. What sends them, over checked addresses
only, is registered by the package that speaks with providers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loom.participants.endpoint_calls import EndpointFailed
from loom.people.models import Participant
from loom.turns.models import Generation


@dataclass(frozen=True)
class TokenAnswer:
    """What an endpoint answered, as it was received, and the usage that it counted (empty: none).
    A text that was scored is repeated after `before`; or `is_forced`: it was written again, in one
    or several answers, and nothing but the text is in them."""

    bodies: tuple[bytes, ...]
    usage: Mapping[str, int] = field(default_factory=dict)
    before: str = ""
    is_forced: bool = False


Reads = Callable[[TokenAnswer], bool]
NextTokens = Callable[[Generation, str, int], TokenAnswer]
Scores = Callable[[Participant, str, str, Reads], TokenAnswer]
_next_tokens: list[NextTokens] = []
_scores: list[Scores] = []


def sends_next_tokens(function: NextTokens) -> NextTokens:
    """Registers what asks for one token of a generation whose answer begins with a text, with so
    many likely ones. It raises EndpointFailed, or CommandError for what cannot be asked."""
    _next_tokens[:] = [function]
    return function


def sends_scores(function: Scores) -> Scores:
    """Registers what asks a participant how likely it finds a text after another one, in one way
    after the other until an answer can be read. It raises EndpointFailed if none can."""
    _scores[:] = [function]
    return function


def ask_next_tokens(generation: Generation, begun: str, most: int) -> TokenAnswer:
    """One token after `begun`. Raises EndpointFailed or CommandError."""
    if not _next_tokens:
        raise EndpointFailed("Endpoints cannot be called here.")
    return _next_tokens[0](generation, begun, most)


def ask_scores(agent: Participant, before: str, text: str, reads: Reads) -> TokenAnswer:
    """An answer with the probabilities of `text` after `before` that `reads` can read. Raises
    EndpointFailed."""
    if not _scores:
        raise EndpointFailed("Endpoints cannot be called here.")
    return _scores[0](agent, before, text, reads)
