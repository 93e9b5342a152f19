"""Views that wait for servers outside have a part of the threads of requests."""

from contextlib import ExitStack
from typing import Any

import pytest

from loom.errors import CommandError
from loom.platform.outside_waits import EACH, most_waits, waits_outside


@pytest.mark.parametrize("threads", [2, 4, 14, 64])
def test_one_account_leaves_threads_and_waits_to_others(settings: Any, threads: int) -> None:
    settings.REQUEST_THREADS = threads
    with ExitStack() as waiting:
        count = 0
        with pytest.raises(CommandError, match="you wait"):
            for count in range(threads):  # noqa: B007
                waiting.enter_context(waits_outside(1, "models"))
        assert 1 <= count <= EACH and count < threads
        if threads > 2:
            waiting.enter_context(waits_outside(2, "models"))


def test_many_accounts_together_leave_most_threads(settings: Any) -> None:
    settings.REQUEST_THREADS = 40
    with ExitStack() as waiting:
        for number in range(most_waits()):
            waiting.enter_context(waits_outside(number // EACH, "models"))
        with pytest.raises(CommandError, match="others wait"):
            waiting.enter_context(waits_outside(-1, "models"))
        with pytest.raises(CommandError, match="you wait"):
            waiting.enter_context(waits_outside(0, "models"))
    with waits_outside(-1, "models"):
        pass
