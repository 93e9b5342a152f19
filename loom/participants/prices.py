"""What a model costs: prices, counts of tokens, sums in billionths of a dollar. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from math import ceil
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

# Prices by model, and what a call costs. Money is counted in whole billionths of a dollar, rounded
# up, so that sums are exact.

NANO = 1_000_000_000  # a dollar
NAMES = ("input", "output", "cached", "written")
MOST = 100_000  # USD per million tokens
# The file behind `litellm.model_cost`. Importing litellm itself costs 3 s and 160 MB.
_LIST = "litellm/model_prices_and_context_window_backup.json"
_COSTS = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)
# The address of each provider: its listed prices only apply there.
HOSTS = {
    "anthropic": "api.anthropic.com",
    "cerebras": "api.cerebras.ai",
    "deepseek": "api.deepseek.com",
    "fireworks_ai": "api.fireworks.ai",
    "gemini": "generativelanguage.googleapis.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
    "moonshot": "api.moonshot.ai",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "together_ai": "api.together.xyz",
    "xai": "api.x.ai",
}
# The number of tokens from which a provider caches the beginning of a prompt (read 2026-11-21).
CACHES_FROM = {
    "anthropic": 1024,
    "deepseek": 1024,
    "gemini": 2048,
    "groq": 1024,
    "moonshot": 1024,
    "openai": 1024,
    "xai": 1024,
}


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of one answer: read (all of them), those of them that were read from the provider's
    cache or stored in it, and written."""

    read: int = 0
    wrote: int = 0
    cached: int = 0
    kept: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted, as some providers say by zeros."""
        return not self.read and not self.wrote


@dataclass(frozen=True)
class Prices:
    """USD per million tokens: read, written by the model, read from the provider's cache, stored
    in it (None: as `input`)."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def reading(self, tokens: int) -> int:
        """The cost of sending that many tokens, at the higher of the two input prices."""
        return _nano(tokens, max(self.input, self.written or 0))

    def writing(self, tokens: int) -> int:
        """The cost of that many tokens of answer."""
        return _nano(tokens, self.output)

    def of(self, counts: TokenCounts) -> int:
        """The cost of an answer."""
        cached = min(counts.cached, counts.read)
        kept = min(counts.kept, counts.read - cached)
        own_cached = self.input if self.cached is None else self.cached
        own_written = self.input if self.written is None else self.written
        return (
            _nano(counts.read - cached - kept, self.input)
            + _nano(cached, own_cached)
            + _nano(kept, own_written)
            + _nano(counts.wrote, self.output)
        )

    @property
    def caching_pays(self) -> bool:
        """Whether reading from the cache is cheaper than sending again."""
        return self.cached is not None and self.cached < self.input

    def body(self) -> dict[str, float]:
        """The prices that are known, by name."""
        return {name: price for name, price in asdict(self).items() if price is not None}


def _nano(tokens: int, price: float) -> int:
    # A USD per million tokens is 1,000 billionths a token.
    return ceil(round(tokens * price * 1000, 3))


def prices_from(body: Mapping[str, Any] | None) -> Prices | None:
    """The prices in a `body`; None if there are none."""
    if not body or "input" not in body or "output" not in body:
        return None
    return Prices(**{name: float(body[name]) for name in NAMES if body.get(name) is not None})


@cache
def list_version() -> str:
    """The version of litellm whose list of prices this is."""
    return metadata.version("litellm")


@cache
def _table() -> dict[str, Prices]:
    """The listed prices by `provider:model`. Reading the file takes 40 ms once."""
    file = metadata.distribution("litellm").locate_file(_LIST)
    table = {}
    for name, known in sorted(json.loads(Path(str(file)).read_text("utf-8")).items()):
        provider = known.get("litellm_provider")
        if provider not in HOSTS or known.get("mode") not in ("chat", "completion", "responses"):
            continue
        costs = [known.get(cost) for cost in _COSTS]
        read, wrote, cached, kept = (
            cost if cost is None else round(cost * 1e6, 6) for cost in costs
        )
        if read is not None and wrote is not None:
            model = name.removeprefix(f"{provider}/")
            table[f"{provider}:{model}"] = Prices(read, wrote, cached, kept)
    return table


