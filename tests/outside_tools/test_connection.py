"""The connection to outside MCP servers: what it accepts, and what it refuses."""

import pytest

from agents.outside_tools import connection
from agents.outside_tools.addresses import ServerAddress, ToolFailure
from agents.outside_tools.connection import called, listed
from agents.providers.transport import the_loop
from tests.outside_tools.server import RawServer, RealServer

KEY = "key-of-the-server-123456"


@pytest.mark.parametrize("stateless", [True, False])
def test_tools_are_listed_and_called_with_the_key(*, stateless: bool) -> None:
    with RealServer(stateless=stateless) as server:
        address = ServerAddress(server.url, KEY, (server.entry,))
        tools = the_loop().run(listed(address))
        assert [tool.name for tool in tools][:2] == ["forecast", "long"]
        assert tools[0].input_schema["required"] == ["city"]
        result = the_loop().run(called(address, "forecast", {"city": "Bern"}))
        assert result.content[0].text == "In Bern it rains for 1 days."  # type: ignore[union-attr]
        assert server.calls == [{"city": "Bern", "days": 1}]
        assert set(server.keys) == {f"Bearer {KEY}"}


def test_an_address_that_is_not_allowed_is_never_called() -> None:
    with RealServer() as server:
        with pytest.raises(ToolFailure) as failed:
            the_loop().run(listed(ServerAddress(server.url, KEY)))
        assert failed.value.kind == "refused" and "loopback" in failed.value.said
        assert not server.keys


def failure(server: RawServer | RealServer, name: str = "forecast") -> ToolFailure:
    """The failure of a call."""
    with pytest.raises(ToolFailure) as failed:
        the_loop().run(called(ServerAddress(server.url, KEY, (server.entry,)), name, {}))
    return failed.value


@pytest.mark.parametrize(
    "body", [b"<html>hello</html>", b"{}", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 1}', b"\xff"]
)
def test_rubbish_is_no_result(body: bytes) -> None:
    with RawServer(body) as server:
        failed = failure(server)
    assert (failed.kind, failed.is_sent) == ("rubbish", False)


def test_an_answer_that_never_ends_is_cut_by_its_size() -> None:
    with RawServer(b"data: x" * 10_000, kind="text/event-stream", is_endless=True) as server:
        failed = failure(server)
    assert not failed.is_sent and failed.kind in ("invalid", "rubbish")


def test_an_answer_that_never_comes_is_cut_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CALL_S", 1.0)
    with RealServer() as server:
        address = ServerAddress(server.url, KEY, (server.entry,))
        with pytest.raises(ToolFailure) as failed:
            the_loop().run(called(address, "slow", {"seconds": 30}))
    assert (failed.value.kind, failed.value.is_sent) == ("timeout", True)


def test_a_result_of_ten_megabytes_is_refused() -> None:
    with RealServer() as server:
        address = ServerAddress(server.url, KEY, (server.entry,))
        with pytest.raises(ToolFailure) as failed:
            the_loop().run(called(address, "long", {"times": 1_000_000}))
    assert failed.value.kind == "invalid" and "2,097,152 bytes" in failed.value.said
    assert failed.value.is_sent


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "auth"), (404, "not_found"), (429, "rate"), (500, "server")]
)
def test_a_status_is_named(status: int, kind: str) -> None:
    with RawServer(b"no", status=status) as server:
        failed = failure(server)
    assert (failed.kind, failed.is_sent) == (kind, False)


def test_redirects_are_not_followed() -> None:
    with (
        RealServer() as target,
        RawServer(b"", status=307, headers={"location": target.url}) as server,
    ):
        failed = failure(server)
        assert failed.kind == "not_found" and "redirects" in failed.said
        assert not target.keys


def test_a_server_that_is_down_was_not_called() -> None:
    with RealServer() as server:
        pass
    failed = failure(server)
    assert (failed.kind, failed.is_sent) == ("network", False)


def test_what_the_tool_does_not_know_is_its_answer() -> None:
    with RealServer() as server:
        address = ServerAddress(server.url, KEY, (server.entry,))
        result = the_loop().run(called(address, "fails", {}))
        assert result.is_error
