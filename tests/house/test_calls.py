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


# What somebody reads: its words change without notice, and in other languages.
SAID = {"message", "hint", "because", "reason", "error", "why", "error_text"}
_WORDS = re.compile(r"[A-Za-z,']+( [A-Za-z,']+)+")


def _is_said(value: ast.expr) -> bool:
    """`x.message`, `str(error)`, `x.hint.lower()`."""
    if isinstance(value, ast.Call):
        inner = [value.func.value] if isinstance(value.func, ast.Attribute) else value.args
        return any(_is_said(part) for part in inner)
    return _last_name(value) in SAID


def _is_words(value: ast.expr) -> bool:
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return is_text and bool(_WORDS.fullmatch(ast.literal_eval(value).strip()))


def test_the_flow_follows_no_sentence() -> None:
    places = []
    for path in files(".py"):
        if not name_of(path).startswith(("loom/", "agents/", "config/")):
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.Compare):
                of, words = [node.left, *node.comparators], [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and _last_name(node.func) in ("startswith", "endswith"):
                of = [node.func.value] if isinstance(node.func, ast.Attribute) else []
                words = node.args
            else:
                continue
            if any(map(_is_said, of)) and any(map(_is_words, words)):
                places.append(f"{name_of(path)}: {ast.unparse(node)}")
    assert places == [], "compare a code, a status or an SQLSTATE"
