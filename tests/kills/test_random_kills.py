"""Random kills of every process under load: 16 on each database, the seed in the output.

HEDDLE_THOROUGH=1 makes a hundred, `python -m bench.kills` a thousand. HEDDLE_SEED repeats a run
as far as chance allows.
"""

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kills.chaos import WHOLE, Chaos
from tests.kills.house import House
from tests.kills.postgres import Postgres
from tests.providers.scripted import ScriptedProvider
from tests.thorough import THOROUGH

pytestmark = [pytest.mark.kill]
# Many in one round: a start costs seconds, a kill does not.
ROUNDS, KILLS = 2, 50 if THOROUGH else 8

Say = Callable[[str], None]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def show(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", flush=True)

    return show


def survive(data: Path, say: Say, postgres: Postgres | None) -> None:
    seed = int(os.environ.get("HEDDLE_SEED", "") or random.SystemRandom().randrange(1_000_000))
    say(f"HEDDLE_SEED={seed}")
    with ScriptedProvider(default=WHOLE) as provider:
        house = House(data, allow=provider.entry, postgres=postgres)
        try:
            house.start()
            chaos = Chaos(house, provider, seed=seed)
            for _ in range(ROUNDS):
                chaos.round(KILLS)
            say(str(chaos.score))
        finally:
            house.stop()


@pytest.mark.sqlite
def test_nothing_is_lost_when_web_worker_and_broker_die(tmp_path: Path, say: Say) -> None:
    survive(tmp_path, say, None)


@pytest.mark.postgres
def test_nothing_is_lost_when_the_database_dies_too(tmp_path: Path, say: Say) -> None:
    # Not below tmp_path: any other pytest closes that folder for all users but its own.
    with tempfile.TemporaryDirectory(prefix="heddle-postgres-") as temporary_directory:
        postgres = Postgres(Path(temporary_directory))
        postgres.start()
        try:
            survive(tmp_path / "data", say, postgres)
        finally:
            postgres.stop()
