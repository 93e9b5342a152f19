"""A process that is full: sockets are refused with a reason, requests are answered."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.db import connection

from config import asgi, celery, env
from loom.access import Actor
from loom.documents import actions
from loom.live import capacity
from loom.people.models import User
from loom.trees.models import Tree
from tests.live.conftest import Headers, bearer
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
Wire: Any = ApplicationCommunicator
FULL = {
    "type": "error",
    "code": "UNAVAILABLE",
    "message": "Too many people are connected to this server at the moment.",
    "hint": "connect again in a while; requests are still answered",
}


@pytest.fixture(autouse=True)
def _empty(settings: Any) -> Iterator[None]:
    settings.SOCKETS = 2
    yield
    assert (capacity.capacity.held, capacity.capacity.answered) == (0, 0)
    assert not capacity.capacity.held_by.held


def _socket(path: str, headers: Headers) -> Any:
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers}
    return Wire(asgi.application, scope)


async def _asked(path: str, headers: Headers) -> tuple[Any, list[dict[str, Any]]]:
    """A socket, and what it was sent at first."""
    wire = _socket(path, headers)
    await wire.send_input({"type": "websocket.connect"})
    first = [await wire.receive_output(PATIENCE_S)]
    if first[0]["type"] == "websocket.accept":
        first.append(await wire.receive_output(PATIENCE_S))
    return wire, first


async def _left(wire: Any) -> None:
    await wire.send_input({"type": "websocket.disconnect", "code": 1000})
    await wire.wait(PATIENCE_S)


async def _request(path: str, headers: Headers, accept: bytes = b"*/*") -> tuple[int, bytes]:
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"accept", accept), *headers],
    }
    wire = Wire(asgi.application, scope)
    await wire.send_input({"type": "http.request", "body": b""})
    status = (await wire.receive_output(PATIENCE_S))["status"]
    body = (await wire.receive_output(PATIENCE_S))["body"]
    await wire.wait(PATIENCE_S)
    return status, body


async def test_sockets_are_refused_with_a_reason_and_requests_are_answered(
    tree: Tree, owner: User
) -> None:
    headers = await database_sync_to_async(bearer)(owner)
    path = f"/ws/trees/{tree.uid}"
    held = [(await _asked(path, headers))[0] for _ in range(2)]
    late, (accepted, refusal) = await _asked(path, headers)
    assert accepted["type"] == "websocket.accept"
    assert json.loads(refusal["text"]) == FULL
    closed = await late.receive_output(PATIENCE_S)
    assert closed == {"type": "websocket.close", "code": 1013, "reason": FULL["message"]}
    assert capacity.capacity.answered == 1
    await _left(late)

    status, body = await _request(f"/api/trees/{tree.uid}/events", headers, b"text/event-stream")
    assert (status, json.loads(body)["message"]) == (503, FULL["message"])
    assert (await _request("/api/me", headers))[0] == 200

    await _left(held.pop())
    again, (accepted, greeting) = await _asked(path, headers)
    assert json.loads(greeting["text"])["type"] != "error"
    for wire in (again, *held):
        await _left(wire)


async def test_a_document_is_closed_without_a_frame_that_its_client_cannot_read(
    tree: Tree, owner: User, settings: Any
) -> None:
    settings.SOCKETS = 0
    wire, (accepted, closed) = await _asked("/ws/documents/none", [])
    assert accepted["type"] == "websocket.accept"
    assert (closed["type"], closed["code"]) == ("websocket.close", 1013)
    await _left(wire)


async def test_many_who_find_no_place_are_refused_before_the_handshake(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SOCKETS = 0
    monkeypatch.setattr(capacity, "MOST_ANSWERED", 2)
    told = [(await _asked("/ws/trees/none", []))[0] for _ in range(2)]
    refused, (first,) = await _asked("/ws/trees/none", [])
    assert (first["type"], first["status"]) == ("websocket.http.response.start", 503)
    await asyncio.wait_for(refused.wait(PATIENCE_S), PATIENCE_S)
    for wire in told:
        await _left(wire)


async def test_a_stream_of_events_takes_a_place(tree: Tree, owner: User, settings: Any) -> None:
    headers = await database_sync_to_async(bearer)(owner)
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api/trees/{tree.uid}/events",
        "query_string": b"",
        "headers": [(b"accept", b"text/event-stream"), *headers],
    }
    wire = Wire(asgi.application, scope)
    assert (await wire.receive_output(PATIENCE_S))["status"] == 200
    assert capacity.capacity.held == 1
    await wire.send_input({"type": "http.disconnect"})
    await wire.wait(PATIENCE_S)


TOO_MANY = "Too many windows and programs of your account are connected at the moment."


async def test_one_account_does_not_take_the_places_of_others(
    tree: Tree, owner: User, reader: User, settings: Any
) -> None:
    settings.SOCKETS, settings.SOCKETS_EACH = 10, 2
    headers = await database_sync_to_async(bearer)(owner)
    other = await database_sync_to_async(bearer)(reader)
    path = f"/ws/trees/{tree.uid}"
    held = [(await _asked(path, headers))[0] for _ in range(2)]
    late, (accepted, refusal) = await _asked(path, headers)
    assert accepted["type"] == "websocket.accept"
    sent = json.loads(refusal["text"])
    assert (sent["code"], sent["message"]) == ("LIMIT_EXCEEDED", TOO_MANY)
    closed = await late.receive_output(PATIENCE_S)
    assert closed == {"type": "websocket.close", "code": 1013, "reason": TOO_MANY}
    await _left(late)

    status, body = await _request(f"/api/trees/{tree.uid}/events", headers, b"text/event-stream")
    assert (status, json.loads(body)["message"]) == (429, TOO_MANY)

    beside, (accepted, greeting) = await _asked(path, other)
    assert json.loads(greeting["text"])["type"] != "error"
    await _left(held.pop())
    again, (accepted, greeting) = await _asked(path, headers)
    assert json.loads(greeting["text"])["type"] != "error"
    for wire in (again, beside, *held):
        await _left(wire)


async def test_a_document_takes_a_place_of_its_account(
    actor: Actor, owner: User, settings: Any
) -> None:
    settings.SOCKETS_EACH = 0
    headers = await database_sync_to_async(bearer)(owner)
    make = database_sync_to_async(actions.make_document)
    written = await make(actor, title="Notes", text="A tower.")
    wire, (accepted, closed) = await _asked(f"/ws/documents/{written.uid}", headers)
    assert accepted["type"] == "websocket.accept"
    assert closed == {"type": "websocket.close", "code": 1013, "reason": TOO_MANY}
    await _left(wire)


async def test_a_socket_that_is_cancelled_gives_its_place_back(
    tree: Tree, owner: User, settings: Any
) -> None:
    headers = await database_sync_to_async(bearer)(owner)
    wire, _ = await _asked(f"/ws/trees/{tree.uid}", headers)
    assert capacity.capacity.held_by.held == {owner.pk: 1}
    wire.future.cancel()
    await asyncio.wait([wire.future])


@pytest.mark.parametrize("given", ["0", "-1", "many", "٣", "99999999999"])
def test_a_limit_that_is_no_number_is_refused_with_a_sentence(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_SOCKETS", given)
    with pytest.raises(env.WrongSetting, match="Write 1 to 10000, such as 600"):
        env.read()


@pytest.mark.parametrize("given", ["7", "101"])
def test_a_process_has_connections_enough_and_not_too_many(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_DATABASE_CONNECTIONS", given)
    with pytest.raises(env.WrongSetting, match="Write 8 to 100"):
        env.read()


@pytest.mark.postgres
def test_statements_of_a_worker_end(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"options": "-c jit=off"}
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    celery._limit_statements()
    assert options["options"] == "-c jit=off -c statement_timeout=900000"
