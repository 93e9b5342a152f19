"""A request of JSON to an endpoint of a provider, answered at once. What sends it, over checked
addresses only, is registered by the package that speaks with providers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class EndpointFailed(Exception):
    """An endpoint gave no answer; the message is a sentence without the key."""


@dataclass(frozen=True)
class EndpointRequest:
    """A POST of `body` to `url`. `allow`: the private addresses that may be called; `total_s`:
    seconds for all of it; `most_bytes`: of the answer."""

    url: str
    key: str
    body: dict[str, Any]
    allow: tuple[str, ...]
    total_s: float
    most_bytes: int = 16 * 1024 * 1024


Sends = Callable[[EndpointRequest], Any]
_senders: list[Sends] = []


def sends_requests(function: Sends) -> Sends:
    """Registers what sends requests and waits for the value of the answer."""
    _senders[:] = [function]
    return function


def ask_endpoint(request: EndpointRequest) -> Any:
    """The JSON of the answer, None if it is none. Raises EndpointFailed."""
    if not _senders:
        raise EndpointFailed("Endpoints cannot be called here.")
    return _senders[0](request)
