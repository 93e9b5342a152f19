"""Documents can be left out: without their folder, their templates and their line in the settings,
everything else is imported, makes its tables, and shows a tree."""

import shutil
from pathlib import Path

from tests.house.copies import copied, output_of, replace_line


def test_documents_are_removed_with_their_folder_and_one_line(tmp_path: Path) -> None:
    home = tmp_path / "without"
    home.mkdir()
    copied(home, "document*.html")
    shutil.rmtree(home / "loom" / "documents")
    replace_line(home, '    "loom.documents",\n', "")
    printed = output_of(home, "without_documents.py").splitlines()
    seen = dict(line.rsplit(" ", 1) for line in printed if line.startswith("/"))
    assert seen.pop("/groves/G/documents") == "404"
    assert seen.pop("/api/documents") == "404"
    assert len(seen) == 10
    assert set(seen.values()) == {"200"}
    lines = [line for line in printed if " → " in line]
    refused = [line for line in lines if "✗" in line]
    assert len(lines) == 13
    assert [line.partition(" → ")[0] for line in refused] == ['view doc:"notes"']
