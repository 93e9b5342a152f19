"""Views that wait for servers outside have a part of the threads of requests."""

from contextlib import ExitStack
from typing import Any

import pytest

from loom.errors import CommandError
from loom.platform.outside_waits import EACH, most_waits, waits_outside


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
