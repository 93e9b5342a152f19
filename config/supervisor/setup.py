"""Before the processes: one supervisor a data folder, and a database that is up to date."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.supervisor.options import Options, Sentence


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """Holds the data folder for this supervisor. Raises Sentence where another has it."""
    with (data / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise Sentence(
                f"Another Heddle (process {file.read().strip()}) uses {data}. "
                "Stop it, or choose another folder with --data."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def prepare(options: Options, env: dict[str, str]) -> list[str]:
    """Backs up, migrates and makes the first start; returns the lines to show."""
    done = subprocess.run(
        [sys.executable, "-m", "config.prepare"],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # Not what it prints: that may be a link by which anybody could sign in.
    (options.logs / "prepare.log").write_text(done.stderr)
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()[-15:]
        raise Sentence("\n".join(["The database could not be prepared.", *tail]))
    return done.stdout.splitlines()
