"""Tools that a provider runs itself, such as its own web search: which of them an owner may list in
the setting `provider_tools` of a model. Pure.

The list is sent to the provider as it is. Tools of Heddle are lines, and never in it; nor is a tool
that its caller would have to run, because nothing here would answer its calls.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from loom.errors import CommandError

MOST_TOOLS: Final = 16
MOST_BYTES: Final = 8 * 1024  # of the list as compact JSON
MOST_LEVELS: Final = 16
EXAMPLE: Final = '[{"type": "web_search_20250305", "name": "web_search"}]'
TYPE: Final = r"[A-Za-z][A-Za-z0-9_.:-]{0,79}"
_TYPE = re.compile(TYPE)
# Types of tools that the caller runs; providers add a date or a suffix (`bash_20250124`).
OF_THE_CALLER: Final = (
    *("function", "custom", "bash", "text_editor", "computer", "memory"),
    *("shell", "local_shell", "apply_patch"),
)
# Fields that describe to a model how it calls a tool of the caller.
_DESCRIBES_CALLS: Final = ("input_schema", "parameters", "function", "custom")


def demand_provider_tools(value: Any) -> None:
    """Refuses a list that cannot be sent as tools that the provider runs: INVALID_SYNTAX, or
    LIMIT_EXCEEDED if it is too long. An empty list removes the setting."""
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise _invalid("provider_tools must be a list of objects.", f"such as {EXAMPLE}")
    if len(value) > MOST_TOOLS:
        raise _too_much(f"provider_tools has at most {MOST_TOOLS} entries.")
    _demand_storable(value)
    if len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) > MOST_BYTES:
        raise _too_much(f"provider_tools has at most {MOST_BYTES:,} bytes.")
    for tool in value:
        _demand_run_by_provider(tool)


def _demand_run_by_provider(tool: dict[str, Any]) -> None:
    kind = tool.get("type")
    if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
        raise _invalid("provider_tools: each tool needs a type, one word.", f"such as {EXAMPLE}")
    word = kind.lower()
    is_of_caller = any(word == name or word.startswith(f"{name}_") for name in OF_THE_CALLER)
    field = next((name for name in _DESCRIBES_CALLS if name in tool), "")
    if is_of_caller or field:
        what = f"{kind[:40]!r}" if is_of_caller else f"with the field {field!r}"
        raise _invalid(
            f"provider_tools: a tool {what} is run by its caller, and Heddle runs none.",
            "list only tools that the provider runs itself, such as its web search; for others "
            "an owner adds an MCP server under Outside tools",
        )


def _demand_storable(value: Any) -> None:
    for level, part in _parts_of(value):
        if level > MOST_LEVELS:
            raise _invalid(f"provider_tools has at most {MOST_LEVELS} levels.", "flatten it")
        if isinstance(part, float) and not math.isfinite(part):
            raise _invalid("provider_tools has a number that is none in JSON.", "write digits")
        if isinstance(part, str) and any(
            sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in part
        ):
            raise _invalid("provider_tools has a character that cannot be stored.", "remove it")


def _parts_of(value: Any) -> Iterator[tuple[int, Any]]:
    """(level, part) of all parts, keys included, level by level down to one that is too deep."""
    parts, level = [value], 0
    while parts and level <= MOST_LEVELS + 1:
        yield from ((level, part) for part in parts)
        below: list[Any] = []
        for part in parts:
            if isinstance(part, dict):
                below += [*part, *part.values()]
            elif isinstance(part, list):
                below += part
        parts, level = below, level + 1


def _invalid(message: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", message, hint=hint)


def _too_much(message: str) -> CommandError:
    return CommandError("LIMIT_EXCEEDED", message, hint="list fewer tools", is_size=True)
