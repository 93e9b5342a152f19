"""Child processes: started so that they die with the supervisor, watched, started again."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
STEADY_S = 30.0  # after so long a crash counts as the first again
WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
GRACE_S = 6.0  # script/server promises 10 s in all
LOOK_S = 10.0
LOG_LIMIT_BYTES = 8 * 1024 * 1024


@dataclass
class Child:
    """One process: how to start it, where it writes, and how it has fared."""

    name: str
    argv: list[str]
    env: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    crashes: int = 0
    due_at: float | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
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
class Keeper:
    """The children of this supervisor, in order of start; the broker comes first."""

    say: Callable[[str], None]
    children: list[Child] = field(default_factory=list)

    def start(self, child: Child) -> None:
        """Starts the child and keeps it from now on."""
        if child not in self.children:
            self.children.append(child)
        if child.log.exists() and child.log.stat().st_size > LOG_LIMIT_BYTES:
            child.log.replace(child.log.with_suffix(".log.1"))
        with child.log.open("ab") as out:
            child.process = subprocess.Popen(  # noqa: S603 (argv is plan.py's own)
                child.argv,
                env=child.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # Ctrl-C reaches the supervisor alone
                preexec_fn=_die_with_parent(os.getpid()),  # noqa: PLW1509 (one thread only)
            )
        child.started_at = time.monotonic()
        child.due_at = None

    def tend(self) -> None:
        """Notices who has died, and starts again whose wait is over."""
        now = time.monotonic()
        for child in self.children:
            if child.is_running:
                continue
            if child.due_at is None:
                self._mourn(child, now)
            elif now >= child.due_at:
                self.start(child)

    def _mourn(self, child: Child, now: float) -> None:
        if now - child.started_at > STEADY_S:
            child.crashes = 0
        wait_s = WAITS_S[min(child.crashes, len(WAITS_S) - 1)]
        child.crashes += 1
        child.due_at = now + wait_s
        code = child.process.returncode if child.process else "?"
        self.say(f"{child.name} ended ({code}); starting it again in {wait_s:g} s. {child.log}")

    def watch(self, look: Callable[[], None] = lambda: None) -> None:
        """Tends the children until a signal ends it, and looks every LOOK_S."""
        looked_at = time.monotonic()
        while True:
            self.tend()
            if time.monotonic() - looked_at >= LOOK_S:
                look()
                looked_at = time.monotonic()
            time.sleep(0.2)

    def kill(self, child: Child) -> None:
        """Ends a child that hangs, at once; `tend` starts it again."""
        _signal(child, signal.SIGKILL)

    def stop_all(self) -> None:
        """Ends every child: first the askers, then what they ask; whoever lingers is killed."""
        askers = [child for child in self.children if child.name != "broker"]
        self._stop(askers, GRACE_S)
        self._stop([child for child in self.children if child.name == "broker"], 2.0)

    def _stop(self, children: list[Child], grace_s: float) -> None:
        for child in children:
            _signal(child, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and any(child.is_running for child in children):
            time.sleep(0.05)
        for child in children:
            # The whole session, so that a child of a child does not stay behind.
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
