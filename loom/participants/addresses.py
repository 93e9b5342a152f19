"""Which addresses may be called for a model or a search service. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
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
    ip_network(network)
    for network in (
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
    ip_network(network)
    for network in (
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
    IPv6Network(network)
    for network in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")
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
class UrlTarget:
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


def read_url(url: str) -> UrlTarget:
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
    return UrlTarget(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), literal)


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


def why_not_address(address: Address, target: UrlTarget, allow: Sequence[str]) -> str:
    """Why `target` may not be called at `address`; "" if it may."""
    inner = unwrapped(address)
    if _lists_address(inner, target.port, allow):
        return ""
    named = _lists_name(target, allow)
    if any(inside in net for inside in (inner, *_inside(inner)) for net in _METADATA):
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


def is_readable(url: str) -> bool:
    """Whether `url` is an address at all, allowed or not."""
    try:
        read_url(url)
    except BadUrl:
        return False
    return True


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
        if any(inside in net for inside in (inner, *_inside(inner)) for net in _METADATA):
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
    addresses: list[Address] = [inner for inner in (address.sixtofour,) if inner is not None]
    addresses += address.teredo or ()
    if any(address in net for net in _WITH_IPV4):
        addresses.append(IPv4Address(address.packed[-4:]))
    return addresses


def not_public(address: Address) -> str:
    """The kind of a non-public address, in words; "" for a public one."""
    for flag, words in _KINDS:
        if getattr(address, flag):
            return words
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return "not a public address"
    special = any(address in net for net in _NOT_PUBLIC if net.version == address.version)
    return "not a public address" if special or not address.is_global else ""


def _sentence(target: UrlTarget, why: str, entry: str = "") -> str:
    return (
        f"{target.scheme}://{target.entry} may not be called: {why}. "
        f"To allow it, add HEDDLE_PROVIDER_ALLOW={entry or target.entry}"
    )


def _is_inside(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in _INSIDE)


def _lists_loopback(target: UrlTarget, allow: Sequence[str]) -> bool:
    """Whether localhost is requested and its addresses are in the list."""
    loopback = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
    return target.host.split(".")[-1] == "localhost" and any(
        _lists_address(address, target.port, allow) for address in loopback
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


def _lists_name(target: UrlTarget, allow: Sequence[str]) -> bool:
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
