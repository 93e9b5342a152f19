"""Clients of a Heddle that a test has started."""

from typing import Any

import httpx

from tests.patience import PATIENCE_S


def open_client(**options: Any) -> httpx.Client:
    """A client for plain http. To read the certificates of the machine, as httpx does for each
    client otherwise, takes 20 to 40 ms of the processor."""
    return httpx.Client(verify=False, timeout=PATIENCE_S, **options)


def get(url: str, **options: Any) -> httpx.Response:
    """The answer to one GET."""
    with open_client() as client:
        return client.get(url, **options)
