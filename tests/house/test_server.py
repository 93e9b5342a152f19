"""script/server as a whole: it starts, keeps its processes, says what is wrong, and ends."""

import os
import signal
import socket
from functools import partial
from pathlib import Path

import pytest

from tests.clients import get, open_client
from tests.databases import copy_started_data
from tests.house.processes import ROOT, Server, server, wait_for, wait_until_well

pytestmark = pytest.mark.kill


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of a Heddle that was started before."""
    copy_started_data(tmp_path / "data")
    return tmp_path / "data"


def _is_replaced(running: Server, name: str, before: int) -> bool:
    family = running.family()
    return before not in family and any(name in line for line in family.values())


def test_it_starts_keeps_its_processes_and_stops_without_a_trace(data: Path) -> None:
    with server(data, "--no-model") as running:
        url = running.ready()
        wait_until_well(running)
        assert running.health()["processes"] == {
            "web": "ok",
            "database": "ok",
            "broker": "ok",
            "worker": "ok",
            "model": "off",
        }
        assert running.health()["disk"] == "ok"
        late = get(url, headers={"X-Long": "x" * 70_000})
        assert late.status_code == 400
        for name in ("uvicorn", "celery", "valkey-server"):
            before = running.pid_of(name)
            os.kill(before, signal.SIGKILL)
            wait_for(partial(_is_replaced, running, name, before))
            wait_until_well(running)
        assert running.stop() == 0
        assert running.family() == {}
        text = "".join(file.read_text() for file in (data / "logs").glob("*.log"))
        assert "Traceback" not in text


def test_the_command_of_the_readme_starts_it_and_says_how_to_come_in(tmp_path: Path) -> None:
    command = [str(ROOT / "script" / "server")]
    with server(tmp_path / "data", "--no-model", command=command) as running:
        url = running.ready()
        link = next(line for line in running.lines if line.startswith(f"{url}/signin/"))
        with open_client(follow_redirects=True) as browser:
            assert browser.get(link).status_code == 200
        text = "".join(file.read_text() for file in (tmp_path / "data" / "logs").glob("*"))
        assert link.rsplit("/", 1)[1] not in text
        # Killed, it takes its children along.
        assert len(running.family()) >= 3
        running.process.kill()
        wait_for(lambda: running.family() == {})


def test_a_taken_port_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        started = Server(tmp_path, "--port", str(port), "--no-browser", "--no-model")
        output = started.rest()
    assert f"Port {port} of 127.0.0.1 is taken." in output
    assert "Traceback" not in output
    assert started.process.returncode == 1


def test_two_cannot_use_one_data_folder(running: Server) -> None:
    with server(running.data, "--no-model") as second:
        assert f"Another Heddle (process {running.process.pid}) is using" in second.rest()
    assert running.health().get("ok")


def test_a_full_disk_stops_the_start_with_a_sentence(data: Path) -> None:
    (data / "logs").mkdir(exist_ok=True)
    (data / "logs" / "prepare.log").symlink_to("/dev/full")
    # So that there is something to write into the log.
    with server(data, "--no-model", PYTHONPROFILEIMPORTTIME="1") as running:
        output = running.rest()
    assert "The data folder can't be written: No space left on device." in output
    assert "Traceback" not in output
    assert running.process.returncode == 1


def test_a_wrong_setting_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    with server(tmp_path, "--no-model", HEDDLE_SECRET="short") as running:
        output = running.rest()
    assert "HEDDLE_SECRET is shorter than 32 characters." in output
    assert "Traceback" not in output


def test_a_database_that_is_away_is_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no/such/folder/heddle.sqlite3"
    with server(tmp_path, "--no-model", DATABASE_URL=url) as running:
        output = running.rest()
    assert "heddle.sqlite3 can't be used: unable to open database file." in output
    assert "Traceback" not in output
    assert running.family() == {}


@pytest.mark.parametrize("script", ["bootstrap", "server", "test", "lint", "lock"])
def test_each_habit_has_its_script(script: str) -> None:
    assert os.access(ROOT / "script" / script, os.X_OK)
