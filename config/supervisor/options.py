"""What the command line of script/server says, checked."""

import argparse
import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Sentence(Exception):
    """Ends the start with one sentence for the person who typed the command."""


@dataclass(frozen=True)
class Options:
    """Where to listen, where the data is, and what is left out."""

    host: str
    port: int
    data: Path
    model: bool
    browser: bool

    @property
    def logs(self) -> Path:
        """The folder of the processes' logs."""
        return self.data / "logs"

    @property
    def url(self) -> str:
        """The address to open on this machine."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="script/server", description="Starts Heddle.")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (8000)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--data", default="", help="the data folder (HEDDLE_DATA, else var/)")
    parser.add_argument("--no-model", action="store_true", help="without the local model")
    parser.add_argument("--no-browser", action="store_true", help="opens no browser")
    return parser


def free_port(host: str, port: int) -> int:
    """`port`, or a free one for 0. Raises Sentence where it cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                raise Sentence(
                    f"Port {port} of {host} is taken. Stop what listens there, or choose "
                    f"another: script/server --port {port + 1}"
                ) from error
            raise Sentence(f"Heddle cannot listen on {host} port {port}: {error}.") from error
        return int(probe.getsockname()[1])


def read(words: list[str]) -> Options:
    """The options. Raises Sentence for a port that is taken or a folder that cannot be made."""
    given = _parser().parse_args(words)
    started_in = Path(os.environ.get("HEDDLE_STARTED_IN", "") or Path.cwd())
    data = started_in / (given.data or os.environ.get("HEDDLE_DATA", "") or ROOT / "var")
    try:
        # The data is its owner's; a folder that is there already stays as it is.
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        (data / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise Sentence(f"The data folder {data} cannot be made: {error.strerror}.") from error
    return Options(
        host=given.host,
        port=free_port(given.host, given.port),
        data=data.resolve(),
        model=not given.no_model,
        browser=not given.no_browser,
    )
