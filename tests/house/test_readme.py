"""The README is true: its commands run, its addresses answer, its tables match the settings."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml

from tests.clients import get, open_client
from tests.house.processes import ROOT, Server
from tests.patience import PATIENCE_S

README = (ROOT / "README.md").read_text()
VARIABLES = (ROOT / "docs" / "variables.md").read_text()
# Settings that the program gives its own processes; nobody sets them by hand.
INTERNAL = {"HEDDLE_DEBUG", "HEDDLE_LOCAL_MODEL_URL", "HEDDLE_STARTED_IN"}
PYTHON = ".venv/bin/python "


def _lines() -> list[str]:
    """Every line of the README's shell blocks, without comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+#.*", "", line) for block in blocks for line in block.splitlines()]


@dataclass
class Started:
    """A Heddle that runs, its data folder, and what the README's commands run in."""

    url: str
    data: Path
    key: str = ""

    def run(self, line: str) -> str:
        """What a command of the README prints. Fails where its exit code is not 0."""
        command = line.replace(PYTHON, f"{shlex.quote(sys.executable)} ")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "DJANGO_"))}
        # The files that a command reads or writes are in the data folder.
        command = re.sub(r"(?<=< )(\S+)", lambda file: str(self.data / file[1]), command)
        done = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=kept | {"HEDDLE_DATA": str(self.data)},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def get(self, line: str) -> httpx.Response:
        """The response to a `curl` of the README, at this Heddle's address."""
        words = shlex.split(line.replace("$KEY", self.key))
        headers = [words[n + 1] for n, word in enumerate(words) if word == "-H"]
        url = words[-1].replace("http://127.0.0.1:8000", self.url)
        return get(url, headers=dict(header.split(": ", 1) for header in headers))


@pytest.fixture(scope="module")
def started(running: Server) -> Started:
    """The Heddle that runs, with what the commands need: the key that the README's `apikey`
    prints, a tree "Marie", a file."""
    heddle = Started(running.url, running.data)
    apikey = next(line for line in _lines() if "apikey" in line)
    heddle.key = heddle.run(apikey).splitlines()[-1]
    with open_client(headers={"Authorization": f"Bearer {heddle.key}"}) as client:
        response = client.post(
            f"{heddle.url}/api/trees", json={"title": "Marie", "mode": "dialogue"}
        )
    assert response.status_code == 201, response.text
    (heddle.data / "line.txt").write_text("→ respond\nShe put her hand on the latch.\n←\n")
    return heddle


@pytest.mark.kill
@pytest.mark.parametrize(
    "line", [line for line in _lines() if line.startswith(PYTHON + "manage.py loom")]
)
def test_each_command_runs(started: Started, line: str) -> None:
    assert started.run(line).strip()


@pytest.mark.kill
def test_the_request_is_answered(started: Started) -> None:
    answered = started.get(next(line for line in _lines() if line.startswith("curl")))
    assert answered.status_code == 200
    assert "Marie" in {tree["title"] for tree in answered.json()["results"]}


@pytest.mark.kill
def test_the_addresses_it_names_answer(started: Started) -> None:
    addresses = re.findall(r"`(/api/[a-z/]+)`", README)
    assert addresses
    for address in addresses:
        assert get(started.url + address).status_code == 200, address


@pytest.mark.kill
def test_a_backup_is_written(started: Started, tmp_path: Path) -> None:
    commands = re.findall(r"`(manage\.py \w+ FILE)`", README)
    assert commands == ["manage.py backup FILE", "manage.py restore FILE"]
    file = tmp_path / "backup"
    started.run(PYTHON + commands[0].replace("FILE", shlex.quote(str(file))))
    assert file.stat().st_size > 0


def test_every_line_of_a_shell_block_is_run_by_a_test() -> None:
    """The first two are started from a clone by test_server."""
    known = ("git clone ", "heddle/script/server", "curl ", PYTHON)
    assert [line for line in _lines() if line and not line.startswith(known)] == []
    assert (ROOT / "script" / "server").is_file()


def test_the_options_are_those_of_the_server() -> None:
    line = next(line for line in README.splitlines() if line.startswith("script/server ["))
    command = [sys.executable, "-m", "config.supervisor", "--help"]
    stdout = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"--[a-z-]+", line)) == set(re.findall(r"--[a-z-]+", stdout)) - {"--help"}


def test_the_variables_are_those_that_are_read() -> None:
    rows = re.findall(r"^\|(.*?)\|", VARIABLES, re.MULTILINE)
    written = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    read = set(re.findall(r'"((?:HEDDLE_|DATABASE_|REDIS_)[A-Z_]+)"', _environment()))
    assert written == read - INTERNAL


def test_the_compose_file_passes_every_variable_on() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    written = set(re.findall(r"`((?:HEDDLE_|DATABASE_|REDIS_)[A-Z_]+)`", VARIABLES))
    # Where its volume is, and what needs packages that the image has not.
    elsewhere = {"HEDDLE_DATA", "HEDDLE_EMBEDDER"}
    for name in ("prepare", "web", "worker"):
        missing = written - elsewhere - services[name]["environment"].keys()
        assert not missing, (name, sorted(missing))


def _environment() -> str:
    return (ROOT / "config" / "env.py").read_text()


def test_the_services_it_scales_exist() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    scaled = re.findall(r"docker compose up --scale (\w+)=\d", README)
    assert scaled and set(scaled) <= services.keys()
