"""A thousand random kills of web, worker, broker and database under load, and what they cost.

Half of them on SQLite, half on a PostgreSQL of its own where there is one. After each fifty
everything that was acknowledged is looked for. Run: python -m bench.kills [kills] [seed]
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.kills.chaos import WHOLE, Chaos
from tests.kills.house import House
from tests.kills.postgres import Postgres, is_able
from tests.providers.scripted import ScriptedProvider

A_ROUND = 50


def survive(kills: int, seed: int, postgres: Postgres | None, folder: Path) -> str:
    """Kills and looks; what was counted. Raises AssertionError at the first loss."""
    with ScriptedProvider(default=WHOLE) as provider:
        house = House(folder / "data", allow=provider.entry, postgres=postgres)
        try:
            house.start()
            chaos = Chaos(house, provider, seed=seed)
            for done in range(0, kills, A_ROUND):
                chaos.round(min(A_ROUND, kills - done))
            return str(chaos.score)
        finally:
            house.stop()


def main(kills: int, seed: int) -> None:
    """Both databases, one after the other."""
    print(f"{kills} kills, seed {seed}")
    kinds = ["SQLite", "PostgreSQL"] if is_able() else ["SQLite"]
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="heddle-kills-") as temporary_directory:
            folder, began = Path(temporary_directory), time.monotonic()
            postgres = Postgres(folder / "postgres") if kind == "PostgreSQL" else None
            if postgres is not None:
                postgres.start()
            try:
                told = survive(kills // len(kinds), seed, postgres, folder)
            finally:
                if postgres is not None:
                    postgres.stop()
        print(f"  {kind}, {time.monotonic() - began:.0f} s: nothing lost, nothing doubled. {told}")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [1000, random.SystemRandom().randrange(1_000_000)][len(given) :]))
