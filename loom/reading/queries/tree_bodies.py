"""Trees as the API shows them (docs/model.md §14.3.7)."""

from collections.abc import Mapping, Sequence
from typing import Any

from loom.engine.models import Stream
from loom.language.ids import ORDINAL_BITS
from loom.notes.queries import tags_on
from loom.text.hashes import instant, instant_or_none
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.outline import stored_size
from loom.trees.queries.trees import positions_of


def tree_body(tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The tree for a reader; `workspace` is the caller's own (None: they have none yet)."""
    return tree_bodies([tree], {tree.pk: workspace} if workspace else {})[0]


def tree_bodies(trees: Sequence[Tree], own: Mapping[int, Workspace]) -> list[dict[str, Any]]:
    """The trees for a reader; `own` are the caller's workspaces by the tree's row id. Six queries
    at most, and two for each position that is hidden."""
    names = [f"tree:{tree.uid}" for tree in trees]
    streams = {stream.name: stream for stream in Stream.objects.filter(name__in=names)}
    keys = [(tree.pk << ORDINAL_BITS) + 1 for tree in trees]
    roots = dict(Node.objects.filter(pk__in=keys).values_list("tree_id", "local_id"))
    tags, places = tags_on(trees), positions_of(trees, own)
    bodies = []
    for tree, name in zip(trees, names, strict=True):
        size = stored_size(tree, streams[name])
        bodies.append(
            {
                "id": tree.uid,
                "grove": tree.grove.uid,
                "title": tree.title,
                "mode": tree.mode,
                "description": tree.description,
                "system_context": tree.system_context,
                "summary": tree.summary,
                "truncation": tree.truncation,
                "memory": tree.memory,
                "author_note": tree.author_note,
                "note_depth": tree.note_depth,
                "lore_scan": tree.lore_scan,
                "lore_budget": tree.lore_budget,
                "folder": tree.folder,
                "root": roots[tree.pk],
                "node_count": size.nodes,
                "branch_count": size.branches,
                "depth": size.depth,
                "seq": streams[name].head,
                "created_at": instant(tree.created_at),
                "archived_at": instant_or_none(tree.archived_at),
                "tags": list(tags.get(tree.pk, ())),
                "workspace": {"id": own[tree.pk].uid, "position": places[tree.pk]}
                if tree.pk in own
                else None,
            }
        )
    return bodies
