"""What somebody sees on a map by meaning. The reader has been let into the tree or grove by those
who ask; what is hidden from them there is left out here. Reads the blocks of the map and what
changes about nodes (flags, choices, ratings): neither the log nor the texts, but for a bounded
number of beginnings that name the regions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from django.db.models import F

from loom import access
from loom.access import Actor, known_workspace_of
from loom.embedding.embedders import embedder_of
from loom.landscape import map_rows
from loom.landscape.model_titles import RegionTitle, give_titles
from loom.landscape.models import Landscape, LandscapeBlock
from loom.landscape.region_names import name_regions
from loom.landscape.regions import MapRegion, find_regions, to_read
from loom.language.ids import ORDINAL_BITS
from loom.notes.models import Mark
from loom.people.models import Grove, Participant
from loom.search.queries import find_in_grove, find_in_tree
from loom.text.shortening import excerpt
from loom.trees.models import Node, Tree, VersionChoice
from loom.trees.queries import lookup
from loom.trees.queries.lookup import EXCLUDED, PRUNED, SANDBOX, VERSION_PRUNED, fetch, within

MOST_BRANCHES = 12
READ_CHARACTERS = 600  # of a text whose words name a region
MOST_FOUND = 2_000  # hits of a search that are lit
_ORDINAL = (1 << ORDINAL_BITS) - 1


def landscape_of(grove: Grove, tree: Tree | None) -> Landscape | None:
    """The map of a tree or grove by its embedder; None if it was never asked for."""
    embedder = embedder_of(grove)
    if embedder is None:
        return None
    rows = Landscape.objects.select_related("asked_by")
    return rows.filter(grove=grove, tree=tree, embedder=embedder.name).first()


@dataclass
class MapBranch:
    """A large branch of a tree, or in the map of a grove a tree: what it is called, the tree, and
    the local id of its top ("": a whole tree)."""

    tree: str
    node: str
    words: str


def trees_seen(actor: Actor, row: Landscape) -> list[Tree]:
    """The trees of a map that the actor may see, in the order of ids; one query. A map of a grove
    is drawn once for all, with the trees that are hidden from some."""
    trees = access.grove_trees(actor).order_by("pk")
    return list(trees if row.tree_id is None else trees.filter(pk=row.tree_id))


@dataclass
class View:
    """What one reader sees: a row of map_rows.ROW for each text; the texts in columns beside them.
    `trees` are the trees, and `tree` the place of each text's among them; `ups` the place of the
    nearest text above that is shown (-1: none); `branch` a place in `branches` (-1: none of them);
    `surprise` is a byte for each text (map_rows.surprise_bytes). `lit` says which texts a branch or
    search leaves (None: all)."""

    rows: map_rows.Rows
    trees: list[Tree]
    tree: map_rows.Whole
    ups: map_rows.Whole
    branch: map_rows.Whole
    branches: list[MapBranch]
    keys: map_rows.Whole  # row ids of the nodes
    lit: map_rows.Mask | None = None
    regions: list[MapRegion] = field(default_factory=list)
    people: list[Participant] = field(default_factory=list)
    author: map_rows.Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    ratings: list[tuple[int, int]] = field(default_factory=list)
    surprise: map_rows.Surprise = field(default_factory=lambda: np.zeros(0, np.uint8))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """The local ids of the texts."""
        return [name.decode() for name in self.rows["name"].tolist()]


def view_of(
    actor: Actor, row: Landscape, trees: Sequence[Tree], *, below: Node | None, find: str
) -> View:
    """What the actor sees of a map of these trees; with a branch or a search only its texts are
    lit, and regions are named by these. Raises CommandError for a search that cannot be read."""
    parts = _parts(row)
    own = [tree for tree in trees if tree.pk in parts]
    flags, choices = _flags(actor, own), _choices(actor, own)
    kept: list[tuple[Any, ...]] = []
    tops: list[tuple[Tree, int]] = []
    offset = 0
    for number, tree in enumerate(own):
        rows = map_rows.unpacked(parts[tree.pk][0])
        surprise = np.frombuffer(b"".join(parts[tree.pk][1]), np.uint8)
        seen = map_rows.shown(rows, choices=choices.get(tree.pk, {}), **flags[tree.pk])
        where = np.flatnonzero(seen)
        up = map_rows.nearest_shown(rows, seen)[where]
        new = np.full(len(rows) + 1, -1, np.int64)
        new[where] = np.arange(len(where)) + offset
        if row.tree_id is None:
            branch = np.full(len(where), number, np.int64)
        else:
            numbers, starts = map_rows.branches(rows, seen, MOST_BRANCHES)
            branch, tops = numbers[where], [(tree, start) for start in starts]
        under = map_rows.below(rows, below.slot_id & _ORDINAL)[where] if below is not None else None
        of_tree = np.full(len(where), number)
        kept.append((rows[where], of_tree, new[up], branch, under, surprise[where]))
        offset += len(where)
    view = _joined(own, kept)
    if kept:
        view.surprise = np.concatenate([part[5] for part in kept])
    view.branches = _trees_as_branches(own) if row.tree_id is None else _branches(actor, tops)
    lit = [np.concatenate([part[4] for part in kept])] if below is not None and kept else []
    if find.strip():
        lit.append(np.isin(view.keys, _found(actor, row, own, find, below)))
    if lit:
        view.lit = reduce(np.logical_and, lit)
    _people(view)
    _rated(actor, view)
    _regions(view)
    give_titles(view.regions, [RegionTitle(*title) for title in row.titles])
    return view


def _parts(row: Landscape) -> dict[int, tuple[list[bytes], list[bytes]]]:
    """The blocks of a map by tree, and the surprise of their texts; one query."""
    parts_by_tree: dict[int, tuple[list[bytes], list[bytes]]] = {}
    blocks = LandscapeBlock.objects.filter(landscape=row).order_by("tree_id", "number")
    for tree, count, rows, surprise in blocks.values_list("tree_id", "count", "rows", "surprise"):
        parts = parts_by_tree.setdefault(tree, ([], []))
        parts[0].append(bytes(rows))
        parts[1].append(bytes(surprise).ljust(count, b"\0"))
    return parts_by_tree


def _joined(trees: list[Tree], kept: list[tuple[Any, ...]]) -> View:
    none = np.zeros(0, np.int64)
    columns = [
        np.concatenate([part[at] for part in kept]).astype(np.int64) if kept else none
        for at in (1, 2, 3)
    ]
    rows = np.concatenate([part[0] for part in kept]) if kept else np.zeros(0, map_rows.ROW)
    keys = np.array([tree.pk for tree in trees], np.int64)
    ids = rows["ordinal"].astype(np.int64)
    if len(rows):
        ids += keys[columns[0]] << ORDINAL_BITS
    return View(rows, trees, columns[0], columns[1], columns[2], [], ids)


_FLAGGED = """SELECT v.tree_id, v.id, {flags} FROM trees_node v WHERE {those}
    AND (v.pruned OR v.excluded OR v.sandbox OR v.version_pruned OR v.resolved_at IS NOT NULL)
    ORDER BY v.id"""


def _flags(actor: Actor, trees: Iterable[Tree]) -> dict[int, dict[str, Any]]:
    """By tree the ordinals of what hides: itself and what is below, itself alone (for a model what
    is excluded), and the versions that are pruned. One query, by the index of flagged nodes."""
    keys = [tree.pk for tree in trees]
    ordinals: dict[int, tuple[list[int], list[int], list[int]]] = {
        key: ([], [], []) for key in keys
    }
    is_model = actor.participant.kind == "model"
    those, given = within("v.tree_id", keys)
    for tree, key, bits in fetch(
        _FLAGGED.format(flags=lookup.flag_bits("v"), those=those), [given]
    ):
        hiding, own, pruned = ordinals[tree]
        if bits & (PRUNED | SANDBOX):
            hiding.append(key & _ORDINAL)
        if bits & EXCLUDED and is_model:
            own.append(key & _ORDINAL)
        if bits & VERSION_PRUNED:
            pruned.append(key & _ORDINAL)
    return {
        tree: {
            "hiding": np.array(hiding, np.int64),
            "own": np.array(own, np.int64),
            "pruned": np.array(pruned, np.int64),
        }
        for tree, (hiding, own, pruned) in ordinals.items()
    }


def _choices(actor: Actor, trees: Iterable[Tree]) -> dict[int, dict[int, int]]:
    """The versions that the actor chose, by tree and slot; one query."""
    chosen: dict[int, dict[int, int]] = {}
    rows = VersionChoice.objects.filter(
        workspace__participant=actor.participant, workspace__tree__in=[tree.pk for tree in trees]
    )
    for tree, slot, node in rows.values_list("workspace__tree_id", "slot_id", "node_id"):
        chosen.setdefault(tree, {})[slot & _ORDINAL] = node & _ORDINAL
    return chosen


def _found(
    actor: Actor, row: Landscape, trees: Sequence[Tree], find: str, below: Node | None
) -> list[int]:
    """The nodes that a search finds, by words and by meaning."""
    if row.tree_id is None:
        return list(find_in_grove(actor, find, limit=1).every[:MOST_FOUND])
    if not trees:
        return []
    here = known_workspace_of(actor.participant, trees[0])
    hits = find_in_tree(actor, trees[0], here, find, below=below, limit=1)
    return list(hits.every[:MOST_FOUND])


def _branches(actor: Actor, tops: Sequence[tuple[Tree, int]]) -> list[MapBranch]:
    """The branches that begin at these slots; one query."""
    keys = [(tree.pk << ORDINAL_BITS) + ordinal for tree, ordinal in tops]
    rows = {
        pk: (local_id, text)
        for pk, local_id, text in Node.objects.filter(pk__in=keys).values_list(
            "pk", "local_id", "text"
        )
    }
    listed = []
    for key, (tree, _) in zip(keys, tops, strict=True):
        local_id, text = rows.get(key, ("", ""))
        listed.append(MapBranch(tree.uid, local_id, excerpt(text, 8)))
    return listed


def _trees_as_branches(trees: Iterable[Tree]) -> list[MapBranch]:
    return [MapBranch(tree.uid, "", tree.title) for tree in trees]


def _people(view: View) -> None:
    """Who wrote the texts, those with the most first; one query."""
    authors, counts = np.unique(view.rows["author"], return_counts=True)
    order = np.lexsort((authors, -counts))
    keys = [int(key) for key in authors[order]]
    known = Participant.objects.in_bulk(keys)
    view.people = [known[key] for key in keys if key in known]
    place = {participant.pk: at for at, participant in enumerate(view.people)}
    numbers = np.array([place.get(int(key), -1) for key in authors], np.int64)
    at = np.searchsorted(authors, view.rows["author"])
    view.author = numbers[at] if len(authors) else np.zeros(0, np.int64)


def _rated(actor: Actor, view: View) -> None:
    """The actor's own ratings, as places with 1 or -1; one query."""
    marks = Mark.objects.filter(
        tree__in=[tree.pk for tree in view.trees],
        kind__in=("plus", "minus"),
        participant=actor.participant,
        removed_at__isnull=True,
    ).order_by()
    given = dict(marks.values_list(F("item__node_id"), "kind"))
    keys = np.array(sorted(key for key in given if key is not None), np.int64)
    order = np.argsort(view.keys, kind="stable")
    at = np.searchsorted(view.keys[order], keys)
    for key, where in zip(keys.tolist(), at.tolist(), strict=True):
        if where < len(order) and int(view.keys[order[where]]) == key:
            view.ratings.append((int(order[where]), 1 if given[key] == "plus" else -1))


