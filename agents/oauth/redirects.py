"""The addresses to which a browser may be sent back after a program was let in. Pure."""

import re
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

MOST_URI = 1000  # characters
# RFC 8252 §7.1 wants the scheme of a program to be a domain name of its maker, reversed. One
# without a dot may be of the browser or the system (`javascript`, `search-ms`, `ms-msdt`), which
# start programs with arguments, and nobody has a whole list of those. These are of programs that
# speak MCP: Cursor registers `cursor://anysphere.cursor-mcp/oauth/callback`, and a registration is
# refused with all its addresses if one of them is.
_WITHOUT_A_DOT = frozenset(
    "claude cursor cursor-dev goose kiro lmstudio raycast trae vscode vscode-insiders vscodium warp"
    " windsurf windsurf-next zed".split()
)
# What a host may consist of: other signs could end its place in the policy of the consent page.
_HOST = re.compile(r"[a-z0-9.-]+")
_IPV6 = re.compile(r"[0-9a-f:.]+")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _split(uri: str) -> SplitResult | None:
    if not 0 < len(uri) <= MOST_URI or not uri.isascii() or not uri.isprintable() or " " in uri:
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts


def why_not(uri: str) -> str:
    """Why nobody may be sent to this address; "" if they may: https, http on this computer, or the
    scheme of a program (RFC 8252), which has a dot or is known."""
    parts = _split(uri)
    if parts is None or not parts.scheme:
        return "It is no address."
    if "#" in uri:
        return "It must not have a fragment."
    if parts.username is not None or parts.password is not None:
        return "It must not have a name or a password."
    if parts.scheme == "https":
        if not parts.hostname:
            return "It has no host."
        return "" if _is_host(parts) else "Its host has other signs than letters, digits, . and -."
    if parts.scheme == "http":
        return "" if parts.hostname in _LOOPBACK else "It must be https, or on this computer."
    if "." in parts.scheme or parts.scheme in _WITHOUT_A_DOT:
        return ""
    return f"The scheme {parts.scheme} is not allowed: a program's own is like com.example.program."


def _is_host(parts: SplitResult) -> bool:
    """Whether the host is a name, also in punycode, or the number of a computer."""
    host = parts.hostname or ""
    if not parts.netloc.startswith("["):
        return _HOST.fullmatch(host) is not None
    try:
        IPv6Address(host)
    except ValueError:
        return False
    return _IPV6.fullmatch(host) is not None  # without a zone, which may have any signs


def is_loopback(uri: str) -> bool:
    """Whether it is an address of the person's own computer."""
    parts = _split(uri)
    return parts is not None and parts.scheme == "http" and parts.hostname in _LOOPBACK


def is_same(registered: str, asked: str) -> bool:
    """Whether an address is the registered one. On this computer the port may be another one, as a
    program takes the port that is free (RFC 8252 §7.3)."""
    if registered == asked:
        return True
    if not (is_loopback(registered) and is_loopback(asked)):
        return False
    left, right = urlsplit(registered), urlsplit(asked)
    return (left.hostname, left.path, left.query) == (right.hostname, right.path, right.query)


def source_of(uri: str) -> str:
    """The address as a source in a content security policy: its origin, or the scheme of a
    program."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def host_of(uri: str) -> str:
    """The host that a browser is sent to, for a person; "" for this computer, and for the scheme of
    a program: what stands in the place of a host there is free text."""
    parts = urlsplit(uri)
    return (parts.hostname or "") if parts.scheme == "https" else ""


def scheme_of(uri: str) -> str:
    """The scheme of a program, as `com.example.program:`; "" for https and http."""
    scheme = urlsplit(uri).scheme
    return "" if scheme in ("http", "https") else f"{scheme}:"
