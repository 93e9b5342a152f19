"""Documents can be left out: without their folder, their templates and their line in the settings,
everything else is imported, makes its tables, and shows a tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.sources import ROOT

PARTS = ("agents", "config", "loom", "templates")
LINE = '    "loom.documents",\n'


def copied(to: Path) -> None:
    """Copies the program without documents."""
    for part in PARTS:
        left_out = shutil.ignore_patterns("__pycache__", "document*.html")
        shutil.copytree(ROOT / part, to / part, ignore=left_out)
    shutil.copy(ROOT / "manage.py", to)
    (to / "static" / "dist").mkdir(parents=True)
    shutil.rmtree(to / "loom" / "documents")
    settings = to / "config" / "settings.py"
    text = settings.read_text()
    assert text.count(LINE) == 1
    settings.write_text(text.replace(LINE, ""))


def test_documents_are_removed_with_their_folder_and_one_line(tmp_path: Path) -> None:
    home = tmp_path / "without"
    home.mkdir()
    copied(home)
    data = tmp_path / "data"
    data.mkdir()
    known = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "house" / "without_documents.py")],
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
    assert done.returncode == 0, done.stderr[-3000:]
    seen = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines() if line.startswith("/"))
    assert seen.pop("/groves/G/documents") == "404"
    assert seen.pop("/api/documents") == "404"
    assert len(seen) == 10
    assert set(seen.values()) == {"200"}
    lines = [line for line in done.stdout.splitlines() if " → " in line]
    refused = [line for line in lines if "✗" in line]
    assert len(lines) == 13
    assert [line.partition(" → ")[0] for line in refused] == ['view doc:"notes"']
