"""A Heddle whose processes are killed and started again at once: no supervisor waits between."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
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
from tests.kills.proxy import Proxy
from tests.patience import PATIENCE_S


class House:
    """Web, worker and broker as script/server starts them, and PostgreSQL where it is given. There
    is a proxy before several web processes.

    Everything is started from the thread that makes the house: the kernel ends the processes
    with that thread.
    """

    def __init__(
        self,
        data: Path,
        *,
        allow: str,
        postgres: Postgres | None = None,
        webs: int = 1,
        workers: int = 1,
        given: dict[str, str] | None = None,
    ) -> None:
        ports = [free_port("127.0.0.1", 0) for _ in range(webs)]
        self._webs = [Options("127.0.0.1", port, data, False, False) for port in ports]
        self._workers = workers
        self.options = self._webs[0]
        self.options.logs.mkdir(parents=True, exist_ok=True)
        self._children = ChildProcesses(lambda line: None)
        self._proxy = Proxy(self.urls) if webs > 1 else None
        self._postgres = postgres
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_"))
        }
        self._env = inherited | {
            "HEDDLE_DATA": str(data),
            "HEDDLE_ORIGINS": self.options.url,
            "HEDDLE_PROVIDER_ALLOW": allow,
            "HEDDLE_SOCKETS_EACH": "10000",  # one account is everybody
            **(given or {}),
        }
        if postgres is not None:
            self._env["DATABASE_URL"] = postgres.url

    @property
    def names(self) -> list[str]:
        """What can be killed here. A database in a file has no process of its own: it is
        killed with whoever writes it."""
        names = [child.name for child in self._children.all]
        return names + (["backend", "postmaster"] if self._postgres else [])

    def start(self) -> None:
        """Starts everything and waits until it answers."""
        if self._postgres is None:
            copy_started_data(self.options.data)
        self._env["REDIS_URL"] = __main__.start(self._children, self.options.data, self._env)
        prepare(self.options, self._env)
        for child in self._planned():
            self._children.start(child)
        if self._proxy is not None:
            self._proxy.start()
        self.wait()

    def _planned(self) -> Iterator[Child]:
        """The processes as script/server has them, and the more of them as `web-2`, `worker-2`."""
        for number in range(max(len(self._webs), self._workers)):
            options = self._webs[min(number, len(self._webs) - 1)]
            wanted = {"web": number < len(self._webs), "worker": number < self._workers}
            for child in processes.children(options, self._env):
                if wanted[child.name]:
                    if number:
                        child.name = f"{child.name}-{number + 1}"
                        child.log = options.logs / f"{child.name}.log"
                    yield child

    def stop(self) -> None:
        """Stops everything."""
        self._children.stop_all()
        if self._proxy is not None and self._proxy.url:
            self._proxy.stop()

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

    def resident_mb(self) -> dict[str, float]:
        """The memory of each process that runs, by name."""
        sizes: dict[str, float] = {}
        for child in self._children.all:
            if child.is_running and child.process is not None:
                status = Path(f"/proc/{child.process.pid}/status").read_text()
                kb = re.findall(r"VmRSS:\s+(\d+)", status)
                sizes |= {child.name: int(kb[0]) / 1024} if kb else {}
        return sizes

    def _is_well(self) -> bool:
        for child in self._children.all:
            if not child.is_running:  # it could not start while something else was away
                self._children.start(child)
        for answer in (get(f"{url}/healthz") for url in self.urls):
            if answer.status_code != 200 or "slow" in answer.text:
                return False
        return True

    @property
    def urls(self) -> list[str]:
        """The address of each web process."""
        return [web.url for web in self._webs]

    @property
    def url(self) -> str:
        """The address of all of them: of the proxy, if there are several."""
        return self._proxy.url if self._proxy is not None else self.options.url

    @property
    def connections(self) -> list[int]:
        """How many connections the proxy has passed on to each web process."""
        return self._proxy.passed if self._proxy is not None else []

    def manage(self, *words: str) -> str:
        """What a management command prints."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT, env=self._env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def make_key(self, name: str = "owner") -> str:
        """A fresh API key of somebody."""
        return self.manage("apikey", name, "kills").strip().splitlines()[-1]

    def client(self, key: str = "", url: str = "") -> httpx.Client:
        """A client of all web processes, or of the one at `url`, with this API key, else with a
        fresh one of the owner, made while everything is well."""
        headers = {"Authorization": f"Bearer {key or self.make_key()}"}
        return open_client(base_url=f"{url or self.url}/api", headers=headers)
