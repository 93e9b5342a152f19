"""A scripted provider for each test, and a transport that may reach it."""

from collections.abc import Iterator

import pytest

from tests.providers.scripted import ScriptedProvider


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    """An OpenAI-shaped provider over real HTTP that answers as scripted."""
    with ScriptedProvider() as scripted:
        yield scripted
