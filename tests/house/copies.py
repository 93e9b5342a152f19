"""Copies of the program with another set of features, in which a script is run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.sources import ROOT

PARTS = ("agents", "config", "loom", "templates")
SETTINGS = Path("config") / "settings.py"


def copied(home: Path, *left_out: str) -> None:
    """Copies the program to a folder, without files of these names."""
    for part in PARTS:
        ignored = shutil.ignore_patterns("__pycache__", *left_out)
        shutil.copytree(ROOT / part, home / part, ignore=ignored)
    shutil.copy(ROOT / "manage.py", home)
    (home / "static" / "dist").mkdir(parents=True)


def replace_line(home: Path, old: str, new: str) -> None:
    """Replaces the one line of the settings that is `old`."""
    settings = home / SETTINGS
    text = settings.read_text()
    assert text.count(old) == 1
    settings.write_text(text.replace(old, new))


def output_of(home: Path, script: str, *words: str) -> str:
    """What a script of tests/house prints when it is run in the copy, with data of its own."""
    data = home / "data"
    data.mkdir()
    known = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "house" / script), *words],
        cwd=home,
        env={
            **known,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "HEDDLE_DATA": str(data),
            "PYTHONPATH": str(home),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    return done.stdout
