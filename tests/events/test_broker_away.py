"""A broker that is away, or that takes connections and never answers, holds nobody up."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from kombu.pools import connections as kombu_connections
from redis.exceptions import RedisError, ResponseError

from loom.engine import jobs, kept_jobs, optional_cache
from loom.engine.models import KeptJob
from loom.platform.broker import (
    BrokerAwayError,
    Cache,
    broker,
    hurried,
    ping_worker,
    send_task,
)
from loom.turns import lanes

WITHIN_S = 0.1


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a broker that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@pytest.fixture
def absent() -> str:
    """The address of a broker that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@pytest.fixture(params=["silent", "absent"])
def lost(request: pytest.FixtureRequest, settings: Any, monkeypatch: Any) -> Iterator[str]:
    """All that asks the broker asks one that gives no answer."""
    url: str = request.getfixturevalue(request.param)
    # First Celery, which takes its broker from the settings when it is asked for the first time.
    monkeypatch.setattr(current_app.conf, "broker_write_url", url)
    settings.REDIS_URL, settings.BROKER_S = url, WITHIN_S
    yield url
    broker.answered()


def cache_at(url: str) -> Cache:
    """A cache at this address."""
    options = {"socket_timeout": WITHIN_S, "socket_connect_timeout": WITHIN_S}
    return Cache(url, {"OPTIONS": options})


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The addresses that were connected to."""
    seen: list[object] = []
    connect = socket.socket.connect

    def noted(self: socket.socket, address: Any) -> None:
        seen.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    return seen


def test_a_task_is_tried_once_and_given_up(lost: str, connections: list[object]) -> None:
    with pytest.raises(Exception, match=r"."):
        send_task("loom.tasks.nothing", [], queue="transfer")
    assert len(connections) == 1
    with pytest.raises(BrokerAwayError):  # and the next does not wait at all
        send_task("loom.tasks.nothing", [], queue="transfer")
    assert len(connections) == 1


def test_a_worker_is_not_waited_for_at_a_broker_that_gives_no_answer(lost: str) -> None:
    with pytest.raises(Exception, match=r"."):
        ping_worker(wait_s=10.0)


def test_a_worker_is_waited_for_without_what_tasks_are_sent_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ping(**_: Any) -> list[object]:
        pool = kombu_connections[hurried()]
        with ExitStack() as stack:
            for _number in range(pool.limit):  # as many requests at once
                stack.enter_context(pool.acquire(block=False))
        return []

    monkeypatch.setattr(current_app.control, "ping", ping)
    assert not ping_worker(wait_s=10.0)


@pytest.mark.django_db(transaction=True)
def test_what_hands_work_over_returns(lost: str, connections: list[object]) -> None:
    jobs.enqueue("loom.tasks.nothing", [], queue="transfer")
    lanes.hand_over("participant:1")
    assert len(connections) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda kept: kept.get("a"),
        lambda kept: kept.set("a", 1),
        lambda kept: kept.add("a", 1),
        lambda kept: kept.incr("a"),
        lambda kept: kept.get_many(["a"]),
        lambda kept: kept.set_many({"a": 1}),
        lambda kept: kept.delete("a"),
        lambda kept: kept.delete_many(["a"]),
    ],
)
def test_the_cache_is_not_asked_again_at_once(
    lost: str, ask: Callable[[Cache], object], connections: list[object]
) -> None:
    kept = cache_at(lost)
    for _ in range(3):
        with pytest.raises(RedisError):
            ask(kept)
    assert len(connections) == 1


def test_one_asks_again_while_the_others_go_on(lost: str, monkeypatch: Any) -> None:
    kept = cache_at(lost)
    with pytest.raises(RedisError):
        kept.get("a")
    monkeypatch.setattr(broker, "_until", 0.0)  # the pause is over
    with broker.asked(), pytest.raises(BrokerAwayError), broker.asked():
        pass
    assert not broker.is_away  # the first was answered
    assert cache.get("a") is None


@pytest.mark.parametrize("error", [ValueError("no such key"), ResponseError("WRONGTYPE")])
def test_a_refusal_is_an_answer(lost: str, monkeypatch: Any, error: Exception) -> None:
    with pytest.raises(RedisError):
        cache_at(lost).get("a")
    monkeypatch.setattr(broker, "_until", 0.0)  # the pause is over
    with pytest.raises(type(error)), broker.asked():
        raise error
    assert not broker.is_away


def test_what_is_wrong_before_the_broker_is_asked_is_no_answer(lost: str, monkeypatch: Any) -> None:
    with pytest.raises(RedisError):
        cache_at(lost).get("a")
    monkeypatch.setattr(broker, "_until", 0.0)
    with pytest.raises(TypeError), broker.asked():
        raise TypeError("cannot pickle this")
    assert broker.is_away


def test_what_is_only_kept_to_be_faster_is_not_there(lost: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(optional_cache, "cache", cache_at(lost))
    optional_cache.keep("a", 1, 60)
    optional_cache.keep_many({"b": 1}, 60)
    optional_cache.forget(["a"])
    assert optional_cache.get("a") is None
    assert optional_cache.get_many(["a", "b"]) == {}


@pytest.mark.django_db
def test_a_kept_job_is_sent_again_soon_after_the_broker_was_away(lost: str) -> None:
    with pytest.raises(RedisError):
        cache_at(lost).get("a")
    with transaction.atomic():
        kept_jobs.enqueue_kept("loom.tasks.nothing", [], queue="transfer")
    soon = timezone.now() + kept_jobs.SENT_AGAIN - timedelta(seconds=10)
    assert KeptJob.objects.get().due_at < soon


def test_a_worker_waits_for_its_next_task_without_a_limit() -> None:
    """It waits on purpose, longer than anybody waits for an answer."""
    assert "socket_timeout" not in current_app.conf.broker_transport_options
