"""Which addresses may be called for a model, and what a model costs. Pure.

`agents.providers.transport` resolves names and passes each address to `why_not_address`: the
checks here need no network (docs/model.md §14.3.14).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from math import ceil
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

# Addresses that the server may call, and entries of the list that allow more.


Address = IPv4Address | IPv6Address
# Names that never have a public address, whatever a resolver answers.
_INSIDE = ("localhost", "local", "internal", "home.arpa", "localdomain")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)\Z")
# Metadata addresses of clouds, with the machine's keys: only an entry with the exact address allows
# them.
_METADATA = tuple(
    ip_network(one)
    for one in (
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::254/128",
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle
    )
)
# Addresses with an IPv4 address inside, and other ranges that `is_global` of some Python
# versions lets through: NAT64, 6to4, Teredo, site-local, documentation, benchmarks, relays,
# shared address space, discard, and everything that was never assigned as global unicast.
_NOT_PUBLIC = tuple(
    ip_network(one)
    for one in (
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "::/96",
        "::ffff:0:0:0/96",
        "100::/64",
        "2001:db8::/32",
        "fec0::/10",
        "fc00::/7",
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "192.0.2.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# Where the last 32 bits are an IPv4 address.
_WITH_IPV4 = tuple(
    IPv6Network(one) for one in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")
)
# The only block of IPv6 from which public addresses are assigned.
_UNICAST = IPv6Network("2000::/3")
_KINDS = (
    ("is_unspecified", "an unspecified address"),
    ("is_loopback", "a loopback address"),
    ("is_link_local", "a link-local address"),
    ("is_multicast", "a multicast address"),
    ("is_reserved", "a reserved address"),
    ("is_private", "a private address"),
)


@dataclass(frozen=True)
class Target:
    """The target of a URL: `host` in lower case without brackets and final dot."""

    scheme: str
    host: str
    port: int
    literal: Address | None = None

    @property
    def entry(self) -> str:
        """How HEDDLE_PROVIDER_ALLOW names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class BadUrl(ValueError):
    """A URL that no provider may have, whatever is allowed; the message is one sentence."""


def read_url(url: str) -> Target:
    """The target of an absolute http(s) URL. Raises BadUrl with a sentence."""
    if any(ord(c) <= 32 or ord(c) == 127 or c == "\\" for c in url):
        raise BadUrl("The address holds a blank, a control character or a backslash.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadUrl("The address cannot be read.") from None
    if parts.scheme not in ("http", "https"):
        raise BadUrl("The address must begin with https://.")
    if parts.username is not None or "@" in parts.netloc:
        raise BadUrl("The address holds a user name or password; a key has its own field.")
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        raise BadUrl("The address holds a ? or #; it is only a base to which paths are added.")
    if port == 0:
        raise BadUrl("There is no port 0.")
    host, literal = _host(parts.hostname or "", is_bracketed="[" in parts.netloc)
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), literal)


def _host(host: str, *, is_bracketed: bool) -> tuple[str, Address | None]:
    if is_bracketed:
        try:
            literal = IPv6Address(host)
        except ValueError:
            raise BadUrl(f"[{host}] is no address.") from None
        if literal.scope_id is not None:
            raise BadUrl("The address names a network interface.")
        return literal.compressed, literal
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if not host.isascii() or not all(_LABEL.match(label) for label in labels) or len(host) > 253:
        raise BadUrl("The host's name is not one of letters, digits, hyphens and dots.")
    if not _NUMBER.match(labels[-1]):
        return host, None
    # A last label that is a number makes the whole an IPv4 address to every resolver, also
    # where it is octal, hexadecimal or short: only the plain spelling is read.
    try:
        return host, IPv4Address(host)
    except ValueError:
        raise BadUrl(f"{host} is no plain IPv4 address; write four decimal numbers.") from None


def why_not_address(address: Address, target: Target, allow: Sequence[str]) -> str:
    """Why `target` may not be called at `address`; "" if it may."""
    inner = unwrapped(address)
    if _lists_address(inner, target.port, allow):
        return ""
    named = _lists_name(target, allow)
    if any(one in net for one in (inner, *_inside(inner)) for net in _METADATA):
        return _sentence(target, f"{inner} is a link-local or metadata address", str(inner))
    kind = not_public(inner)
    if kind and not named:
        own = target.literal is not None
        where = str(inner) if own else f"{target.host} is {inner}, which"
        return _sentence(target, f"{where} is {kind}")
    if target.scheme == "http" and not named:
        return _sentence(target, "it is not https")
    return ""


def why_refused(url: str, allow: Sequence[str]) -> str:
    """Why `url` may not be a provider's base_url, with the line to add; "" if it may.

    A name is not resolved here: its addresses are checked again at every call.
    """
    try:
        target = read_url(url)
    except BadUrl as bad:
        return str(bad)
    if target.literal is not None:
        return why_not_address(target.literal, target, allow)
    if _lists_name(target, allow):
        return ""
    if _is_inside(target.host) and not _lists_loopback(target, allow):
        return _sentence(target, f"{target.host} is a private name")
    if target.scheme == "http" and not any("/" in entry for entry in allow):
        return "" if _lists_loopback(target, allow) else _sentence(target, "it is not https")
    return ""


def private_entry(url: str) -> str:
    """The entry with which an owner may allow `url` in the page, such as `127.0.0.1:11434`: this
    host and port alone. "" for addresses that the page never allows: the metadata addresses of
    clouds, and invalid ones."""
    try:
        target = read_url(url)
    except BadUrl:
        return ""
    if target.literal is not None:
        inner = unwrapped(target.literal)
        if any(one in net for one in (inner, *_inside(inner)) for net in _METADATA):
            return ""
    return target.entry


