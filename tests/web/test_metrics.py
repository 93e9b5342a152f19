"""`GET /metrics`: who may read it, and what it counts."""

from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import OperationalError

from config import asgi, env, metrics
from loom.access import Actor
from loom.live.capacity import capacity
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns.models import Generation
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "a key for prometheus"
Wire: Any = ApplicationCommunicator


async def _asked(path: str, *, key: str = "", method: str = "GET") -> tuple[int, str]:
    headers = [(b"host", b"127.0.0.1")]
    if key:
        headers = [(b"host", b"web:8000"), (b"authorization", f"Bearer {key}".encode())]
    scope = {"type": "http", "method": method, "path": path, "query_string": b""}
    wire = Wire(asgi.application, {**scope, "headers": headers})
    await wire.send_input({"type": "http.request", "body": b""})
    status = (await wire.receive_output(PATIENCE_S))["status"]
    body = (await wire.receive_output(PATIENCE_S)).get("body", b"")
    await wire.wait(PATIENCE_S)
    return status, body.decode("utf-8", "replace")


async def _figures() -> dict[str, float]:
    status, body = await _asked("/metrics", key=KEY)
    assert status == 200
    lines = (line.rsplit(" ", 1) for line in body.splitlines() if line and line[0] != "#")
    return {name: float(value) for name, value in lines}


async def test_without_a_key_there_is_no_such_address(settings: Any) -> None:
    settings.METRICS_KEY = ""
    assert (await _asked("/metrics"))[0] == 404


@pytest.mark.parametrize("key", ["", "another key, as long", "ключ"])
async def test_it_needs_the_key(settings: Any, key: str) -> None:
    settings.METRICS_KEY = KEY
    assert await _asked("/metrics", key=key) == (401, "")
    assert await _asked("/metrics", key=KEY, method="POST") == (405, "")


async def test_it_counts_requests_sockets_and_threads(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.METRICS_KEY, settings.SOCKETS = KEY, 7
    monkeypatch.setattr(capacity, "refused", 3)
    before = await _figures()
    assert (await _asked("/signin"))[0] == 200
    assert (await _asked("/none"))[0] == 404
    after = await _figures()
    for status in (200, 404):
        name = f'heddle_http_requests_total{{method="GET",status="{status}"}}'
        assert after[name] == before.get(name, 0) + 1
    count = 'heddle_http_request_seconds_count{method="GET"}'
    assert after[count] == before.get(count, 0) + 2
    assert (after["heddle_sockets"], after["heddle_sockets_most"]) == (0, 7)
    assert after["heddle_sockets_refused_total"] == 3
    # A thread is idle only once it has closed what the request left open.
    assert sum(after[f'heddle_request_threads{{state="{state}"}}'] for state in ("idle", "busy"))
    assert after["heddle_requests_waiting"] == 0


@pytest.fixture
def running(tree: Tree, muse: Participant, actor: Actor) -> Generation:
    """A generation that runs."""
    return Generation.objects.create(
        tree=tree,
        participant=muse,
        asked_by=actor.participant,
        point=tree.nodes.get(parent_slot=None),
        batch="batch",
        index=0,
        status="running",
    )


async def test_it_reads_the_installation(settings: Any, running: Generation, tree: Tree) -> None:
    settings.METRICS_KEY = KEY
    figures = await _figures()
    assert figures["heddle_database_up"] == 1
    assert figures['heddle_generations{status="running"}'] == 1
    assert figures['heddle_generations{status="queued"}'] == 0
    assert 0 <= figures['heddle_generations_oldest_seconds{status="running"}'] < 3600
    assert figures["heddle_put_aside"] == 0


async def test_what_is_of_the_process_is_there_without_the_database(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> Any:
        raise OperationalError("away")

    settings.METRICS_KEY = KEY
    monkeypatch.setattr(metrics, "_of_installation", away)
    figures = await _figures()
    assert figures["heddle_database_up"] == 0
    assert figures["heddle_sockets"] == 0
    assert not any(name.startswith("heddle_generations") for name in figures)


@pytest.mark.parametrize("given", ["short", "with an áccent, long enough"])
def test_a_key_that_is_too_weak_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_METRICS_KEY", given)
    with pytest.raises(env.WrongSetting, match="openssl rand -hex 16"):
        env.read()
