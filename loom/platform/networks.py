"""The network that an address belongs to, by which those who ask are counted."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

_TRANSLATED = IPv6Network("64:ff9b::/96")  # IPv4 through NAT64


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """The address, or for IPv6 the /64 network, which one customer usually has; what is no address
    as it is."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and (parsed.ipv4_mapped or parsed in _TRANSLATED):
        return str(IPv4Address(int(parsed) & 0xFFFFFFFF))  # all of IPv4 lies in one such network
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, 64), strict=False))
    return str(parsed)
