"""The commands of docker-compose.yml and the Dockerfile, started without a container: each service
of ours with its own words and variables, in a folder that holds what the image holds. On PostgreSQL
where the tests have one, else on SQLite."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml

from config.supervisor.processes import free_port
from tests.clients import open_client
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.kill
ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
DATABASE = "heddle_test_container"
REDIS_DATABASE = "11"
SECRETS = dict.fromkeys(("HEDDLE_SECRET", "POSTGRES_PASSWORD", "REDIS_PASSWORD"), "x" * 40)


def _image(to: Path) -> Path:
    """A folder with what the last stage of the Dockerfile copies, and the packages."""
    to.mkdir()
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    for copied in re.findall(r"^COPY (.+)$", last, re.MULTILINE):
        source, target = [word for word in copied.split() if not word.startswith("--")]
        source = source.removeprefix("/heddle/")
        if source == ".venv":
            (to / ".venv").symlink_to(ROOT / ".venv")
        elif (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, to / target, dirs_exist_ok=True)
        else:
            target += Path(source).name if target.endswith("/") else ""
            (to / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, to / target)
    return to


def _default_command() -> list[str]:
    match = re.search(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    assert match is not None
    words: list[str] = yaml.safe_load(match[1])
    return words


def _filled(text: object) -> str:
    """A value of the compose file as `docker compose` fills it in, where only SECRETS are set."""

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match[1], match[2], match[3]
        assert name in SECRETS or kind == "-", f"{name} is set by nobody"
        return SECRETS.get(name, rest)

    return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", value, str(text)).replace("$$", "$")


class Installation:
    """The services of ours as processes, which share a data folder, a database and a broker."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder, self.data = folder, folder / "data"
        self.image = _image(folder / "image")
        self.data.mkdir()
        # The ports that the commands name, as they are on this machine.
        self.ports = {port: str(free_port("127.0.0.1", 0)) for port in ("8000", "8081")}
        self.url = f"http://localhost:{self.ports['8000']}"
        self.env = {
            "PATH": f"{self.image}/.venv/bin:{os.environ['PATH']}",
            "HOSTNAME": socket.gethostname(),
            "PYTHONUNBUFFERED": "1",
            "HEDDLE_DATA": str(self.data),
        }
        redis = urlsplit(os.environ["REDIS_URL"])
        self.there = {
            "HEDDLE_ORIGINS": self.url,
            "REDIS_URL": redis._replace(path=f"/{REDIS_DATABASE}").geturl(),
            "HEDDLE_LOCAL_MODEL_URL": "",
            "HOME": str(folder),
            **({"DATABASE_URL": database_url} if database_url else {}),
        }
        self.without = set() if database_url else {"DATABASE_URL"}

    def environment(self, name: str) -> dict[str, str]:
        """The variables of a service; addresses of other containers are those of this machine."""
        given = {key: _filled(value) for key, value in SERVICES[name]["environment"].items()}
        own = {key: self.there.get(key, value) for key, value in given.items()}
        kept = {key: value for key, value in own.items() if key not in self.without}
        return self.env | kept

    def words(self, command: list[str] | None) -> list[str]:
        """A command with this machine's ports."""
        return [self.ports.get(_filled(word), _filled(word)) for word in command or []]

    def run(self, name: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Runs a command in a service until it ends."""
        words = command[1:] if command[0] == "CMD" else ["sh", "-c", *command[1:]]
        return subprocess.run(
            self.words(words), cwd=self.image, env=self.environment(name), check=False,
            capture_output=True, text=True, timeout=5 * PATIENCE_S,
        )  # fmt: skip

    @contextmanager
    def running(self, name: str) -> Iterator[subprocess.Popen[str]]:
        """A service while it runs; killed at the end if it still does."""
        command = self.words(SERVICES[name].get("command")) or self.words(_default_command())
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                command, cwd=self.image, env=self.environment(name), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, text=True,
            )  # fmt: skip
            try:
                yield process
            finally:
                process.kill()
                process.wait(PATIENCE_S)

    def until(self, name: str, process: subprocess.Popen[str], is_so: Callable[[], bool]) -> None:
        """Returns once it is so. Fails with the log of a service that has ended."""
        until = time.monotonic() + PATIENCE_S
        while not is_so():
            log = (self.folder / f"{name}.log").read_text()
            assert process.poll() is None, f"{name} ended: {log}"
            assert time.monotonic() < until, f"{name} never became healthy: {log}"
            time.sleep(0.1)

    def is_healthy(self, name: str) -> bool:
        """Whether the health check of a service succeeds."""
        return self.run(name, SERVICES[name]["healthcheck"]["test"]).returncode == 0


@pytest.fixture
def database_url() -> Iterator[str]:
    """An empty database of the server that the tests use; "" on SQLite."""
    given = os.environ.get("DATABASE_URL", "")
    if not given.startswith("postgres"):
        yield ""
        return
    with psycopg.connect(given, autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {DATABASE}")
        yield urlsplit(given)._replace(path=f"/{DATABASE}").geturl()
        server.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@pytest.fixture
def installation(tmp_path: Path, database_url: str) -> Installation:
    return Installation(tmp_path, database_url)


def _stops(process: subprocess.Popen[str], name: str) -> None:
    """Ends within what the compose file allows, by itself."""
    process.send_signal(signal.SIGTERM)
    allowed = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))
    assert process.wait(allowed) in (0, -signal.SIGTERM)


def test_the_services_start_answer_write_and_stop(installation: Installation) -> None:
    prepared = installation.run("prepare", ["CMD", *SERVICES["prepare"]["command"]])
    assert prepared.returncode == 0, prepared.stderr
    link = next(line for line in prepared.stdout.split() if "/signin/" in line)
    assert not installation.is_healthy("web")  # nothing runs yet
    with installation.running("worker") as worker, installation.running("web") as web:
        installation.until("web", web, lambda: installation.is_healthy("web"))
        installation.until("worker", worker, lambda: installation.is_healthy("worker"))
        with open_client(base_url=installation.url, follow_redirects=True) as browser:
            health = browser.get("/healthz")
            assert health.json()["ok"], health.text
            assert browser.get(link).status_code == 200
            form = {"csrfmiddlewaretoken": browser.cookies["csrftoken"], "display_name": "Ada"}
            sent = {"Origin": installation.url}
            assert browser.post(link, data=form, headers=sent).status_code == 200
            sent |= {"X-CSRFToken": browser.cookies["csrftoken"]}
            response = browser.post(
                "/api/trees", json={"title": "Marie", "mode": "dialogue"}, headers=sent
            )
            assert response.status_code == 201, response.text
            commands = f"/api/trees/{response.json()['id']}/commands"
            line = {"line": 'respond root "a lamp"'}
            written = browser.post(commands, json=line, headers=sent)
            assert written.json()["ok"], written.text
        _stops(web, "web")
        _stops(worker, "worker")
    for name in ("web", "worker"):
        assert "Traceback" not in (installation.folder / f"{name}.log").read_text()


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="sample: the model is not installed")
def test_the_model_starts_and_stops(installation: Installation) -> None:
    address = ("127.0.0.1", int(installation.ports["8081"]))

    def answers() -> bool:
        with socket.socket() as line:
            return line.connect_ex(address) == 0

    def is_ready() -> bool:  # it takes connections before the weights are read
        return "ready http" in (installation.folder / "model.log").read_text() and answers()

    with installation.running("model") as model:
        installation.until("model", model, is_ready)
        _stops(model, "model")


def test_a_process_that_accepts_and_does_not_answer_is_unhealthy(
    installation: Installation,
) -> None:
    with socket.create_server(("127.0.0.1", int(installation.ports["8000"]))):
        assert not installation.is_healthy("web")


def test_every_service_of_ours_is_started_by_a_test() -> None:
    ours = {name for name, service in SERVICES.items() if service.get("image") == "heddle"}
    assert ours == {"prepare", "web", "worker", "model"}
