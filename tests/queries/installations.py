"""An installation on a folder or a server, whose commands run in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.house.sources import ROOT


def run(folder: Path, *words: str, database: str = "", fails: bool = False) -> str:
    """What a command of the program prints; of one that fails, what it says of that."""
    env = {"HEDDLE_DATA": str(folder), "PATH": "/usr/bin:/bin"}
    if database:
        env["DATABASE_URL"] = database
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) is fails, done.stderr
    return done.stderr if fails else done.stdout


@contextmanager
def own_database(name: str) -> Iterator[str]:
    """The URL of an empty database on the server of the tests, which is dropped at the end."""
    server = os.environ["DATABASE_URL"]
    own = f"{name}_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connected:
        connected.execute(f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)')  # type: ignore[arg-type,unused-ignore]
        connected.execute(f'CREATE DATABASE "{own}" TEMPLATE template0')  # type: ignore[arg-type,unused-ignore]
        try:
            yield f"{server.rpartition('/')[0]}/{own}"
        finally:
            connected.execute(f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)')  # type: ignore[arg-type,unused-ignore]


def rows_on_server(url: str) -> dict[str, int]:
    """The tables of a database, and how many rows each has."""
    counts = {}
    with psycopg.connect(url) as connected:
        tables = connected.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (name,) in tables.fetchall():
            row = connected.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()  # type: ignore[arg-type,unused-ignore]
            assert row is not None
            counts[name] = int(row[0])
    return counts
