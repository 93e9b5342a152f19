"""Several web processes behind a proxy, and two workers, with one database and one broker: what
clients of all of them get while people write, type in a document and ask, and while processes are
killed.

Everything that tests/kills/test_many_processes.py looks at is looked at here, with more clients.
Run: python -m bench.many [--processes 2] [--pages 200] [--texts 100] [--sqlite | --postgres]

`--pages` is for each process, `--texts` for each of two people.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from tests.kills.house import House
from tests.kills.many import Many
from tests.kills.postgres import Postgres, is_able
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

LETTERS = 100  # of each typist
GENERATIONS = 8
WORKERS = 2
POSTGRES, SPARE = 100, 20  # connections that it takes, and those that no process may have


async def run(many: Many, pages: int, texts: int, webs: int, sockets: int) -> None:
    """Everything, one after the other. Raises AssertionError where something is lost or twice."""
    await many.writing(per_process=pages, texts=texts)
    await many.writing(per_process=max(1, pages // 10), texts=texts, kill=many.last)
    await many.presence()
    await many.presence(kill=many.last)
    await many.documents(typists=3 * webs, edits=LETTERS)
    await many.documents(typists=3 * webs, edits=LETTERS, kill=many.last)
    await many.killed_worker(generations=GENERATIONS)
    await many.crowd(sockets=sockets, requests=20)


def measure(kind: str, pages: int, texts: int, webs: int) -> None:
    """Starts a house, measures and prints."""
    sockets = pages + 10
    pool = min(20, (POSTGRES - SPARE) // (webs + WORKERS))  # docs/scaling.md has the arithmetic
    with (
        tempfile.TemporaryDirectory(prefix="heddle-many-") as temporary_directory,
        ScriptedProvider(default=tokens(60, rate=20)) as provider,
    ):
        folder = Path(temporary_directory)
        postgres = Postgres(folder / "postgres") if kind == "PostgreSQL" else None
        if postgres is not None:
            postgres.start()
        house = House(
            folder / "data",
            allow=provider.entry,
            postgres=postgres,
            webs=webs,
            workers=WORKERS,
            given={"HEDDLE_SOCKETS": str(sockets), "HEDDLE_DATABASE_CONNECTIONS": str(pool)},
        )
        try:
            house.start()
            many = Many(house, provider, seed=1)
            asyncio.run(run(many, pages, texts, webs, sockets))
            print(f"{kind}, {webs} web processes, {WORKERS} workers: nothing lost, nothing twice")
        finally:
            house.stop()
            if postgres is not None:
                postgres.stop()
    print("\n".join(many.figures.lines), flush=True)


def main() -> None:
    """Both databases, one after the other, or the one that is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2, help="web processes, from 2 on")
    parser.add_argument("--pages", type=int, default=200, help="for each process")
    parser.add_argument("--texts", type=int, default=100, help="of each of two people")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--sqlite", action="store_true")
    only.add_argument("--postgres", action="store_true")
    asked = parser.parse_args()
    for kind, is_left_out in (("PostgreSQL", asked.sqlite), ("SQLite", asked.postgres)):
        if not is_left_out and (kind == "SQLite" or is_able()):
            measure(kind, asked.pages, asked.texts, asked.processes)


if __name__ == "__main__":
    main()
