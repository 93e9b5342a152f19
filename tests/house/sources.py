"""The files of the project as the house tests see them: tracked, or new and not ignored."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """The project's files with one of the suffixes (all without), in order of name."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False)
    if done.returncode == 0:
        names = [name for name in done.stdout.decode().split("\0") if name]
    else:  # a copy without its history
        skipped = {".venv", "node_modules", "var", "dist", "__pycache__", ".git"}
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = [str(path) for path in found if not skipped & set(path.parts)]
    paths = (ROOT / name for name in sorted(set(names)))
    return tuple(p for p in paths if p.is_file() and (not suffixes or p.suffix in suffixes))


def name_of(path: Path) -> str:
    """The path as it is written in exceptions and messages."""
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    """The file's text, whatever its bytes."""
    return path.read_text(encoding="utf-8", errors="replace")
