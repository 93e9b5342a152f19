"""A tree from afar: its largest branches with how many texts each has, so that a tree of a million
is drawn before it is read. Made of the tiles that are full, which never change, and kept."""

import json
from collections.abc import Iterator
from typing import Any

from loom.access import Actor
from loom.engine import optional_cache
from loom.trees.models import Tree
from loom.trees.queries import skeleton_tiles

MOST = 2_000  # a branch is told if it has one part in so many of the texts
KEPT_S = 24 * 3600


def overview_of(actor: Actor, tree: Tree) -> str:
    """`{last, ids, parents, authors, participants, sizes, rows}` as JSON, parents first: `parents`
    are places in these columns (-1: the root), `sizes` the texts of a branch, `rows` how many texts
    one below the other a place stands for. Only the texts up to `last`, an ordinal, are counted;
    pruned ones are. Read once for each tile that became full."""
    full = (skeleton_tiles.last_ordinal(tree) + 1) // skeleton_tiles.TILE
    name = f"overview:{tree.uid}:{full}"
    text = optional_cache.get(name) if full else None
    if text is None:
        text = json.dumps(_overview(actor, tree, max(1, full)), separators=(",", ":"))
        if full:
            optional_cache.keep(name, text, KEPT_S)
    return str(text)


def _overview(actor: Actor, tree: Tree, tiles: int) -> dict[str, Any]:
    above: list[int] = [-1]  # ordinals begin at 1
    names: dict[int, tuple[str, str]] = {}
    parts = [json.loads(skeleton_tiles.tile_of(actor, tree, at)) for at in range(tiles)]
    for part in parts:
        _add(above, part)
    sizes = [1] * len(above)
    sizes[0] = 0
    for place in range(len(above) - 1, 1, -1):
        up = above[place]
        if up > 0:
            sizes[up] += sizes[place]
    least = max(1, sizes[1] // MOST) if len(sizes) > 1 else 1
    ordinals = [at for at in range(2, len(above)) if above[at] > 0 and sizes[at] >= least]
    ordinals.insert(0, 1)
    people: dict[str, dict[str, Any]] = {}
    for part in parts:
        names.update(_named(part, set(ordinals), people))
    return {"last": len(above) - 1, **_columns(ordinals, above, sizes, names, people)}


def _add(above: list[int], part: dict[str, Any]) -> None:
    """Adds the texts of a tile by ordinal; what is no text of its own is left out."""
    ordinals = part.get("ordinals")
    ups = part["ups"].split(",")
    others = {ordinal for ordinal, _ in (*part["slots"], *part["kinds"])}
    for at, up in enumerate(ups):
        ordinal = ordinals[at] if ordinals else part["first"] + at
        while len(above) < ordinal:
            above.append(-1)
        above.append(ordinal - int(up) if up != "0" and ordinal not in others else -1)


def _named(
    part: dict[str, Any], wanted: set[int], people: dict[str, dict[str, Any]]
) -> Iterator[tuple[int, tuple[str, str]]]:
    """The id and the author of those texts of a tile that are kept."""
    ordinals, ids, authors = (
        part.get("ordinals"),
        part["ids"].split(","),
        part["authors"].split(","),
    )
    for at, name in enumerate(ids):
        ordinal = ordinals[at] if ordinals else part["first"] + at
        if ordinal in wanted:
            author = part["participants"][int(authors[at])]
            people.setdefault(author["id"], author)
            yield ordinal, (name, author["id"])


def _columns(
    ordinals: list[int],
    above: list[int],
    sizes: list[int],
    names: dict[int, tuple[str, str]],
    people: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """The columns; a text that alone of those below another is kept is part of its place."""
    below: dict[int, int] = {}
    for ordinal in ordinals[1:]:
        below[above[ordinal]] = below.get(above[ordinal], 0) + 1
    place_of: dict[int, int] = {}
    numbers = {uid: at for at, uid in enumerate(people)}
    columns: dict[str, Any] = {name: [] for name in ("ids", "parents", "authors", "sizes", "rows")}
    for ordinal in ordinals:
        up = above[ordinal]
        if up > 0 and below[up] == 1 and up != 1:
            place_of[ordinal] = place_of[up]
            columns["rows"][place_of[up]] += 1
            continue
        place_of[ordinal] = len(columns["ids"])
        name, author = names[ordinal]
        columns["ids"].append(name)
        columns["parents"].append(place_of[up] if up > 0 else -1)
        columns["authors"].append(numbers[author])
        columns["sizes"].append(sizes[ordinal])
        columns["rows"].append(1)
    return {**columns, "participants": list(people.values())}
