"""The parts of a request that its asker leaves out this once (docs/model.md §5.1): how they are
written and read. Pure."""

from collections.abc import Collection

from loom.errors import CommandError

PARTS = ("persona", "tree", "instructions", "memory", "lore", "note")
_ONE_LORE = "lore:"
MOST = 50


def parts_in(text: str) -> tuple[str, ...]:
    """The parts named in a text such as `memory; lore:The mill`. Raises CommandError for a name
    that is none."""
    named = tuple(dict.fromkeys(name.strip() for name in text.split(";") if name.strip()))
    for name in named:
        if name not in PARTS and not name.startswith(_ONE_LORE):
            raise CommandError(
                "INVALID_SYNTAX",
                f'"{name[:40]}" is no part that can be left out.',
                hint=f"these are: {', '.join(PARTS)}, and lore:TITLE for one text",
            )
    if len(named) > MOST:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {MOST} parts are left out.",
            hint="leave out lore as a whole",
        )
    return named


def is_left_out(parts: Collection[str], name: str, title: str = "") -> bool:
    """Whether the part is left out; of lore also the one text with this title."""
    entry = f"{_ONE_LORE}{title.replace(';', ',').strip()}"
    return name in parts or (name == "lore" and entry in parts)
