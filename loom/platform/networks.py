"""The network that an address belongs to, by which those who ask are counted."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """The address, or for IPv6 the /64 network, which one customer usually has; what is no address
    as it is."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)  # all of IPv4 lies in one such network
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, 64), strict=False))
    return str(parsed)
