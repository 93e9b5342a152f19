"""A PostgreSQL for a single test, so that it can be killed."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

from config.supervisor.processes import free_port
from tests.kills.children import children_of
from tests.patience import PATIENCE_S


def binaries() -> Path | None:
    """Where initdb and postgres are; None if PostgreSQL is not installed."""
    paths = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    beside = shutil.which("initdb")
    return paths[-1].parent if paths else Path(beside).parent if beside else None


class Postgres:
    """A cluster in `folder`. Its server refuses to run as root, and runs as `postgres` then."""

    def __init__(self, folder: Path) -> None:
        binary = binaries()
        assert binary is not None, "PostgreSQL is not installed"
        self._binary, self._data = binary, folder / "cluster"
        self._port = free_port("127.0.0.1", 0)
        self._user = "postgres" if os.getuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://heddle@127.0.0.1:{self._port}/postgres"
        self._data.mkdir(parents=True)
        if self._user:
            for above in (folder, *folder.parents):
                if above.stat().st_mode & 0o011 != 0o011:
                    above.chmod(above.stat().st_mode | 0o011)
            shutil.chown(self._data, self._user)
        words = ["-D", str(self._data), "-U", "heddle", "-A", "trust", "-E", "UTF8"]
        self._run("initdb", *words, "--locale=C.UTF-8")

    def _run(self, program: str, *words: str) -> str:
        done = subprocess.run(
            [self._binary / program, *words],
            user=self._user, cwd="/", capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def start(self) -> None:
        """Starts the server; after a kill again and again until its memory is free."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            self._process = self._spawn()
            while self._process.poll() is None:
                if self._answers():
                    return
                time.sleep(0.05)
            time.sleep(0.1)
        raise AssertionError("PostgreSQL did not start:\n" + self._log.read_text()[-2000:])

    @property
    def _log(self) -> Path:
        return self._data.with_name("postgres.log")

    def _spawn(self) -> subprocess.Popen[bytes]:
        # Only processes die here, not the machine: what was written is written.
        words = ["-p", str(self._port), "-k", str(self._data), "-c", "listen_addresses=127.0.0.1"]
        more = ["-c", "fsync=off", "-c", "max_connections=100"]
        with self._log.open("ab") as out:
            return subprocess.Popen(
                [self._binary / "postgres", "-D", str(self._data), *words, *more],
                user=self._user, cwd="/", stdout=out, stderr=out,
            )  # fmt: skip

    def _answers(self) -> bool:
        words = ["-h", "127.0.0.1", "-p", str(self._port), "-q"]
        return subprocess.run([self._binary / "pg_isready", *words], check=False).returncode == 0

    def kill(self) -> None:
        """Sends SIGKILL to the server; its backends end when they notice."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def kill_backend(self) -> None:
        """Sends SIGKILL to a working backend. The server then disconnects all others and
        recovers."""
        mine = [pid for pid, words in children_of(self._pid).items() if "heddle postgres" in words]
        if mine:
            try:
                os.kill(mine[-1], signal.SIGKILL)
            except ProcessLookupError:
                return  # it has ended by itself

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """Stops the server at once."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=PATIENCE_S)


def is_able() -> bool:
    """Whether this machine can run one."""
    if binaries() is None:
        return False
    if os.getuid() != 0:
        return True
    return any(account.pw_name == "postgres" for account in pwd.getpwall())
