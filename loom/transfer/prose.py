"""A path as a text or as Markdown, for people and other programs."""

from collections.abc import Iterator

from loom.access import Actor
from loom.models import Node, Tree, Workspace
from loom.queries.path import path_of
from loom.queries.rows import NodeRow


def _rows(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> list[NodeRow]:
    return [row for row in path_of(actor, tree, workspace, node) if row.text]


def as_text(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Iterator[str]:
    """The texts of the path: byte by byte in a buffer, with blank lines in a dialogue."""
    joint = "" if tree.mode == "buffer" else "\n\n"
    for place, row in enumerate(_rows(actor, tree, workspace, node)):
        yield (joint if place else "") + row.text


def as_markdown(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Iterator[str]:
    """The path under the tree's title; in a dialogue each text with its author and id."""
    yield f"# {tree.title or tree.uid}\n\n"
    if tree.mode == "buffer":
        yield from as_text(actor, tree, workspace, node)
        yield "\n"
        return
    for row in _rows(actor, tree, workspace, node):
        yield f"**{row.author_name}** · `{row.local_id}` · {row.at}\n\n{row.text}\n\n"
