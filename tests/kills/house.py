"""A Heddle whose processes are killed and started again at once: no supervisor waits between."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psycopg

from config.supervisor import __main__, processes
from config.supervisor.__main__ import prepare
from config.supervisor.processes import Child, ChildProcesses, Options, free_port
from tests.clients import get, open_client
from tests.databases import copy_started_data
from tests.kills.heddle import ROOT, tails, until
from tests.kills.postgres import Postgres
from tests.patience import PATIENCE_S


class House:
    """Web, worker and broker as script/server starts them, and PostgreSQL where it is given.

    Everything is started from the thread that makes the house: the kernel ends the processes
    with that thread.
    """

    def __init__(self, data: Path, *, allow: str, postgres: Postgres | None = None) -> None:
        self.options = Options("127.0.0.1", free_port("127.0.0.1", 0), data, False, False)
        self.options.logs.mkdir(parents=True, exist_ok=True)
        self._children = ChildProcesses(lambda line: None)
        self._postgres = postgres
        given = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_"))
        }
        self._env = given | {
            "HEDDLE_DATA": str(data),
            "HEDDLE_ORIGINS": self.options.url,
            "HEDDLE_PROVIDER_ALLOW": allow,
        }
        if postgres is not None:
            self._env["DATABASE_URL"] = postgres.url

    @property
    def names(self) -> list[str]:
        """What can be killed here. A database in a file has no process of its own: it is
        killed with whoever writes it."""
        found = [child.name for child in self._children.all]
        return found + (["backend", "postmaster"] if self._postgres else [])

    def start(self) -> None:
        """Starts everything and waits until it answers."""
        if self._postgres is None:
            copy_started_data(self.options.data)
        self._env["REDIS_URL"] = __main__.start(self._children, self.options.data, self._env)
        prepare(self.options, self._env)
        for child in processes.children(self.options, self._env):
            self._children.start(child)
        self.wait()

    def stop(self) -> None:
        """Stops everything."""
        self._children.stop_all()

    def kill(self, name: str) -> None:
        """SIGKILL, and a new start at once."""
        if name == "backend" and self._postgres is not None:
            self._postgres.kill_backend()
        elif name == "postmaster" and self._postgres is not None:
            self._postgres.kill()
            self._postgres.start()
        else:
            child = self._child(name)
            assert child.process is not None
            child.process.kill()
            child.process.wait()
            self._children.start(child)

    def _child(self, name: str) -> Child:
        return next(child for child in self._children.all if child.name == name)

    def wait(self) -> None:
        """Waits until every process says that it is well."""
        until(self._is_well, what="every process is well", tell=self.tell)

    def tell(self) -> str:
        """Which processes run, and the last lines of their logs."""
        running = ", ".join(
            f"{child.name} {'runs' if child.is_running else 'does not run'}"
            for child in self._children.all
        )
        return f"{running}\n{tails(self.options.logs)}"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query finds in the database, beside the processes."""
        if self._postgres is not None:
            with psycopg.connect(self._postgres.url) as reader:
                return reader.execute(query).fetchall()
        address = f"file:{self.options.data / 'heddle.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE_S)) as reader:
            return list(reader.execute(query))

    def _is_well(self) -> bool:
        for child in self._children.all:
            if not child.is_running:  # it could not start while something else was away
                self._children.start(child)
        found = get(f"{self.options.url}/healthz")
        return found.status_code == 200 and "slow" not in found.text

    def client(self) -> httpx.Client:
        """A client with an API key of the owner, made while everything is well."""
        made = subprocess.run(
            [sys.executable, "manage.py", "apikey", "owner", "kills"],
            cwd=ROOT, env=self._env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        headers = {"Authorization": f"Bearer {made.stdout.strip().splitlines()[-1]}"}
        return open_client(base_url=f"{self.options.url}/api", headers=headers)