def listed(model_ref: str, base_url: str) -> Prices | None:
    """The listed prices of a model; None if it is not listed, or is called at another address,
    where other prices apply."""
    provider, model = _named(model_ref)
    if provider not in HOSTS or (base_url and urlsplit(base_url).hostname != HOSTS[provider]):
        return None
    return _table().get(f"{provider}:{model}")


def cached_from(model_ref: str) -> int | None:
    """The number of tokens from which the model's provider caches a prompt's beginning; None if
    unknown."""
    return CACHES_FROM.get(_named(model_ref)[0])


def _named(model_ref: str) -> tuple[str, str]:
    """(provider, model); after `litellm:` comes the provider's name with a slash."""
    provider, _, model = model_ref.partition(":")
    if provider == "litellm":
        provider, _, model = model.partition("/")
    return provider, model


def broken_prices(body: Any) -> str:
    """Why an owner's prices cannot be stored; "" if they can. {} removes them."""
    if not isinstance(body, dict) or not set(body) <= {*NAMES, "caches_from"}:
        return f"prices has {', '.join(NAMES)} and caches_from."
    if body and not {"input", "output"} <= set(body):
        return "prices has both input and output, or neither."
    for name, value in body.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= MOST:
            return f"prices: {name} is from 0 to {MOST:,}."
    return ""


class Priced(Protocol):
    """The fields of a participant that prices depend on."""

    prices: Any
    model_ref: Any
    base_url: Any


def prices_of(participant: Priced) -> Prices | None:
    """The prices that an owner set, else those of the price table; None if no price is known."""
    own = prices_from(participant.prices)
    return own or listed(participant.model_ref, participant.base_url)


def prices_named(participant: Priced, name: str) -> Prices | None:
    """The prices of the model of this name at the participant's provider: the listed ones if it is
    another model than the participant's own, and is listed; otherwise those of the participant."""
    provider, own = _named(participant.model_ref)
    other = listed(f"{provider}:{name}", participant.base_url) if name and name != own else None
    return other or prices_of(participant)


def caches_from(participant: Priced) -> int | None:
    """The number of tokens from which the provider caches a prompt's beginning at a lower price;
    None if that is not known, or is not cheaper."""
    least = (participant.prices or {}).get("caches_from") or cached_from(participant.model_ref)
    prices = prices_of(participant)
    return int(least) if least and prices is not None and prices.caching_pays else None


def counts_of(usage: Mapping[str, Any]) -> TokenCounts:
    """The tokens in a provider's usage, which is reported in one of three ways: OpenAI's chat and
    responses count the cached tokens with the prompt, each under names of its own, and Anthropic's
    messages beside it. What a model thinks is paid as what it writes: some providers count it in
    the total alone."""
    kept = _first(usage, "cache_creation_input_tokens")
    wrote = _first(usage, "completion_tokens", "output_tokens")
    cached = _first(usage, "cached_tokens", "cache_read_input_tokens")
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = usage.get(name)
        if not cached and isinstance(details, Mapping):
            cached = _first(details, "cached_tokens")
    if "prompt_tokens" in usage or "input_tokens_details" in usage:
        read = _first(usage, "prompt_tokens", "input_tokens")
        wrote = max(wrote, _first(usage, "total_tokens") - read)
    else:
        read = _first(usage, "input_tokens") + cached + kept
    return TokenCounts(read, wrote, cached, kept)


def _first(usage: Mapping[str, Any], *names: str) -> int:
    values = (usage.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), 0)


def dollars(nano: int) -> str:
    """An amount as it is read: cents and below with two figures that count."""
    usd = nano / NANO
    if usd == 0 or abs(usd) >= 0.995:
        return f"${usd:,.2f}"
    if abs(usd) < 0.000001:
        return "under $0.000001"
    for digits in range(2, 7):
        if round(abs(usd), digits) >= 10 ** -(digits - 1):
            return f"${usd:.{digits}f}"
    return f"${usd:.6f}"
