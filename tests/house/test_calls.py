"""Code calls commands by their names; a line is only what somebody has typed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from loom.engine import registry
from tests.house.sources import files, name_of, nodes_of, text_of

RUNS = ("execute_line", "Request")
# A caller's own words after the verb of a tool, for models that write lines.
TYPED = {"loom/mcp/tools.py"}
_SAYS = re.compile(r"(?:\.say|\.run|\bsay|\brun)\(\s*[\[(]?\s*[`\"']([a-z]+)\b")
_JOINED = re.compile(r"`(?:→ )?([a-z]+) [^`]*\$\{")


def _is_joined(value: ast.expr | None) -> bool:
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    )


def _last_name(function: ast.expr) -> str:
    """`d` of `a(b).c.d`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _joined(path: Path) -> Iterator[str]:
    """Lines that a Python file makes of pieces to run them, at once or by way of a variable."""
    for scope in nodes_of(path):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            continue
        within = list(ast.walk(scope))
        joined = {
            target.id
            for node in within
            if isinstance(node, ast.Assign) and _is_joined(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in within:
            if isinstance(node, ast.Call) and _last_name(node.func) in RUNS:
                lines = [word.value for word in node.keywords if word.arg == "line"]
                for value in (*node.args, *lines):
                    is_named = isinstance(value, ast.Name) and value.id in joined
                    if _is_joined(value) or (is_named and not isinstance(scope, ast.Module)):
                        yield ast.unparse(node)


def test_no_line_is_made_of_pieces_in_python() -> None:
    places = [
        f"{name_of(path)}: {line}"
        for path in files(".py")
        if name_of(path).startswith(("loom/", "agents/", "config/"))
        and name_of(path) not in TYPED
        and not name_of(path).startswith(("loom/management/", "agents/providers/"))
        for line in _joined(path)
    ]
    assert places == [], "call it by its name: loom.engine.by_name.run"


def test_no_line_is_made_of_pieces_in_the_browser() -> None:
    verbs = {*registry.verbs(), *registry.aliases()}
    places = [
        f"{name_of(path)}: {match[0]}"
        for path in files(".js")
        if name_of(path).startswith("static/src/js/") and not path.name.endswith(".test.js")
        for line in text_of(path).splitlines()
        if not line.lstrip().startswith(("//", "*", "/*"))
        for match in (*_SAYS.finditer(line), *_JOINED.finditer(line))
        if match[1] in verbs and "dataset.key" not in line and " key" not in line
    ]
    assert places == [], "call it by its name: live/calls.js"
