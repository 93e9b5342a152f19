"""Names and docstrings stand on their own: a search for one finds one thing."""

import ast
import re
from collections import defaultdict

from tests.house.sources import files, name_of, nodes_of

DJANGOS = re.compile("/migrations/|/management/commands/")


def _public_classes() -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in files(".py"):
        name = name_of(path)
        # Django looks for a `Migration` in each migration and a `Command` in each command.
        if name.startswith(("loom/", "agents/", "config/")) and not DJANGOS.search(name):
            module = next(node for node in nodes_of(path) if isinstance(node, ast.Module))
            for node in module.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(name)
    return places


def test_each_public_class_has_a_name_of_its_own() -> None:
    places = _public_classes()
    assert {name: places[name] for name in sorted(places) if len(places[name]) > 1} == {}


def test_no_docstring_begins_with_the_same() -> None:
    """Such a docstring says nothing once the definition above it has moved."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    places = [
        f"{name_of(path)}: {getattr(node, 'name', '')}"
        for path in files(".py")
        for node in nodes_of(path)
        if isinstance(node, documented) and (ast.get_docstring(node) or "").startswith("The same")
    ]
    assert places == []
