"""Pages, API and queries write no rows, but for what is named here: commands do."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.sources import files, name_of

# What only reads: pages, API, sockets, questions, and everything pure.
READERS = {"pages", "api", "queries", "consumers", "rules", "models", "site", "live", "language"}
READERS |= {"text", "permissions", "errors", "access", "room", "feed"}
# Writes there that change nothing that anybody else sees.
ELSEWHERE = {
    "agents/gateway/keys.py": "keys of a person's programs belong to no grove",
    "agents/gateway/recording.py": "the nodes of a session are actions; its rows go with them",
    "agents/gateway/hiding.py": "what is no longer sent, an action",
    "agents/gateway/hosted.py": "where the answer of an agent is in its session",
    "agents/gateway/unrecorded.py": "what was sent in sessions that were never recorded",
    "agents/gateway/workspace.py": "what is sent with a message, beside its place",
    "agents/outside_tools/commands.py": "what servers say their tools are, and why they do not",
    "agents/outside_tools/calls.py": "a worker calls a tool; the answer is stored in its step",
    "agents/timestamps/stamping.py": "what an authority says of the hash of a text",
    "agents/webhooks/commands.py": "where events of a grove are sent, which changes nothing in it",
    "agents/webhooks/delivery.py": "how far they were sent",
    "agents/oauth/commands.py": "the access of a person's programs, which belongs to no grove",
    "agents/tasks.py": "old receipts and ended sessions are deleted, and a write of nothing",
    "loom/transfer/api.py": "the row of an import, which a worker then takes",
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
    imports = (statement for statement in ast.walk(tree) if isinstance(statement, ast.ImportFrom))
    modules = {alias.asname or alias.name for statement in imports for alias in statement.names}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in OWN:
            yield call.lineno
        elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            method, of = call.func.attr, call.func.value
            if isinstance(of, ast.Name) and of.id in modules:
                continue  # a function of a module, such as drafting.save
            names = {part.attr for part in ast.walk(call.func) if isinstance(part, ast.Attribute)}
            of_one = method in ("delete", "adelete") and not (call.args or call.keywords)
            if method in ALWAYS or of_one or (method in OF_ROWS and names & QUERIES):
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
        ('cursor.execute("UPDATE trees_tree SET title = %s", [title])', 1),
        ("insert_row(Mark(tree=tree))", 1),
        ("cache.delete(key)", 0),
        ("shown.update({1: 2})", 0),
        ("digest.update(piece)", 0),
        ("Node.objects.filter(pk=1).first()", 0),
    ],
)
def test_what_counts_as_a_write(source: str, count: int) -> None:
    assert len(list(_writes(source))) == count


def _only_reads(name: str) -> bool:
    parts = set(name.removesuffix(".py").split("/"))
    return not name.startswith("loom/") or bool(parts & READERS)


def test_pages_api_and_queries_write_no_rows() -> None:
    writers = {name for name, text in _sources() if _only_reads(name) and any(_writes(text))}
    assert writers == set(ELSEWHERE)


def test_interfaces_make_no_nodes_and_trees_themselves() -> None:
    """Nor do they make workspaces: those that only read get one that is not stored."""
    makers = set()
    for name, text in _sources():
        if {"pages", "api", "live", "management"} & set(name.removesuffix(".py").split("/")):
            makers |= {
                attribute.attr
                for attribute in ast.walk(ast.parse(text))
                if isinstance(attribute, ast.Attribute)
                and isinstance(attribute.value, ast.Name)
                and attribute.value.id == "node_writer"
            }
            assert "from loom.trees.commands.node_writer import" not in text, name
    assert makers == set()
