"""Each route, socket and command has its row in bench.attacks, so that bench.strangers measures
what others wait for while it is sent."""

from bench.attacks import missing
from tests.house.sources import ROOT
from tests.kills.test_benches import SHARED, SMALL


def test_every_route_socket_and_command_has_a_row() -> None:
    assert missing() == []


def test_every_bench_is_run_small_by_a_test() -> None:
    benches = {path.stem for path in (ROOT / "bench").glob("*.py")}
    assert benches - SHARED == set(SMALL)
