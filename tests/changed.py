"""Which tests concern what was changed: `python -m tests.changed [REVISION]` prints them, for
`script/test --changed`. What was changed is what differs from the revision (where the branch left
`main`; on `main` from HEAD), committed or not."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("loom", "agents", "config", "tests")
NEAR = 2  # imports between a test and a module that it concerns: more are nearly all
# Folders of tests about everything of a kind, whatever they import.
OF_FOLDER = {
    "templates/": ("tests/web", "tests/house/test_catalogues.py"),
    "locale/": ("tests/house/test_catalogues.py",),
    "docs/": ("tests/house/test_citations.py", "tests/house/test_reference.py"),
    "script/": ("tests/house",),
    "config/": ("tests/house",),
}
ALWAYS = ("tests/house/test_contracts.py", "tests/house/test_words.py", "tests/house/test_verbs.py")


def _git(*asked: str) -> list[str]:
    done = subprocess.run(["git", *asked], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


def changed_since(revision: str = "") -> list[str]:
    """The files that differ from the revision, and those that git does not know yet."""
    base = [revision] if revision else _git("merge-base", "HEAD", "main")
    return sorted(
        {
            *_git("diff", "--name-only", *(base or ["HEAD"])),
            *_git("ls-files", "--others", "--exclude-standard"),
        }
    )


def module_of(name: str) -> str:
    """The module in a file, as `loom.links.models`."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """The project's modules that each of its modules imports, by name."""
    by_module: dict[str, frozenset[str]] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if "/migrations/" not in name:
                by_module[module_of(name)] = frozenset(_imported(ast.parse(path.read_text())))
    return by_module


def _imported(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def concerned_by(changed: Iterable[str]) -> list[str]:
    """The files and folders of tests for these files: those that were changed themselves, those
    that import a changed module within NEAR imports, and those named after its feature."""
    names = list(changed)
    wanted = {path for path in names if path.startswith("tests/") and "/test_" in path}
    near = {module_of(path) for path in names if path.endswith(".py")}
    for _ in range(NEAR):
        near |= {module for module, used in imports().items() if used & near}
    every = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    wanted |= {path for path in every if module_of(path) in near}
    for name in names:
        wanted |= {
            path for start, more in OF_FOLDER.items() if name.startswith(start) for path in more
        }
        wanted |= {path for path in every if _is_about(path, name)}
    wanted = {path for path in wanted if (ROOT / path).exists() and "/browser/" not in path}
    return sorted({*wanted, *ALWAYS} if names else set())


def _is_about(test: str, name: str) -> bool:
    """Whether a test has the name of the changed module in its own: test_links.py and links.py."""
    stem = Path(name).stem.rstrip("s")
    if not name.endswith(".py") or len(stem) < 4 or stem in ("model", "command", "querie", "page"):
        stem = Path(name).parent.name.rstrip("s") if name.startswith("loom/") else ""
    return len(stem) >= 4 and stem in Path(test).stem.split("_", 1)[-1]


def main() -> None:
    """Prints the tests, one a line."""
    print("\n".join(concerned_by(changed_since(*sys.argv[1:2]))))


if __name__ == "__main__":
    main()
