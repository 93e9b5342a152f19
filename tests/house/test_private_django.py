"""What Django keeps private is used in `loom/platform` alone, where each use names its version."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import django

from tests.house.sources import files, name_of, nodes_of

# Documented, for all their underscore.
PUBLIC = {"_meta", "_state", "_base_manager", "_default_manager"}
OF_NAMED_TUPLES = {"_replace", "_make", "_fields", "_asdict"}
# Django REST framework documents it as the request that it wraps.
OF_REST_FRAMEWORK = {"_request"}
_NAME = r"_[a-z]\w*"
_DEFINED = re.compile(
    rf"\bdef ({_NAME})\(|\bself\.({_NAME}) *[:=]|^ *({_NAME}) *(?::[^=\n]+)?=", re.MULTILINE
)


def _defined(text: str) -> set[str]:
    """The private names that a module defines, as functions, attributes or variables."""
    return {name for names in _DEFINED.findall(text) for name in names if name}


@cache
def _of_django() -> set[str]:
    folder = Path(django.__file__).parent
    return set().union(*(_defined(path.read_text()) for path in folder.rglob("*.py")))


def _uses(nodes: Iterable[ast.AST], own: set[str]) -> Iterator[tuple[int, str]]:
    """The private names of Django that a module uses, with their lines."""
    private = _of_django() - PUBLIC - OF_NAMED_TUPLES - OF_REST_FRAMEWORK
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "django":
            yield from ((node.lineno, name.name) for name in node.names if name.name[0] == "_")
        if isinstance(node, ast.Attribute) and node.attr in private:
            is_inherited = ast.unparse(node.value).startswith("super(")
            if is_inherited or node.attr not in own:
                yield node.lineno, node.attr


def _program() -> list[Path]:
    return [
        path
        for path in files(".py")
        if path.parts[-1] != "manage.py"
        and name_of(path).startswith(("agents/", "config/", "loom/"))
    ]


def test_what_django_keeps_private_is_used_in_one_place() -> None:
    own = set().union(*(_defined(path.read_text()) for path in _program()))
    uses = [
        f"{name_of(path)}:{line} {name}"
        for path in _program()
        if not name_of(path).startswith("loom/platform/")
        for line, name in _uses(nodes_of(path), own)
    ]
    assert not uses


def test_private_names_are_seen() -> None:
    source = """
from django.db.models.query import _known
rows._raw_delete(rows.db)
super()._commit()
Node._meta.get_fields()
self._open()
"""
    names = [name for _, name in _uses(ast.walk(ast.parse(source)), {"_commit", "_open"})]
    assert sorted(names) == ["_commit", "_known", "_raw_delete"]
