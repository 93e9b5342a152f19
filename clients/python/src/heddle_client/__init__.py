"""The client of Heddle's API: `Heddle`, and `AsyncHeddle` for asyncio."""

from heddle_client import types
from heddle_client.async_client import AsyncHeddle, AsyncTree
from heddle_client.client import Heddle, Tree
from heddle_client.errors import (
    Conflict,
    ConnectionFailed,
    HeddleError,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    Refused,
)
from heddle_client.requests import Progress

__all__ = [
    "AsyncHeddle",
    "AsyncTree",
    "Conflict",
    "ConnectionFailed",
    "Heddle",
    "HeddleError",
    "LimitExceeded",
    "NotFound",
    "PermissionDenied",
    "Progress",
    "Refused",
    "Tree",
    "types",
]
