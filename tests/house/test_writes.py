"""Only commands change the world: nothing else writes rows, but for what is named here."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.sources import ROOT, files, name_of

# Rooms that write rows. Everything else reads them, and runs a command to change them.
ROOMS = ("loom/commands/", "loom/events/", "loom/transfer/", "loom/migrations/")
# Writes elsewhere that change nothing that anybody else sees.
ELSEWHERE = {
    "agents/tasks.py": "old receipts and ended sessions are deleted, and a write of nothing",
    "loom/api/transfer.py": "the row of an import, which a worker then takes",
    "loom/models/base.py": "the statements of insert_row, insert_rows and update_row",
    "loom/management/commands/firststart.py": "who set the installation up",
}
# Modules of commands that write and register nothing: what commands and workers are made of.
PARTS = {
    "document_log": "how documents are stored: what several type, and what it settles into",
    "drafts": "what a person types, many times a minute; no step, no world",
    "erasing": "clears what other trees keep of an erased one",
    "execute": "runs a command and writes its step",
    "generation_lifecycle": "a worker's generation is queued, begins, grows and ends",
    "inverse": "used by undo",
    "lenses": "used by edit and suggest",
    "money": "what a generation reserves and spends",
    "node_writer": "how nodes and views are stored",
    "people": "accounts, which belong to no grove",
    "receipts": "keeps the answer to a line that came with a key",
    "registry": "runs an action and writes its step",
    "windows": "how windows are opened, merged and moved",
}
ALWAYS = {
    "asave",
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "save",
    "update_or_create",
    "_raw_delete",
}
OF_ROWS = {"acreate", "adelete", "aupdate", "create", "delete", "update"}
QUERIES = {"all", "exclude", "filter", "objects", "select_for_update"}
OWN = {"insert_row", "insert_rows", "update_row"}
SQL = re.compile(r"\s*(UPDATE|INSERT (OR \w+ )?INTO|DELETE FROM)\s")


def _writes(source: str) -> Iterator[int]:
    """The lines on which rows are written."""
    tree = ast.parse(source)
    imports = (one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom))
    modules = {alias.asname or alias.name for one in imports for alias in one.names}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in OWN:
            yield call.lineno
        elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            said, of = call.func.attr, call.func.value
            if isinstance(of, ast.Name) and of.id in modules:
                continue  # a function of a module, such as drafting.save
            names = {one.attr for one in ast.walk(call.func) if isinstance(one, ast.Attribute)}
            of_one = said in ("delete", "adelete") and not (call.args or call.keywords)
            if said in ALWAYS or of_one or (said in OF_ROWS and names & QUERIES):
                yield call.lineno
        elif isinstance(call, ast.Constant) and SQL.match(str(call.value)):
            yield call.lineno


def _sources() -> Iterator[tuple[str, str]]:
    for path in files(".py"):
        name = name_of(path)
        if name.split("/")[0] in ("agents", "config", "loom"):
            yield name, path.read_text()


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("row.save(update_fields=['a'])", 1),
        ("Node.objects.filter(pk=1).update(a=2)", 1),
        ("Node.objects.create()", 1),
        ("rows.exclude(pk=1).delete()", 1),
        ("found, _ = Tree.objects.get_or_create(uid='a')", 1),
        ("tree.delete()", 1),
        ('cursor.execute("UPDATE loom_tree SET title = %s", [title])', 1),
        ("insert_row(Mark(tree=tree))", 1),
        ("cache.delete(key)", 0),
        ("shown.update({1: 2})", 0),
        ("digest.update(piece)", 0),
        ("Node.objects.filter(pk=1).first()", 0),
    ],
)
def test_what_counts_as_a_write(source: str, count: int) -> None:
    assert len(list(_writes(source))) == count


def test_only_commands_write_rows() -> None:
    found = {name for name, text in _sources() if not name.startswith(ROOMS) and any(_writes(text))}
    assert found == set(ELSEWHERE)


def test_what_writes_in_commands_registers_a_command_or_is_part_of_one() -> None:
    folder = ROOT / "loom" / "commands"
    found = set()
    for path in folder.glob("*.py"):
        text = path.read_text()
        registers = "\n@command(" in text or "\n@action(" in text
        if any(_writes(text)) and not registers:
            found.add(path.stem)
    assert found <= set(PARTS), "register a command, or say what this is part of"


def test_interfaces_make_no_nodes_and_trees_themselves() -> None:
    """Nor do they make workspaces: those that only read get one that is not stored."""
    found = set()
    for name, text in _sources():
        if name.startswith(("loom/web/", "loom/api/", "loom/live/", "loom/management/")):
            found |= {
                one.attr
                for one in ast.walk(ast.parse(text))
                if isinstance(one, ast.Attribute)
                and isinstance(one.value, ast.Name)
                and one.value.id == "node_writer"
            }
            assert "from loom.commands.node_writer import" not in text, name
    assert found == set()
