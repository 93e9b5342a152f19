"""A path or a whole tree as text or Markdown."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loom.access import Actor
from loom.models import ORDER, Node, Tree, Workspace
from loom.queries.lookup import path_ids, selected_versions
from loom.queries.node_rows import NodeRow, rows_of
from loom.rules.node_text import IMAGE_SIGN, described

PAGE = 1000


def as_text(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Iterator[bytes]:
    """The texts of the path: joined without separator in a buffer, by blank lines in a dialogue."""
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
    """The nodes of the path with a text, in chunks."""
    ids = [key for _, key in path_ids(actor, tree, workspace, node)]
    for first in range(0, len(ids), PAGE):
        rows = [_told(row) for row in rows_of(ids[first : first + PAGE]) if row.text]
        if rows:
            yield rows


def _told(row: NodeRow) -> NodeRow:
    """The row with its images described: their addresses mean nothing elsewhere."""
    return row._replace(text=described(row.text)) if IMAGE_SIGN in row.text else row


# A whole tree as text or Markdown: every visible branch, one after the other.


NODES_AT_ONCE = 500
NEW = "\n\n"


@dataclass(frozen=True)
class _Step:
    """One slot on the way through the tree: the `place`-th of `of` below `above`."""

    slot: int
    above: int
    place: int
    of: int


def tree_as_text(actor: Actor, tree: Tree, workspace: Workspace | None) -> Iterator[bytes]:
    """The texts with nothing around them but a line where a branch starts."""
    joint = "" if tree.mode == "buffer" else NEW

    between, begun = "", False

    def drawn(row: NodeRow, head: str) -> str:
        nonlocal between, begun
        before = f"{NEW if begun else between}--- {head} ---{NEW}" if head else between
        between, begun = joint, True
        return before + row.text

    return _pieces(tree, workspace, drawn)


def tree_as_markdown(actor: Actor, tree: Tree, workspace: Workspace | None) -> Iterator[bytes]:
    """The same under the tree's title, in a dialogue each text with its author and id."""
    title = " ".join(tree.title.split())
    if title:
        yield f"# {title}\n\n".encode()

    def drawn(row: NodeRow, head: str) -> str:
        mark = f"\n\n## {head}\n\n" if head and tree.mode == "buffer" else ""
        if tree.mode == "buffer":
            return mark + row.text
        mark = f"## {head}\n\n" if head else ""
        return f"{mark}**{row.author_name}** · `{row.local_id}` · {row.at}\n\n{row.text}\n\n"

    yield from _pieces(tree, workspace, drawn)


def _pieces(
    tree: Tree, workspace: Workspace | None, drawn: Callable[[NodeRow, str], str]
) -> Iterator[bytes]:
    """What `drawn` makes of each text and of the line where its branch starts."""
    steps = list(_way(tree))
    names: dict[int, str] = {}  # slot → the local id of what stands in a place that forks
    forks = {step.above for step in steps if step.of > 1}
    for first in range(0, len(steps), NODES_AT_ONCE):
        page = steps[first : first + NODES_AT_ONCE]
        standing = selected_versions([step.slot for step in page], workspace)
        read = rows_of([one for one, _ in standing.values()])
        rows = {row.slot_id: _told(row) for row in read}
        names.update({slot: rows[slot].local_id for slot in rows.keys() & forks})
        said = ""
        for step in page:
            row = rows[step.slot]
            if row.text or step.of > 1:
                said += drawn(row, _head(step, names))
        yield said.encode()


def _head(step: _Step, names: dict[int, str]) -> str:
    if step.of < 2:
        return ""
    return f"{step.place} of {step.of} below [{names[step.above]}]"


def _way(tree: Tree) -> Iterator[_Step]:
    """The visible slots, each before what is below it, siblings in order."""
    rows = Node.objects.filter(tree=tree, kind="text", pruned=False, sandbox=False)
    below: dict[int | None, list[int]] = {}
    rows = rows.order_by(ORDER, "id")
    for key, slot, parent in rows.values_list("id", "slot_id", "parent_slot_id"):
        if key == slot:
            below.setdefault(parent, []).append(slot)
    ahead = [_Step(slot, 0, 1, 1) for slot in below.get(None, [])]
    while ahead:
        step = ahead.pop()
        yield step
        slots = below.get(step.slot, [])
        found = [_Step(one, step.slot, at, len(slots)) for at, one in enumerate(slots, 1)]
        ahead.extend(reversed(found))
