"""A running Heddle for all tests that only read from it."""

from collections.abc import Iterator

import pytest

from tests.databases import copy_started_data
from tests.house.processes import Server, server, wait_until_well


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a data folder that has had its first start; every process is well."""
    data = tmp_path_factory.mktemp("running") / "data"
    copy_started_data(data)
    with server(data, "--no-model") as started:
        started.ready()
        wait_until_well(started)
        yield started
        assert started.stop() < 10
