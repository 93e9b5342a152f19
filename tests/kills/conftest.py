"""A running Heddle and a scripted provider for the tests that kill processes.

One Heddle serves all tests that ask for it: they are one group, which one process runs.
"""

from collections.abc import Iterator

import httpx
import pytest

from config.supervisor.processes import free_port
from tests.databases import copy_started_data
from tests.kills.heddle import Heddle, until
from tests.providers.scripted import ScriptedProvider


@pytest.fixture(scope="package")
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


@pytest.fixture(scope="package")
def heddle(
    tmp_path_factory: pytest.TempPathFactory, provider: ScriptedProvider
) -> Iterator[Heddle]:
    data = tmp_path_factory.mktemp("data")
    copy_started_data(data)
    running = Heddle(data, allow=provider.entry, port=free_port("127.0.0.1", 0))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="package")
def owner_key(heddle: Heddle) -> str:
    """An API key of the owner."""
    return heddle.make_key()


@pytest.fixture
def client(heddle: Heddle, owner_key: str) -> Iterator[httpx.Client]:
    """A client of the owner; whatever an earlier test killed is well again."""
    until(heddle.is_well, what="every process is well")
    with heddle.client(owner_key) as http:
        yield http


@pytest.fixture
def tree(client: httpx.Client, provider: ScriptedProvider) -> str:
    """A new tree, in a grove whose participant Scripted is the scripted provider."""
    provider.forget()  # what an earlier test scripted and did not use
    names = {result["name"] for result in client.get("/participants").json()["results"]}
    if "Scripted" not in names:
        body = {
            "name": "Scripted",
            "model_ref": "openai:scripted",
            "base_url": provider.url,
            "endpoint": "chat",
        }
        response = client.post("/participants", json=body)
        assert response.status_code == 201, response.text
    return str(client.post("/trees", json={"title": "Kills", "mode": "dialogue"}).json()["id"])
