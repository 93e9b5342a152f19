"""Bringing files in within tests: the task runs at once, in the test itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loom.access import Actor
from loom.transfer import importing
from loom.transfer.models import Import
from loom.trees.models import Tree

Bring = Callable[..., Import]
_ABOVE = [parent / "shared" / "samples" for parent in Path(__file__).resolve().parents[3:5]]
SAMPLES = next((folder for folder in _ABOVE if folder.is_dir()), _ABOVE[0])


def file_of(
    actor: Actor,
    content: Any,
    *,
    name: str = "file.json",
    format: str = "",
    options: dict[str, str] | None = None,
) -> Import:
    """An import of a file of these bytes (or of a value as JSON) that nobody has begun."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    row = Import(grove=actor.grove, participant=actor.participant, name=name, format=format)
    row.options = options or {}
    path = importing.folder() / row.uid
    path.write_bytes(raw)
    row.file, row.total = str(path), len(raw)
    row.save()
    return row


@pytest.fixture
def bring(actor: Actor) -> Bring:
    """`bring({"text": "a"})`: the import of a file by the owner, after it was run."""

    def import_content(content: Any, **more: Any) -> Import:
        row = file_of(actor, content, **more)
        importing.run(row.uid)
        row.refresh_from_db()
        return row

    return import_content


@pytest.fixture
def sample() -> Callable[[str], bytes]:
    """The bytes of a sample file of another program; skips loudly where there is none."""

    def read(name: str) -> bytes:
        path = SAMPLES / name
        if not path.is_file():
            pytest.skip(f"sample files are not here: {path.relative_to(SAMPLES.parents[1])}")
        return path.read_bytes()

    return read


def tree_of(row: Import) -> Tree:
    """The tree an import made."""
    assert (row.status, row.error) == ("done", None)
    assert row.tree is not None and row.tree.erasing_at is None
    return row.tree


def texts(tree: Tree) -> list[tuple[str, str | None]]:
    """(text, the text above) of every node in order; the root is ("", None)."""
    rows = tree.nodes.select_related("parent_slot").order_by("id")
    return [(row.text, row.parent_slot.text if row.parent_slot else None) for row in rows]


def nothing_left(row: Import) -> None:
    """Asserts that an import failed with a sentence, and left neither tree nor file."""
    assert row.status == "failed" and row.tree is None
    assert row.error and row.error["message"].endswith(".") and row.error["hint"]
    assert not Tree.objects.filter(title=Path(row.name).stem).exists()
    assert not Path(row.file).exists()
