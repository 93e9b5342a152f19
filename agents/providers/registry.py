"""The providers by name: which shape each speaks, and where it is when no base_url is given.

Another shape registers itself here; no code compares the name of a vendor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from agents.providers.anthropic import Anthropic
from agents.providers.attempt import Adapter
from agents.providers.litellm_adapter import NOWHERE, LiteLLM, LiteLLMTransport
from agents.providers.openai import OpenAI
from agents.providers.transport import CheckedTransport
from loom.rules.provider_kinds import LOCAL_WINDOW


@dataclass(frozen=True)
class Provider:
    """A vendor or a kind of server. `window`: paths are cut to so many tokens in front;
    `shares`: one request may ask for many candidates; `completes`: it has a completion
    endpoint beside the chat, so that each tree is continued in its own way; `opening`: the
    prompt of a text that has not begun; `grammar`: it holds answers to one in GBNF."""

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
    """Makes a provider known by its name."""
    _providers[provider.name] = provider


def provider_of(name: str) -> Provider:
    """The provider called `name`; an unknown one speaks the default shape at the base_url
    its participant gives."""
    return _providers.get(name) or Provider(name)


register(Provider("openai", base_url="https://api.openai.com/v1"))
register(Provider("anthropic", adapter=Anthropic, base_url="https://api.anthropic.com/v1"))

register(Provider("litellm", adapter=LiteLLM, transport=LiteLLMTransport, base_url=NOWHERE))

# The model of agents.providers.local_server: SmolLM2 in slots of 2,048 tokens, of which 1,200
# are read within 5 s on two cores. Three candidates of one request share that reading; three
# requests would be read one after the other (measured: first text after 4 s, or 4, 8 and 11).
# An empty prompt for several candidates hangs that server, so a text begins after the
# model's own mark between documents.
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
