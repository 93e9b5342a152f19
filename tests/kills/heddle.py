"""A whole Heddle in real processes, as script/server starts it, on a data folder of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.clients import get, open_client
from tests.kills.children import children_of
from tests.patience import LOOK_S, PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]


class Heddle:
    """Starts the supervisor and speaks to it; children are killed by their name."""

    def __init__(self, data: Path, *, allow: str, port: int) -> None:
        self.data = data
        self.url = f"http://127.0.0.1:{port}"
        self._port = port
        self._env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HEDDLE_", "DJANGO_"))
            and name not in ("REDIS_URL", "DATABASE_URL")
        }
        self._env |= {"HEDDLE_PROVIDER_ALLOW": allow, "HEDDLE_DATA": str(data)}
        self._env["HEDDLE_SOCKETS_EACH"] = "10000"  # one account is everybody
        self._process: subprocess.Popen[str] | None = None
        self.printed: list[str] = []

    def start(self) -> None:
        """Starts everything and waits for the line `ready http://…`."""
        words = ["--no-model", "--no-browser", "--port", str(self._port), "--data", str(self.data)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "config.supervisor", *words],
            cwd=ROOT,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.printed.append(line.rstrip())
            if line.startswith("ready "):
                return
        raise AssertionError("Heddle did not start:\n" + "\n".join(self.printed))

    def stop(self) -> None:
        """Stops everything as a person would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=PATIENCE_S)

    def manage(self, *words: str) -> str:
        """What a management command prints."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self._env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def is_well(self) -> bool:
        """Whether every process says that it is well."""
        answer = get(f"{self.url}/healthz")
        return answer.status_code == 200 and "slow" not in answer.text

    def make_key(self) -> str:
        """A fresh API key of the owner."""
        return self.manage("apikey", "owner", "test").strip().splitlines()[-1]

    def client(self, key: str = "") -> httpx.Client:
        """A client with this API key, else with a fresh one of the owner."""
        headers = {"Authorization": f"Bearer {key or self.make_key()}"}
        return open_client(base_url=f"{self.url}/api", headers=headers)

    def pids(self, word: str) -> list[int]:
        """The supervisor's children whose command line holds `word`."""
        assert self._process is not None
        return [pid for pid, words in children_of(self._process.pid).items() if word in words]

    def kill(self, word: str) -> None:
        """SIGKILL to the children whose command line holds `word`; there must be one."""
        self.signal(word, signal.SIGKILL)

    def signal(self, word: str, number: signal.Signals) -> None:
        """A signal to the children whose command line holds `word`; there must be one."""
        pids = self.pids(word)
        assert pids, f"no child is called {word}"
        for pid in pids:
            os.kill(pid, number)


def until(
    look: Callable[[], Any],
    *,
    what: str,
    seconds: float = PATIENCE_S,
    tell: Callable[[], str] = str,
) -> Any:
    """Looks again and again until the answer is true, and returns it. Fails after `seconds` with
    `what`, what it saw last, and what `tell` says about the world then."""
    end, seen = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        try:
            answer = look()
            seen = repr(answer)
        except httpx.TransportError as error:  # the server is being restarted
            answer, seen = None, repr(error)
        if answer:
            return answer
        time.sleep(LOOK_S)
    raise AssertionError(f"not within {seconds:g} s: {what}; seen last: {seen}\n{tell()}")


def tails(logs: Path, lines: int = 25) -> str:
    """The last lines of each log in a folder, so that a failure can be understood afterwards."""
    shown = []
    for file in sorted(logs.glob("*.log")):
        last = file.read_text(errors="replace").splitlines()[-lines:]
        shown += [f"--- the end of {file.name}", *last] if last else []
    return "\n".join(shown)
