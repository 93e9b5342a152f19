"""The hint of a refused line: a line that does what was meant, or what its option takes."""

import pytest

from loom.errors import CommandError
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("find tag:x by:Ada", "tag: takes a quoted text.", 'write → find tag:"x" by:"Ada"'),
        ("find by:Ada", "by cannot be Ada.", 'use by:meaning or words, or write → find by:"Ada"'),
        (
            'find "w" since:2026-01-31',
            "since: takes a quoted text.",
            'write → find "w" since:"2026-01-31"',
        ),
        (
            "navigate supports a7x2",
            "a7x2 is not an argument of expand.",
            "write → expand supports of a7x2",
        ),
    ],
)
def test_the_hint_is_what_was_meant(say: Say, line: str, message: str, hint: str) -> None:
    with pytest.raises(CommandError) as refused:
        say(line)
    assert (refused.value.code, refused.value.message) == ("INVALID_SYNTAX", message)
    assert refused.value.hint == hint
