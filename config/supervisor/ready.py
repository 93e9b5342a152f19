"""Waiting until the web process answers, and opening the browser."""

import http.client
import json
import os
import re
import sys
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from config.supervisor.keeper import Keeper
from config.supervisor.options import Options, Sentence

PATIENCE_S = 90.0
SILENT_S = 60.0


def _answers(url: str, host: str) -> bool:
    """Whether it answers anything; `host` is a name the web process knows itself by."""
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
    """What /healthz says of the worker: ok or down; "" where it says nothing of it, or where
    the broker, by which it would answer, is down."""
    parts = urlsplit(options.url)
    host = urlsplit(env["HEDDLE_ORIGINS"].split(",")[0].strip()).netloc
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        line.request("GET", "/healthz", headers={"Host": host})
        found = json.loads(line.getresponse().read())["processes"]
        return str(found["worker"]) if found["broker"] == "ok" else ""
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ""
    finally:
        line.close()


@dataclass
class WorkerWatch:
    """Ends a worker that lives but has answered no ping for a minute, so that it is started
    again: one that hangs would otherwise never be noticed."""

    keeper: Keeper
    state: Callable[[], str]
    silent_since: float | None = None

    def look(self) -> None:
        """Asks once, and ends the worker where it has been silent for SILENT_S."""
        worker = next((one for one in self.keeper.children if one.name == "worker"), None)
        now = time.monotonic()
        if worker is None or not worker.is_running or self.state() != "down":
            self.silent_since = None
        elif self.silent_since is None or self.silent_since < worker.started_at:
            self.silent_since = now
        elif now - self.silent_since >= SILENT_S:
            self.keeper.say(f"worker has answered no ping for {SILENT_S:g} s; ending it.")
            self.keeper.kill(worker)
            self.silent_since = None


def wait(options: Options, env: dict[str, str], keeper: Keeper) -> None:
    """Returns when the web process answers. Raises Sentence when a child keeps failing."""
    host = urlsplit(env["HEDDLE_ORIGINS"].split(",")[0].strip()).netloc
    deadline = time.monotonic() + PATIENCE_S
    while not _answers(options.url, host):
        keeper.tend()
        failing = [c for c in keeper.children if c.crashes >= 3 and c.name in ("web", "broker")]
        if failing or time.monotonic() > deadline:
            child = failing[0] if failing else next(c for c in keeper.children if c.name == "web")
            raise Sentence("\n".join([f"{child.name} does not come up:", *child.tail()]))
        time.sleep(0.05)


def open_browser(options: Options, greeting: list[str]) -> None:
    """Opens the sign-in link of the greeting, else the page, where there is a screen."""
    has_screen = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if not options.browser or not has_screen:
        return
    links = re.findall(re.escape(options.url) + r"/\S+", "\n".join(greeting))
    webbrowser.open(links[0] if links else options.url)
