"""The files of the project as the house tests see them: tracked, or new and not ignored."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """The project's files with one of the suffixes (all without), in order of name."""
    paths = (ROOT / name for name in sorted(set(_listed() or _found())))
    return tuple(p for p in paths if p.is_file() and (not suffixes or p.suffix in suffixes))


def _listed() -> list[str]:
    """What git lists; nothing if there is none, or the copy is without its history."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        return []
    return [name for name in done.stdout.decode().split("\0") if name]


def _found() -> list[str]:
    """The files here, without generated ones."""
    ignored = (ROOT / ".gitignore").read_text().split()
    skipped = {name.strip("/") for name in ignored if "*" not in name} | {".git", "dist"}
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [str(path) for path in paths if not skipped & set(path.parts)]


def name_of(path: Path) -> str:
    """The path as it is written in exceptions and messages."""
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    """The file's text, whatever its bytes; read once."""
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a Python file's syntax tree, the module first; parsed once for all tests."""
    return tuple(ast.walk(ast.parse(text_of(path))))
