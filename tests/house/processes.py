"""Starting script/server for real, and checking what it leaves behind."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.clients import get
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
# What script/server does once everything is set up.
SUPERVISOR = (sys.executable, "-m", "config.supervisor")


class Server:
    """One script/server, read line by line. The data folder marks its processes."""

    def __init__(
        self, data: Path, *words: str, command: Sequence[str] = SUPERVISOR, **env: str
    ) -> None:
        self.data = data
        self.url = ""
        self.lines: list[str] = []
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_", "PYTEST_"))
        }
        self.process = subprocess.Popen(
            [*command, "--data", str(data), *words],
            cwd=ROOT,
            env=clean | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def until(self, pattern: str) -> re.Match[str]:
        """Reads lines until one matches. Fails with all output if the process ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            match = re.fullmatch(pattern, self.lines[-1])
            if match:
                return match
        raise AssertionError("\n".join(["it ended:", *self.lines]))

    def ready(self) -> str:
        """The address, once it prints that it is ready."""
        self.url = self.until(r"ready (http://\S+)")[1]
        return self.url

    def health(self) -> dict[str, object]:
        """The reported state of its processes; empty while its web server is down."""
        try:
            body: dict[str, object] = get(f"{self.url}/healthz").json()
        except httpx.TransportError:
            return {}
        return body

    def rest(self) -> str:
        """The remaining output until it ends."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return str(out)

    def stop(self) -> int:
        """Sends SIGTERM; the status with which it ended."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def family(self) -> dict[int, str]:
        """Pid and command line of every live process that works on the data folder."""
        mark = f"HEDDLE_DATA={self.data.resolve()}".encode()
        processes = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                # The broker writes its title over its environment; it works in its folder.
                is_broker = (folder / "cwd").readlink() == self.data.resolve() / "broker"
                if is_broker or mark in (folder / "environ").read_bytes().split(b"\0"):
                    processes[int(folder.name)] = (
                        (folder / "cmdline").read_text().replace("\0", " ")
                    )
            except OSError:  # it ended meanwhile
                continue
        return processes

    def pid_of(self, words: str) -> int:
        """The pid of the child whose command line holds `words`."""
        return next(pid for pid, line in self.family().items() if words in line)


@contextmanager
def server(
    data: Path, *words: str, command: Sequence[str] = SUPERVISOR, **env: str
) -> Iterator[Server]:
    """A running script/server; killed at the end if necessary."""
    started = Server(data, "--port", "0", "--no-browser", *words, command=command, **env)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait(PATIENCE_S)
        assert started.process.stdout is not None
        started.process.stdout.close()


def wait_for(condition: Callable[[], object], *, seconds: float = PATIENCE_S) -> None:
    """Returns once `condition()` is true. Fails if that takes longer than on any reasonable
    machine."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def wait_until_well(running: Server) -> None:
    """Returns once every process reports that it is well, and the worker does so now."""
    wait_for(lambda: (health := running.health()).get("ok") and "slow" not in str(health))
