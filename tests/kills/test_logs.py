"""What a running Heddle writes into its logs as JSON: one line for each request, and no text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import get
from tests.kills.heddle import until
from tests.kills.house import House
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says

pytestmark = [pytest.mark.kill, pytest.mark.sqlite]
TEXT = "aubergine"  # in everything that is written or sent
KEY = "sk-courgette-0123456789"


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, provider: ScriptedProvider) -> Iterator[House]:
    own_house = House(tmp_path, allow=provider.entry, given={"HEDDLE_LOG": "json"})
    try:
        own_house.start()
        yield own_house
    finally:
        own_house.stop()


def _lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of the processes that write them; the broker has a log of its own kind."""
    records = []
    for file in (folder / "web.log", folder / "worker.log"):
        for line in file.read_text().splitlines():
            if line.startswith("{"):
                records.append(json.loads(line))
    return records


def test_each_request_has_a_line_and_no_line_has_a_text_or_a_key(
    house: House, provider: ScriptedProvider
) -> None:
    client = house.client()
    body = {"name": "Scripted", "model_ref": "openai:scripted", "base_url": provider.url}
    sent = client.post("/participants", json={**body, "endpoint": "chat", "api_key": KEY})
    assert sent.status_code == 201, sent.text
    tree = client.post("/trees", json={"title": TEXT, "mode": "dialogue"}).json()["id"]

    def say(line: str) -> Any:
        return client.post(f"/trees/{tree}/commands", json={"line": line})

    mine = "my-own-id-1"
    client.headers["X-Request-ID"] = mine
    answer = say(f'respond root "{TEXT}"')
    assert (answer.status_code, answer.headers["X-Request-ID"]) == (200, mine)
    client.headers["X-Request-ID"] = f"{TEXT} is no id"
    assert len(say(f"{TEXT} is no verb").headers["X-Request-ID"]) == 32
    provider.script(fails(400, f"{TEXT} {KEY}"), says(TEXT))
    uids = [
        say('continue from root using agent:"Scripted"').json()["generations"][0] for _ in range(2)
    ]
    rows = [f"/generations/{uid}" for uid in uids]
    until(
        lambda: all(client.get(row).json()["status"] not in ("queued", "running") for row in rows),
        what="both generations' end",
    )
    assert client.get(f"/trees/{tree}/events?since=0&q={TEXT}").status_code < 500
    assert client.get(f"/{TEXT}").status_code == 404
    assert get(f"{house.urls[0]}/signin/{TEXT}").status_code < 500
    assert get(f"{house.urls[0]}/api/me", headers={"Authorization": f"Bearer {TEXT}"}).is_error

    def lines_of_requests() -> list[dict[str, Any]]:
        return [line for line in _lines(house.options.logs) if line["logger"] == "heddle.request"]

    # A request's line is written once its answer has gone out: wait for that of the last request.
    until(
        lambda: any(line["route"] == "/api/me" for line in lines_of_requests()),
        what="the last request's line",
    )
    lines = lines_of_requests()
    (own,) = [line for line in lines if line["request"] == mine]
    assert own["who"] and own["status"] == 200 and own["ms"] > 0
    assert (own["method"], own["route"]) == ("POST", "/api/trees/<id:uid>/commands")
    statuses = {(line["route"], line["status"]) for line in lines}
    assert ("/api/trees/<id:uid>/events", 200) in statuses
    (unknown,) = [line for line in lines if line["route"] == "/api/me" and line["status"] == 401]
    assert unknown["who"] is None
    for file in house.options.logs.iterdir():
        told = file.read_text()
        assert TEXT not in told and KEY not in told and "courgette" not in told, file
