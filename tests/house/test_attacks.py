"""Each route, socket and command has its row in bench.attacks, so that bench.strangers measures
what others wait for while it is sent."""

from bench.attacks import missing


def test_every_route_socket_and_command_has_a_row() -> None:
    assert missing() == []
