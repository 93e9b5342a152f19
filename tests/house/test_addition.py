"""A feature with a verb, a table, events, a button and an undo is one folder and one line."""

import json
import shutil
from pathlib import Path

from tests.house.copies import copied, output_of, replace_line
from tests.house.sources import ROOT

STARS = ROOT / "tests" / "house" / "throwaway" / "stars"


def test_a_feature_is_added_as_a_folder_and_one_line(tmp_path: Path) -> None:
    home = tmp_path / "with"
    home.mkdir()
    copied(home)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(STARS, home / "loom" / "stars", ignore=ignored)
    replace_line(home, '    "loom.documents",\n', '    "loom.documents",\n    "loom.stars",\n')
    seen = json.loads(output_of(home, "with_stars.py").splitlines()[-1])
    assert seen["help"] == ["star [REF]"]
    assert seen["line"].startswith("✓ starred [")
    assert seen["kinds"] == ["star.added", "star.removed", "star.added"]
    assert seen["pressed"] == 200
    # None; one by the line, none after undo, one after redo, two by the button, none once erased.
    assert seen["many"] == [0, 1, 0, 1, 2, 0]
    assert "star" in seen["taught"]
