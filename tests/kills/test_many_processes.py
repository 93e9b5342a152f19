"""Several web processes behind a proxy and two workers with one database and one broker: what a
client sees does not depend on the process to which it is connected. `python -m bench.many` runs it
large."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kills.house import House
from tests.kills.many import Many
from tests.kills.postgres import Postgres
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

pytestmark = [pytest.mark.kill]
SOCKETS = 8  # of each web process
WEBS = {"sqlite": 2, "postgres": 3}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("sqlite", marks=pytest.mark.sqlite),
        pytest.param("postgres", marks=pytest.mark.postgres),
    ],
)
def many(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Many]:
    with (
        tempfile.TemporaryDirectory(prefix="heddle-postgres-") as temporary_directory,
        ScriptedProvider(default=tokens(60, rate=20)) as provider,
    ):
        postgres = Postgres(Path(temporary_directory)) if request.param == "postgres" else None
        if postgres is not None:
            postgres.start()
        house = House(
            tmp_path_factory.mktemp("many"),
            allow=provider.entry,
            postgres=postgres,
            webs=WEBS[request.param],
            workers=2,
            given={"HEDDLE_SOCKETS": str(SOCKETS)},
        )
        try:
            house.start()
            yield Many(house, provider, seed=1)
        finally:
            house.stop()
            if postgres is not None:
                postgres.stop()


def test_each_event_comes_once_and_in_order_to_the_pages_of_all(many: Many) -> None:
    asyncio.run(many.writing(per_process=3, texts=10))


def test_pages_of_a_killed_process_come_back_and_miss_nothing(many: Many) -> None:
    asyncio.run(many.writing(per_process=2, texts=20, kill=many.last))


def test_everybody_is_seen_at_all(many: Many) -> None:
    asyncio.run(many.presence())


def test_nobody_is_seen_any_more_whose_process_was_killed(many: Many) -> None:
    asyncio.run(many.presence(kill=many.last))


def test_a_document_that_is_typed_at_all_is_the_same_everywhere(many: Many) -> None:
    asyncio.run(many.documents(typists=6, edits=40))


def test_a_document_converges_though_a_process_is_killed(many: Many) -> None:
    asyncio.run(many.documents(typists=6, edits=60, kill=many.last))


def test_what_a_killed_worker_wrote_ends_with_the_text_that_was_seen(many: Many) -> None:
    asyncio.run(many.killed_worker(generations=4))


def test_sockets_are_refused_before_requests_are(many: Many) -> None:
    asyncio.run(many.crowd(sockets=SOCKETS, requests=5))
