"""Running two deeds at once, in real threads and transactions."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from loom.rules.errors import CommandError

AtOnce = Callable[..., list[Any]]


@pytest.fixture
def at_once(transactional_db: None) -> AtOnce:
    """`at_once(deed, deed…)`: what each returned, or the code of its refusal."""

    def run(*deeds: Callable[[], Any]) -> list[Any]:
        barrier = Barrier(len(deeds))

        def one(deed: Callable[[], Any]) -> Any:
            barrier.wait()
            try:
                return deed()
            except CommandError as refused:
                return refused.code
            finally:
                connection.close()

        with ThreadPoolExecutor(len(deeds)) as pool:
            return list(pool.map(one, deeds))

    return run