def _regions(view: View) -> None:
    """Finds and names the regions of the texts that are lit; one query for texts."""
    some = np.flatnonzero(view.lit) if view.lit is not None else np.arange(len(view))
    regions = find_regions(view.rows["x"][some], view.rows["y"][some])
    read = to_read(regions, len(some)) if regions else []
    keys = {int(view.keys[some[at]]): at for at in read}
    those, given = within("id", keys)
    sql = f"SELECT id, SUBSTR(text, 1, {READ_CHARACTERS}) FROM trees_node WHERE {those}"
    rows = fetch(sql, [given]) if keys else []
    name_regions(regions, {keys[key]: text for key, text in rows})
    for region in regions:
        region.members = some[region.members]
    view.regions = regions


def empty_view() -> View:
    """A map that has not been drawn yet."""
    return _joined([], [])


def points_body(row: Landscape | None, view: View) -> dict[str, Any]:
    """The columns of a map, as JSON says them (see PointsOf)."""
    return {
        "revision": row.revision if row is not None else 0,
        "placed": row.placed if row is not None else 0,
        "titled": row.titled if row is not None else 0,
        "trees": [{"id": tree.uid, "title": tree.title} for tree in view.trees],
        "participants": [
            {
                "id": participant.uid,
                "name": participant.name,
                "kind": participant.kind,
                "model": participant.model_ref,
            }
            for participant in view.people
        ],
        "branches": [
            {"tree": branch.tree, "node": branch.node, "words": branch.words}
            for branch in view.branches
        ],
        "ids": view.names,
        "x": view.rows["x"].tolist(),
        "y": view.rows["y"].tolist(),
        "tree": view.tree.tolist() if row is not None and row.tree_id is None else [],
        "ups": view.ups.tolist(),
        "authors": view.author.tolist(),
        "times": view.rows["time"].tolist(),
        "branch": view.branch.tolist(),
        "ratings": view.ratings,
        "surprise": [
            (at, (int(view.surprise[at]) - 1) / map_rows.BIT)
            for at in np.flatnonzero(view.surprise).tolist()
        ],
        "lit": np.flatnonzero(view.lit).tolist() if view.lit is not None else None,
        "regions": [
            {
                "level": region.level,
                "x": region.x,
                "y": region.y,
                "count": len(region.members),
                "within": region.within,
                "words": list(region.words),
                "title": region.title,
            }
            for region in view.regions
        ],
    }


