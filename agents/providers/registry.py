"""The providers by name: which API each one uses and its address; what a participant is
configured to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
from django.conf import settings

from agents.providers.anthropic import Anthropic
from agents.providers.litellm import NOWHERE, LiteLLMTransport
from agents.providers.transport import CheckedTransport
from agents.providers.values import (
    Adapter,
    BrokenConnection,
    Failure,
)
from loom.participants.provider_kinds import LOCAL_WINDOW, room_in
from loom.people.grove_settings import number_of
from loom.text import hashes
from loom.text.images import described

if TYPE_CHECKING:  # this module is also imported without loaded apps
    from loom.people.models import Grove, Participant
from agents.providers.openai import LiteLLM, OpenAI

# The providers by name.


@dataclass(frozen=True)
class Provider:
    """A vendor or a kind of server. `window`: the start of paths is cut to this many tokens;
    `shares`: one request can ask for several candidates; `completes`: it has a completion endpoint
    beside the chat, so that each mode of tree uses its own; `opening`: the prompt for an empty
    text; `grammar`: it supports GBNF."""

    name: str
    adapter: Callable[[], Adapter] = OpenAI
    transport: Callable[[Sequence[str]], httpx.AsyncBaseTransport] = CheckedTransport
    base_url: str = ""
    window: int | None = None
    context: int | None = None
    max_tokens: int | None = None
    shares: bool = False
    completes: bool = False
    opening: str = ""
    grammar: bool = False


_providers: dict[str, Provider] = {}


def register(provider: Provider) -> None:
    """Registers a provider by its name."""
    _providers[provider.name] = provider


def provider_of(name: str) -> Provider:
    """The provider called `name`; an unknown one uses the default API at the base_url of its
    participant."""
    return _providers.get(name) or Provider(name)


register(Provider("openai", base_url="https://api.openai.com/v1"))
register(Provider("anthropic", adapter=Anthropic, base_url="https://api.anthropic.com/v1"))

register(Provider("litellm", adapter=LiteLLM, transport=LiteLLMTransport, base_url=NOWHERE))

# The model of agents.providers.local_server: SmolLM2 in slots of 2,048 tokens, of which 1,200
# are read within 5 s on two cores. Three candidates of one request share that reading; three
# requests would be read one after the other (measured: first text after 4 s, or 4, 8 and 11).
# An empty prompt for several candidates hangs that server, so a text begins after the
# model's own separator of documents.
EMBEDDED = Provider(
    "local",
    window=LOCAL_WINDOW,
    context=2048,
    max_tokens=256,
    shares=True,
    completes=True,
    opening="<|endoftext|>",
    grammar=True,
)


def whom(participant: "Participant") -> tuple[Provider, str, str]:
    """(provider, base_url, model) of a participant. Raises Broken if there is none."""
    provider, base_url, model = addressed(participant)
    if not base_url and provider is EMBEDDED:
        raise BrokenConnection(Failure("absent", "The embedded model is not running."))
    if not base_url:
        raise BrokenConnection(Failure("absent", f"{participant.name} has no base_url."))
    return provider, base_url, model


def addressed(participant: "Participant") -> tuple[Provider, str, str]:
    """(provider, base_url, model) of a participant; base_url may be empty."""
    name, _, model = participant.model_ref.partition(":")
    own, local = participant.base_url, settings.LOCAL_MODEL_URL
    if name == "local" and own in ("", local):
        return EMBEDDED, local, model
    provider = provider_of(name)
    return provider, own or provider.base_url, model or participant.model_ref


_transports: dict[tuple[object, tuple[str, ...]], httpx.AsyncBaseTransport] = {}


def transport_of(provider: Provider, allow: Sequence[str]) -> httpx.AsyncBaseTransport:
    """The transport of a provider for a list of allowed addresses; cached, with its connections."""
    way = provider.transport, tuple(allow)
    if way not in _transports:
        _transports[way] = provider.transport(allow)
    return _transports[way]


# Limits and settings of a participant's provider.


SMALL_RESERVE = 512  # tokens of a small model's context that are reserved for the answer
SEES = "images"  # the capability that a probe stores for a model that sees images
T = TypeVar("T")


def limit_of(provider: Provider, agent: "Participant", grove: "Grove") -> int:
    """The most tokens that a request to a participant of the grove may have."""
    if provider.context:
        return provider.context - SMALL_RESERVE
    return room_in(agent.context_limit, number_of(grove.settings, "truncation_reserve"))


def sees(participant: "Participant") -> bool:
    """Whether this model is sent images: only by a chat, and if a probe or an owner says that it
    sees them."""
    return SEES in participant.capabilities and participant.endpoint == "chat"


def tools_of(participant: "Participant") -> tuple[dict[str, Any], ...]:
    """The tools that the provider of this model runs itself. A base model, at a completion
    endpoint, has none."""
    return tuple(participant.provider_tools) if participant.endpoint == "chat" else ()


def text_for(text: str, reader: "Participant") -> str:
    """The text as the reader is sent it: images by name if it sees them, else described in
    words."""
    return text if sees(reader) else described(text)


def configuration_of(participant: "Participant", strategy: str | None) -> str:
    """The hash of the settings of a call; `strategy` for prose, None in a dialogue. See
    docs/model.md §2.1, §11.
    """
    tools = participant.provider_tools
    return hashes.sha256(
        {
            "model_ref": participant.model_ref,
            "base_url": participant.base_url,
            "endpoint": participant.endpoint,
            "persona": participant.persona,
            "temperature": participant.temperature,
            "max_tokens": participant.max_tokens,
            "stop": participant.stop,
            "prose_strategy": strategy,
            # Only where it is set: without it, a hash is the one from before there was the setting.
            **({"provider_tools": tools} if tools else {}),
        }
    )


def first_of(*values: T | None) -> T | None:
    """The first value that is not None; None if all are."""
    return next((value for value in values if value is not None), None)
