"""Many wait for answers at once, and neither threads nor queries grow with them."""

import asyncio
import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.middleware.common import CommonMiddleware
from django.test import Client
from django.utils import timezone

from loom.access import get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.platform.handler import Handler, handler
from loom.site import waiting
from loom.trees.models import Node, Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Generation, Turn
from tests.heartbeats import beat
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 40
THREADS = 24  # the most that asgiref and the event loop keep for them all; fewer than wait


def _request(tree: Tree, cookies: str, csrf: str, line: str, wait: float) -> tuple[Any, bytes]:
    body = json.dumps({"line": line, "wait": wait}).encode()
    headers = [
        (b"host", b"127.0.0.1"),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cookie", cookies.encode()),
        (b"x-csrftoken", csrf.encode()),
        (b"origin", b"http://127.0.0.1"),
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/api/trees/{tree.uid}/commands",
        "query_string": b"",
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    return scope, body


def _signed_in(user: User) -> tuple[str, str]:
    client = Client()
    client.force_login(user)
    client.get("/")
    client.cookies["csrftoken"] = "a" * 32
    return "; ".join(f"{name}={cookie.value}" for name, cookie in client.cookies.items()), "a" * 32


async def _begun(request: tuple[Any, bytes]) -> ApplicationCommunicator:
    scope, body = request
    wire = ApplicationCommunicator(partial(waiting.holding, handler()), scope)
    await wire.send_input({"type": "http.request", "body": body, "more_body": False})
    return wire


async def _answer(wire: ApplicationCommunicator) -> tuple[int, dict[str, Any]]:
    start, body = await wire.receive_output(PATIENCE_S), await wire.receive_output(PATIENCE_S)
    headers = dict(start["headers"])
    assert int(headers[b"Content-Length"]) == len(body["body"])
    await wire.wait(PATIENCE_S)
    return start["status"], json.loads(body["body"])


def _land(text: str) -> None:
    for row in Generation.objects.filter(status="queued"):
        generation_lifecycle.take(row.uid, lease="x", seconds=60)
        error = None if text else {"code": "MODEL_ERROR", "message": "It broke.", "hint": "wait"}
        generation_lifecycle.end_generation(
            row.uid, lease="x", text=text, chunk=1, finish="complete", error=error
        )


def _pooled() -> int:
    """How many threads are kept for what blocks."""
    return sum("ThreadPoolExecutor" in thread.name for thread in threading.enumerate())


def _running(user: User, tree: Tree) -> Generation:
    """A generation that a worker is at."""
    execute_line(get_actor(user, tree.grove), tree, Request("continue from root"))
    row = Generation.objects.get()
    taken = generation_lifecycle.take(row.uid, lease="worker", seconds=60)
    assert taken is not None
    return taken


def _goes_on(running: Generation) -> bool:
    """Whether its worker still has it and may write, and no other has ended."""
    verdict = beat(running.uid, "worker", "It was", seconds=60)
    return verdict == "go" and not Generation.objects.filter(ended_at__isnull=False).exists()


async def _until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not look():  # noqa: ASYNC110 (nothing says so)
            await asyncio.sleep(0.02)


async def _until_waiting(many: int) -> None:
    await _until(lambda: len(waiting.the_watch().waiting) >= many)


async def test_forty_that_wait_hold_no_thread_ask_one_query_and_end_nothing(
    owner: User, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    still_open = waiting.still_open

    def counted(uids: list[str]) -> set[str]:
        asked.append(len(uids))
        return still_open(uids)

    monkeypatch.setattr(waiting, "still_open", counted)
    who = await sync_to_async(_signed_in)(owner)
    running = await sync_to_async(_running)(owner, tree)
    before = _pooled()
    wires = [await _begun(_request(tree, *who, "continue from root", 60)) for _ in range(MANY)]
    await _until_waiting(MANY)
    asked.clear()
    await _until(lambda: len(asked) > 2)
    assert _pooled() <= max(before, THREADS)
    assert asked and set(asked) == {MANY}  # all of them in one query
    assert await sync_to_async(_goes_on)(running)
    await sync_to_async(_land)("It was night.")
    for wire in wires:
        status, body = await _answer(wire)
        assert (status, len(body["refs"])) == (200, 1)
        assert body["reply"].startswith("✓ 1 continuation from [")
    assert not waiting.the_watch().waiting


async def test_a_wait_that_is_too_short_is_202(owner: User, tree: Tree, muse: Participant) -> None:
    who = await sync_to_async(_signed_in)(owner)
    wire = await _begun(_request(tree, *who, "continue from root n:2", 0.2))
    status, body = await _answer(wire)
    assert (status, len(body["generations"]), body["refs"]) == (202, 2, [])


async def test_where_all_failed_the_answer_says_so(
    owner: User, tree: Tree, muse: Participant
) -> None:
    who = await sync_to_async(_signed_in)(owner)
    wire = await _begun(_request(tree, *who, "continue from root", 60))
    await _until_waiting(1)
    await sync_to_async(_land)("")
    status, body = await _answer(wire)
    assert (status, body["code"], body["step"]) == (502, "MODEL_ERROR", 1)
    assert body["canonical"].startswith("→ continue")


async def test_who_leaves_is_forgotten(owner: User, tree: Tree, muse: Participant) -> None:
    who = await sync_to_async(_signed_in)(owner)
    wire = await _begun(_request(tree, *who, "continue from root", 60))
    await _until_waiting(1)
    await wire.send_input({"type": "http.disconnect"})
    await wire.wait(PATIENCE_S)
    assert not waiting.the_watch().waiting
    assert await wire.receive_nothing()


async def test_a_database_that_is_away_ends_no_wait(
    owner: User, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def away(uids: list[str]) -> set[str]:
        tried.append(len(uids))
        raise RuntimeError("away")

    with monkeypatch.context() as broken:
        broken.setattr(waiting, "still_open", away)
        ended = asyncio.create_task(waiting.the_watch().ended(frozenset({"none"}), 60))
        await _until(lambda: len(tried) > 2)
        assert not ended.done()
    assert await ended


async def test_a_request_waits_for_the_loop_no_more_once_it_has_a_thread(
    owner: User, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    resolve, create = Handler.resolve_request, CommonMiddleware.process_request

    def resolved(self: Handler, request: Any) -> Any:
        threads.append(threading.current_thread())
        return resolve(self, request)

    def begun(self: CommonMiddleware, request: Any) -> Any:
        threads.append(threading.current_thread())
        return create(self, request)

    monkeypatch.setattr(Handler, "resolve_request", resolved)
    monkeypatch.setattr(CommonMiddleware, "process_request", begun)
    who = await sync_to_async(_signed_in)(owner)
    threads.clear()
    wire = await _begun(_request(tree, *who, "budget", 0))
    assert (await _answer(wire))[0] == 200
    assert len(threads) == 2 and len(set(threads)) == 1


async def test_stopping_a_turn_waits_for_its_end_without_a_thread(
    owner: User, tree: Tree, muse: Participant
) -> None:
    def begin() -> tuple[Turn, Any]:
        root = Node.objects.get(tree=tree, parent_slot=None)
        turn = Turn.objects.create(
            tree=tree,
            participant=muse,
            invoked_by=get_actor(owner, tree.grove).participant,
            invoked_at=root,
            answers_below=root,
            preset="standard",
            status="generating",
        )
        scope, body = _request(tree, *_signed_in(owner), "", 0)
        return turn, ({**scope, "path": f"/api/turns/{turn.uid}/stop"}, body)

    turn, sent = await sync_to_async(begin)()
    wire = await _begun(sent)
    await _until_waiting(1)
    still_open = sync_to_async(waiting.still_open)
    assert await still_open([waiting.of_turn(turn.uid)]) == {waiting.of_turn(turn.uid)}
    ended = {"status": "stopped", "ended_at": timezone.now()}
    await Turn.objects.filter(pk=turn.pk).aupdate(**ended)
    status, answer = await _answer(wire)
    assert (status, answer["status"]) == (200, "stopped")