def status_body(row: Landscape | None) -> dict[str, Any]:
    """How far a map has come (see LandscapeOf)."""
    if row is None:
        nothing = {"revision": 0, "placed": 0, "titled": 0, "said": "", "at": None}
        return {"status": "none", "done": 0, **nothing}
    return {
        "status": row.status,
        "done": row.done / 1000,
        "revision": row.revision,
        "placed": row.placed,
        "titled": row.titled,
        "said": row.said,
        "at": row.drawn_at.isoformat() if row.drawn_at else None,
    }


def texts_in(view: View, region: MapRegion, most: int) -> list[tuple[str, str, str]]:
    """The texts of a region nearest to its top: (uid of the tree, local id, words), at most `most`.
    One query."""
    rows = view.rows[region.members]
    apart = (rows["x"].astype(np.int64) - region.x) ** 2 + (
        rows["y"].astype(np.int64) - region.y
    ) ** 2
    members = region.members[np.argsort(apart, kind="stable")[:most]]
    keys = [int(view.keys[at]) for at in members]
    texts = dict(Node.objects.filter(pk__in=keys).values_list("pk", "text"))
    names = view.names
    return [
        (view.trees[int(view.tree[at])].uid, names[int(at)], excerpt(texts.get(key, ""), 30))
        for at, key in zip(members, keys, strict=True)
    ]
