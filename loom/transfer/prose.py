"""A path as a text or as Markdown, for people and other programs."""

from collections.abc import Iterator

from loom.access import Actor
from loom.models import Node, Tree, Workspace
from loom.queries.path import path_ids
from loom.queries.rows import NodeRow, rows_of

PAGE = 1000


def as_text(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Iterator[bytes]:
    """The texts of the path: joined by nothing in a buffer, by blank lines in a dialogue."""
    joint = "" if tree.mode == "buffer" else "\n\n"
    before = ""
    for rows in _pages(actor, tree, workspace, node):
        yield (before + joint.join(row.text for row in rows)).encode()
        before = joint


def as_markdown(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> Iterator[bytes]:
    """The path under the tree's title; in a dialogue each text with its author and id."""
    title = " ".join(tree.title.split())
    yield f"# {title}\n\n".encode() if title else b""
    if tree.mode == "buffer":
        yield from as_text(actor, tree, workspace, node)
        yield b"\n"
        return
    for rows in _pages(actor, tree, workspace, node):
        yield "".join(
            f"**{row.author_name}** · `{row.local_id}` · {row.at}\n\n{row.text}\n\n" for row in rows
        ).encode()


def _pages(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> Iterator[list[NodeRow]]:
    """The nodes of the path that say something, so many at a time."""
    ids = [key for _, key in path_ids(actor, tree, workspace, node)]
    for first in range(0, len(ids), PAGE):
        rows = [row for row in rows_of(ids[first : first + PAGE]) if row.text]
        if rows:
            yield rows
