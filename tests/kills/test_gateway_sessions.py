"""A hundred random sessions over the gateway in the mode workspace, with hidden results, augments,
cut streams and a server that is killed: no byte that the provider has seen ever changes."""

import random
import time
from typing import Any

import httpx
import pytest

from tests.clients import open_client
from tests.gateway.random_sessions import RandomSession
from tests.kills.heddle import Heddle, until
from tests.providers.scripted import ScriptedProvider
from tests.thorough import tries

pytestmark = [pytest.mark.kill, pytest.mark.sqlite]
SESSIONS, REQUESTS = tries(100), 8
KILLED_EVERY = 12  # restarts; the server takes seconds to come back


class KilledServer:
    """The gateway of a server in its own process."""

    def __init__(self, heddle: Heddle, provider: ScriptedProvider, client: httpx.Client) -> None:
        self.provider = provider
        self.kills, self._asked = 0, 0
        self._heddle, self._client = heddle, client
        output = heddle.manage("gatewaykey", "owner", "random", "--model", "Scripted",
                             "--mode", "workspace")  # fmt: skip
        secret = output.strip().splitlines()[-1]
        headers = {"authorization": f"Bearer {secret}"}
        self._program = open_client(base_url=f"{heddle.url}/gateway/v1", headers=headers)

    def send(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> int:
        return self._program.post(path, json=body, headers=headers).status_code

    def cut(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> None:
        with self._program.stream("POST", path, json=body, headers=headers) as answer:
            next(answer.iter_bytes())
            self.restart()

    def _newest(self) -> Any:
        return until(self._sessions, what="a session is recorded")[0]

    def _sessions(self) -> list[Any]:
        sessions: list[Any] = self._asked_for("GET", "/sessions").json()["results"]
        return sessions

    def _asked_for(self, method: str, path: str, **body: Any) -> httpx.Response:
        """The answer, after waiting where more was asked within a minute than one person may."""
        while (answer := self._client.request(method, path, **body)).status_code == 429:
            time.sleep(float(answer.headers["retry-after"]))
        return answer

    def line(self, text: str) -> None:
        newest = self._newest()
        self._asked_for("POST", f"/trees/{newest['tree']}/commands", json={"line": text})

    def turn(self, tool_use_id: str, *, visible: bool) -> None:
        newest = self._newest()
        body = {"tool_use_id": tool_use_id, "visible": visible, "anyway": True}
        self._asked_for("POST", f"/sessions/{newest['id']}/results", json=body)

    def restart(self) -> None:
        self._asked += 1
        if self._asked % KILLED_EVERY:
            return
        self._heddle.kill("uvicorn")
        until(self._heddle.is_well, what="the server is back")
        self.kills += 1


def test_no_byte_that_the_provider_has_seen_changes(
    heddle: Heddle, provider: ScriptedProvider, tree: str, client: httpx.Client
) -> None:
    first = random.SystemRandom().randrange(10**6)
    print(f"seeds {first} to {first + SESSIONS - 1}")  # a failure names its own
    world = KilledServer(heddle, provider, client)
    for seed in range(first, first + SESSIONS):
        try:
            RandomSession(world, seed).hold(REQUESTS)
        except AssertionError as error:
            raise AssertionError(f"session of seed {seed}: {error}") from error
    assert world.kills
