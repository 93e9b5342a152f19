"""Lines, checks and agents for the tests of checks and claims."""

from collections.abc import Callable
from typing import Any

import pytest

from loom.access import Actor
from loom.claims.commands.checks import declare_check
from loom.claims.models import Check
from loom.errors import CommandError
from tests.commands.conftest import Say, say, write  # noqa: F401 (fixtures)

Declare = Callable[..., Check]


@pytest.fixture
def declare(actor: Actor) -> Declare:
    """`declare("max_words", n=5)`: a check of the grove, named as its kind unless `name=`."""

    def declare_one(kind: str, *, name: str = "", scope: str = "grove", **parameters: Any) -> Check:
        taken = [key for key in ("on_save", "agent") if key in parameters]
        options: dict[str, Any] = {key: parameters.pop(key) for key in taken}
        fields = {"name": name or kind, "kind": kind, "scope": scope, **options}
        return declare_check(actor, **fields, parameters=parameters)

    return declare_one


def refused(run: Say, line: str, **sent: Any) -> CommandError:
    """The refusal of a line."""
    with pytest.raises(CommandError) as caught:
        run(line, **sent)
    return caught.value
