"""Several web processes and two workers with one database and one broker: what clients of all of
them get while people write, type in a document and ask, and while processes are killed.

Everything that tests/kills/test_many_processes.py looks at is looked at here, with more clients.
Run: python -m bench.many [pages of each process] [texts of each person] [web processes]
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.kills.house import House
from tests.kills.many import Many
from tests.kills.postgres import Postgres, is_able
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

LETTERS = 100  # of each typist
GENERATIONS = 8


async def run(many: Many, pages: int, texts: int, webs: int, sockets: int) -> None:
    """Everything, one after the other. Raises AssertionError where something is lost or twice."""
    last = f"web-{webs}"
    await many.writing(each=pages, texts=texts)
    await many.writing(each=max(1, pages // 10), texts=texts, kill=last)
    await many.presence()
    await many.presence(kill=last)
    await many.documents(typists=3 * webs, edits=LETTERS)
    await many.documents(typists=3 * webs, edits=LETTERS, kill=last)
    await many.killed_worker(generations=GENERATIONS)
    await many.crowd(sockets=sockets, requests=20)


def measure(kind: str, pages: int, texts: int, webs: int) -> None:
    """Starts a house, measures and prints."""
    sockets = pages + 10
    with (
        tempfile.TemporaryDirectory(prefix="heddle-many-") as made,
        ScriptedProvider(default=tokens(60, rate=20)) as provider,
    ):
        folder = Path(made)
        postgres = Postgres(folder / "postgres") if kind == "PostgreSQL" else None
        if postgres is not None:
            postgres.start()
        house = House(
            folder / "data",
            allow=provider.entry,
            postgres=postgres,
            webs=webs,
            workers=2,
            given={"HEDDLE_SOCKETS": str(sockets)},
        )
        try:
            house.start()
            many = Many(house, provider, seed=1)
            asyncio.run(run(many, pages, texts, webs, sockets))
        finally:
            house.stop()
            if postgres is not None:
                postgres.stop()
    print(f"{kind}, {webs} web processes, 2 workers: nothing lost, nothing twice")
    print("\n".join(many.figures.lines), flush=True)


def main(pages: int = 200, texts: int = 100, webs: int = 2) -> None:
    """Both databases, one after the other."""
    for kind in ["PostgreSQL", "SQLite"] if is_able() else ["SQLite"]:
        measure(kind, pages, texts, webs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