def unwrapped(address: Address) -> Address:
    """The IPv4 address inside an IPv4-mapped IPv6 address, else the address."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _inside(address: Address) -> list[Address]:
    """The IPv4 addresses that an IPv6 address may lead to: by NAT64, 6to4, Teredo or as an
    IPv4-compatible address."""
    if not isinstance(address, IPv6Address):
        return []
    found: list[Address] = [one for one in (address.sixtofour,) if one is not None]
    found += address.teredo or ()
    if any(address in net for net in _WITH_IPV4):
        found.append(IPv4Address(address.packed[-4:]))
    return found


def not_public(address: Address) -> str:
    """The kind of a non-public address, in words; "" for a public one."""
    for flag, words in _KINDS:
        if getattr(address, flag):
            return words
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return "not a public address"
    special = any(address in net for net in _NOT_PUBLIC if net.version == address.version)
    return "not a public address" if special or not address.is_global else ""


def _sentence(target: Target, why: str, entry: str = "") -> str:
    return (
        f"{target.scheme}://{target.entry} may not be called: {why}. "
        f"To allow it, add HEDDLE_PROVIDER_ALLOW={entry or target.entry}"
    )


def _is_inside(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in _INSIDE)


def _lists_loopback(target: Target, allow: Sequence[str]) -> bool:
    """Whether localhost is requested and its addresses are in the list."""
    loopback = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
    return target.host.split(".")[-1] == "localhost" and any(
        _lists_address(one, target.port, allow) for one in loopback
    )


def _split(entry: str) -> tuple[str, int | None]:
    """An entry's host without brackets, and its port if it has one; "" for an invalid entry."""
    entry = entry.strip().lower()
    if "/" in entry:
        return entry, None
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        port = port.removeprefix(":")
    elif entry.count(":") == 1:
        host, _, port = entry.partition(":")
    else:
        host, port = entry, ""
    if port and not port.isdecimal():
        return "", None
    return host.removesuffix("."), int(port) if port else None


def _lists_name(target: Target, allow: Sequence[str]) -> bool:
    if target.literal is not None:
        return False
    return any(
        host == target.host and port in (None, target.port)
        for host, port in (_split(entry) for entry in allow)
    )


def _lists_address(address: Address, port: int, allow: Sequence[str]) -> bool:
    for entry in allow:
        host, only = _split(entry)
        try:
            if "/" in host:
                if address in ip_network(host, strict=False):
                    return True
            elif only in (None, port) and unwrapped(ip_address(host)) == address:
                return True
        except ValueError:
            continue
    return False


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
class Counts:
    """Tokens of one answer: read (all of them), those of them that were read from the provider's
    cache or stored in it, and written."""

    read: int = 0
    wrote: int = 0
    cached: int = 0
    kept: int = 0


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

    def of(self, counts: Counts) -> int:
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
def source() -> str:
    """Where the listed prices come from."""
    return f"the price list in litellm {metadata.version('litellm')}"


@cache
def _table() -> dict[str, Prices]:
    """The listed prices by `provider:model`. Reading the file takes 40 ms once."""
    file = metadata.distribution("litellm").locate_file(_LIST)
    found = {}
    for name, known in sorted(json.loads(Path(str(file)).read_text("utf-8")).items()):
        provider = known.get("litellm_provider")
        if provider not in HOSTS or known.get("mode") not in ("chat", "completion", "responses"):
            continue
        costs = [known.get(one) for one in _COSTS]
        read, wrote, cached, kept = (one if one is None else round(one * 1e6, 6) for one in costs)
        if read is not None and wrote is not None:
            model = name.removeprefix(f"{provider}/")
            found[f"{provider}:{model}"] = Prices(read, wrote, cached, kept)
    return found


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


class Priced(Protocol):
    """The fields of a participant that prices depend on."""

    prices: Any
    model_ref: Any
    base_url: Any


def prices_of(participant: Priced) -> Prices | None:
    """The prices that an owner set, else those of the price table; None if no price is known."""
    own = prices_from(participant.prices)
    return own or listed(participant.model_ref, participant.base_url)


def caches_from(participant: Priced) -> int | None:
    """The number of tokens from which the provider caches a prompt's beginning at a lower price;
    None if that is not known, or is not cheaper."""
    least = (participant.prices or {}).get("caches_from") or cached_from(participant.model_ref)
    prices = prices_of(participant)
    return int(least) if least and prices is not None and prices.caching_pays else None


def counts_of(usage: Mapping[str, Any]) -> Counts:
    """The tokens in a provider's usage, which is reported in one of two ways: the prompt including
    the cached tokens, or without them."""
    details = usage.get("prompt_tokens_details")
    cached = _first(usage, "cached_tokens", "cache_read_input_tokens")
    if not cached and isinstance(details, Mapping):
        cached = _first(details, "cached_tokens")
    kept = _first(usage, "cache_creation_input_tokens")
    read = _first(usage, "prompt_tokens")
    if "prompt_tokens" not in usage and "input_tokens" in usage:
        read = _first(usage, "input_tokens") + cached + kept
    return Counts(read, _first(usage, "completion_tokens", "output_tokens"), cached, kept)


def _first(usage: Mapping[str, Any], *names: str) -> int:
    values = (usage.get(name) for name in names)
    return next((one for one in values if isinstance(one, int) and one > 0), 0)


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
