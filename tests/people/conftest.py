"""Running two functions at the same time, in real threads and transactions."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from loom.errors import CommandError

AtOnce = Callable[..., list[Any]]


@pytest.fixture
def at_once(transactional_db: None) -> AtOnce:
    """`at_once(function, function…)`: what each returned, or the code of its refusal."""

    def run(*functions: Callable[[], Any]) -> list[Any]:
        barrier = Barrier(len(functions))

        def start(function: Callable[[], Any]) -> Any:
            barrier.wait()
            try:
                return function()
            except CommandError as refused:
                return refused.code
            finally:
                connection.close()

        with ThreadPoolExecutor(len(functions)) as pool:
            return list(pool.map(start, functions))

    return run
