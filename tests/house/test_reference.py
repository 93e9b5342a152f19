"""The written reference of commands is the registry's."""

from pathlib import Path

from loom.engine.command_reference import reference

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_not_stale() -> None:
    assert (ROOT / "docs" / "commands.md").read_text() == reference(), (
        "run: manage.py reference > docs/commands.md"
    )
