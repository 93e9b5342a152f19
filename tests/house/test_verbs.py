"""Verbs are known by their registration alone: nothing else lists them, compares with one, or looks
for one at the beginning of a line."""

import ast
from collections.abc import Iterator
from pathlib import Path

from loom.engine import registry
from loom.language.verbs import Verb
from tests.house.sources import files, name_of, nodes_of

FEW = 3  # fewer words may be verbs by accident
# Where verbs may stand: lists of other things that have some of the same names.
OTHERS = {
    "loom/claims/rules/levels.py": "what may be done with a claim in each of its states",
    "loom/claims/queries/claims.py": "what may be done with one claim",
    "loom/documents/pages.py": "what the forms of a document's page do",
    "loom/site/display.py": "keys of the keyboard",
    "loom/notes/commands/annotations.py": "English verbs before a noun, of a registration",
    "loom/text/dictionaries.py": "words",
}


def _words_of(node: ast.AST) -> list[str]:
    """The words that a literal lists."""
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        return [text for elt in node.elts for text in _texts(elt)]
    if isinstance(node, ast.Dict):
        return [text for key in node.keys for text in _texts(key)]
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return []
    held = _texts(node.func.value) if node.func.attr == "split" else []
    return [word for text in held for word in text.split()]


def _texts(node: ast.AST | None) -> list[str]:
    """The text of a constant, in a list; nothing for anything else."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return [str(node.value)] if is_text and isinstance(node, ast.Constant) else []


def _texts_in(node: ast.AST) -> list[str]:
    return [text for child in ast.walk(node) for text in _texts(child)]


def _registered(path: Path) -> set[ast.AST]:
    """What is inside the registrations of a file."""
    nodes: set[ast.AST] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Verb", "command"):
            nodes |= set(ast.walk(node))
    return nodes


def _lists(path: Path, verbs: set[str]) -> Iterator[str]:
    inside = _registered(path)
    for node in nodes_of(path):
        words = _words_of(node) if node not in inside else []
        if len(words) >= FEW and len(verbs & set(words)) >= 0.8 * len(words):
            yield f"lists {words}"
        texts = _texts_in(node) if isinstance(node, ast.Compare | ast.Call) else []
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".verb"):
            yield from (f"compares: {ast.unparse(node)}" for _ in verbs & set(texts))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("startswith"):
            begins = [text for text in texts if text.startswith("→ ")]
            yield from (f"reads a line: {ast.unparse(node)}" for _ in begins)


def test_no_verb_is_listed_outside_its_registration() -> None:
    verbs = set(registry.verbs())
    places = [
        f"{name_of(path)} {listed}"
        for path in files(".py")
        if name_of(path).startswith(("loom/", "agents/", "config/")) and name_of(path) not in OTHERS
        for listed in _lists(path, verbs)
    ]
    assert places == [], "say it in `describe_verb`, and read it there"


def test_every_fact_is_of_a_registered_verb() -> None:
    facts = registry.language().facts
    assert all(isinstance(verb, Verb) and name == verb.name for name, verb in facts.items())
    assert set(facts) <= set(registry.verbs())
