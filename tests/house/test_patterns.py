"""Patterns mean the same on every Python 3.11: before 3.11.5 a possessive group with alternatives
(`(?:a++|b)*+`) may fail where it should match. Behind single characters `*+` is safe."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\}{1,2})\+")


def _constants(source: str) -> list[str]:
    """The string constants within calls of `re.compile`, parts of f-strings included."""
    calls = [
        call
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "re.compile"
    ]
    return [
        str(part.value)
        for call in calls
        for part in ast.walk(call.args[0])
        if isinstance(part, ast.Constant) and isinstance(part.value, str | bytes)
    ]


def test_no_pattern_has_a_possessive_group() -> None:
    patterns = [
        (path.relative_to(ROOT), text)
        for folder in ("loom", "agents", "config", "script")
        for path in (ROOT / folder).rglob("*.py")
        for text in _constants(path.read_text())
        if _POSSESSIVE_GROUP.search(text)
    ]
    assert not patterns


def test_a_possessive_group_is_seen() -> None:
    assert _POSSESSIVE_GROUP.search(_constants("import re\nre.compile(r'(?:a++|b)*+')")[0])
    assert not _POSSESSIVE_GROUP.search(_constants("import re\nre.compile(r'[ab]*+\\)++')")[0])
