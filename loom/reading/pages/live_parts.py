"""The parts of a tree's page that events change, read and rendered once for everybody who has it
open; and the text of a buffer, as its editor fetches it.

Sockets send the parts to the pages that asked for them (docs/sockets.md); each page adds what is
specific to its reader. Only what every member may see is rendered: links to other groves are
placeholders.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET
from pydantic_core import to_json

from loom import access
from loom.errors import not_found
from loom.language.ids import looks_like_id
from loom.people.models import Participant
from loom.reading.pages.candidates import NodesBelow, woven
from loom.reading.pages.node_parts import NodeData, drawn_from, drawn_of, found_for
from loom.reading.queries.margins import margins_of
from loom.reading.queries.path_page import (
    MAX_CARDS,
    Candidate,
    PathText,
    candidates_of,
    texts_of_path,
)
from loom.reading.queries.provenance import pieces_of, with_origins
from loom.site.display import Who, cast_from, cast_of
from loom.site.page_requests import PersonRequest, known_node, person, place_at
from loom.text.changes import Pieces
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.around import Around, Spot
from loom.trees.queries.lookup import fetch, rows_of
from loom.turns.pages.turns import drawable

MOST_NODES = 6  # rendered at once, 7 kB each. Pages count siblings, and fetch others that they show
MOST_POINTS = 4
BESIDE = 3  # the rank of siblings
MOST_NAMED = 100  # nodes below others, and beside them; of more those above are named instead

# The text slots that were named (an annotation stands for its text), those around the ones in
# `near`, and the slots below which candidates came or went. `rank` 0 is what was named.
_CHANGED = """
    WITH RECURSIVE named(slot, kind, above, role) AS (
        SELECT s.id, s.kind, s.parent_slot_id, CASE WHEN v.local_id IN ({near}) THEN 'near'
            WHEN v.local_id IN ({only}) THEN 'only' ELSE 'point' END
        FROM trees_node v JOIN trees_node s ON s.id = v.slot_id
        WHERE v.tree_id = %s AND v.local_id IN ({near}, {only}, {points})
        UNION SELECT s.id, s.kind, s.parent_slot_id, 'point' FROM turns_generation g
        JOIN trees_node v ON v.id = g.point_id JOIN trees_node s ON s.id = v.slot_id
        WHERE g.uid IN ({generations}) AND g.tree_id = %s
        UNION SELECT s.id, s.kind, s.parent_slot_id, 'only'
        FROM named JOIN trees_node s ON s.id = named.above WHERE named.kind <> 'text'
    ), texts(slot, above, role) AS (
        SELECT slot, above, role FROM named WHERE kind = 'text'
    ), points(slot) AS (
        SELECT slot FROM texts WHERE role = 'point'
        UNION SELECT above FROM texts WHERE role = 'near' AND above IS NOT NULL
    ), under(slot) AS (
        SELECT b.id FROM trees_node b WHERE b.slot_id >= b.id AND b.kind = 'text'
            AND b.parent_slot_id IN (SELECT slot FROM texts WHERE role = 'near') LIMIT {most}
    ), beside(slot) AS (
        SELECT b.id FROM trees_node b WHERE b.slot_id >= b.id AND b.kind = 'text'
            AND b.parent_slot_id IN (SELECT above FROM texts WHERE role = 'near') LIMIT {most}
    ), drawn(slot, rank) AS (
        SELECT slot, 0 FROM texts WHERE role <> 'point'
        UNION SELECT above, 1 FROM texts WHERE role = 'near' AND above IS NOT NULL
        UNION SELECT slot, 2 FROM under
        UNION SELECT slot, 3 FROM beside
    )
    SELECT 'drawn', MIN(drawn.rank), v.id, v.slot_id, v.local_id
        FROM drawn JOIN trees_node v ON v.slot_id = drawn.slot GROUP BY v.id, v.slot_id, v.local_id
    UNION ALL SELECT 'point', 0, slot, slot, '' FROM points
    UNION ALL SELECT 'under', (SELECT COUNT(*) FROM under), s.id, s.id, s.local_id
        FROM texts JOIN trees_node s ON s.id = texts.slot WHERE texts.role = 'near'
    UNION ALL SELECT 'beside', (SELECT COUNT(*) FROM beside), s.id, s.id, s.local_id
        FROM texts JOIN trees_node s ON s.id = texts.above WHERE texts.role = 'near'
"""

Names = Iterable[str]
Parts = dict[str, Any]


def parts_for(
    tree_uid: str,
    languages: Names,
    *,
    near: Names = (),
    only: Names = (),
    points: Names = (),
    generations: Names = (),
    turns: Names = (),
) -> dict[str, Parts]:
    """For each language the changed parts: `{nodes, changed, beside, under, among, weaves, turns}`:
    elements by local id, the ids of nodes that were not rendered, and of those whose place among
    their siblings alone changed; where that are many, the ids of the nodes directly below which all
    changed, and all places did; weaves by the id of the node above, and turns by their ids ("": not
    for everybody). Empty if it is too much.

    The parameters are named as in `ToRender`. At most six queries, in any number of languages, and
    those of `turns.drawable` if there are turns."""
    named = _Named(tree_uid, near=near, only=only, points=points, generations=generations)
    if len(named.points) > MOST_POINTS:
        return {}
    cast = cast_from(named.participants)
    nodes, nodes_below = (
        _nodes_and_weaves(named, cast) if named.spots or named.points else (None, [])
    )
    agents = drawable(turns, tree_uid)
    parts: dict[str, Parts] = {}
    for language in languages:
        with translation.override(language):
            parts[language] = {
                "nodes": {node.id: node.element() for node in drawn_from(nodes, named.spots)}
                if nodes
                else {},
                "changed": named.rest,
                "beside": named.beside,
                "under": named.under,
                "among": named.among,
                "weaves": {
                    below.point.local_id: _weave(named.tree, below, cast) for below in nodes_below
                },
                "turns": agents.elements(cast),
            }
    return parts


@lru_cache(maxsize=1024)
def _lasting(tree_uid: str) -> tuple[int, str, int, datetime]:
    """Row id, mode, grove and creation time of a tree, which never change."""
    columns = Tree.objects.values_list("pk", "mode", "grove_id", "created_at")
    row: tuple[int, str, int, datetime] = columns.get(uid=tree_uid)
    return row


@dataclass
class _Named:
    """The nodes and weaves that the names refer to. Two queries, three for a tree seen for the
    first time."""

    tree_uid: str
    near: Names
    only: Names
    points: Any
    generations: Names
    rest: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    under: list[str] = field(default_factory=list)
    among: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        key, mode, grove, created_at = _lasting(self.tree_uid)
        people = Participant.objects.filter(grove=grove).select_related("grove").order_by("id")
        self.participants = list(people)
        home = self.participants[0].grove
        self.tree = Tree(pk=key, uid=self.tree_uid, mode=mode, grove=home, created_at=created_at)
        names = [sorted(keys) for keys in (self.near, self.only, self.points, self.generations)]
        if not any(names):  # only a turn changed
            self.spots, self.points = [], []
            return
        marks = [", ".join(["%s"] * len(keys)) or "NULL" for keys in names]
        sql = _CHANGED.format(
            near=marks[0],
            only=marks[1],
            points=marks[2],
            generations=marks[3],
            most=MOST_NAMED + 1,
        )
        first = [*names[0], *names[1], key, *names[0], *names[1], *names[2]]
        rows = fetch(sql, [*first, *names[3], key])
        drawn = sorted(
            (rank, -at, slot, name) for kind, rank, at, slot, name in rows if kind == "drawn"
        )
        self.spots = [Spot(-at, slot) for _, at, slot, _ in drawn[:MOST_NODES]]
        left = drawn[MOST_NODES:]
        self.rest = [name for rank, _, _, name in left if rank < BESIDE]
        self.beside = [name for rank, _, _, name in left if rank == BESIDE]
        self.points = [slot for kind, _, slot, _, _ in rows if kind == "point"]
        self.under, self.among = (
            sorted({name for kind, many, _, _, name in rows if kind == of and many > MOST_NAMED})
            for of in ("under", "beside")
        )


def _nodes_and_weaves(named: _Named, cast: dict[str, Who]) -> tuple[NodeData, list[NodesBelow]]:
    """The data of the nodes and weaves. Three queries for nodes, one for weaves."""
    slots = {*(spot.slot_id for spot in named.spots), *named.points}
    around = Around(slots, points=named.points, most=MAX_CARDS)
    shown = {slot: around.texts(slot)[:MAX_CARDS] for slot in named.points}
    cards = [around.newest(slot_below).id for slots in shown.values() for slot_below in slots]
    nodes = found_for(named.tree, named.spots, cast, around=around, also=cards)
    nodes.find_pieces([*(spot.id for spot in named.spots), *cards])
    below = candidates_of(
        [slot_below for slots in shown.values() for slot_below in slots],
        [version.id for slot in named.points for version in around.versions[slot]],
    )
    slot_of = {version.id: slot for slot in named.points for version in around.versions[slot]}
    running: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in below.coming:
        running[slot_of[candidate.point_id]].append(candidate)
    return nodes, [
        NodesBelow(
            point=around.newest(slot),
            rows=[nodes.rows[around.newest(slot_below).id] for slot_below in shown[slot]],
            total=around.children[slot],
            children=around.children,
            places=around.places,
            begun=below.begun,
            coming=running[slot],
            pieces=nodes.pieces,
        )
        for slot in named.points
    ]


def _weave(tree: Tree, nodes_below: NodesBelow, cast: dict[str, Who]) -> str:
    # All buttons are rendered; each page shows those that its reader may use.
    can = {"write": True, "continue": True}
    weave = woven(nodes_below, cast, asked_here=True)
    return render_to_string("parts/weave.html", {"weave": weave, "tree": tree, "can": can})


@require_GET
@person
def one_node(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """One node of the path, rendered for everybody: for pages that did not get it from a socket."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    drawn: Sequence[Any] = drawn_of(tree, [Spot(node.pk, node.slot_id)], cast_of(actor))
    return HttpResponse(drawn[0].element())


MOST_NOTED = 100  # texts of which the notes are asked for at once


@require_GET
@person
def notes_on_words(request: PersonRequest, uid: str) -> JsonResponse:
    """`{notes: {id: [{note, form, place}]}}`: the open notes and suggestions on words of the texts
    `?ids=a,b`, each with where its words are: `[before, words, words, after]`. Texts without any
    are left out."""
    actor, tree = access.get_tree(request.user, uid)
    ids = request.GET.get("ids", "").split(",")[:MOST_NOTED]
    wanted = [name.lower() for name in ids if looks_like_id(name)]
    rows = Node.objects.filter(tree=tree, local_id__in=wanted, kind="text")
    spots = [Spot(key, slot) for key, slot in rows.values_list("pk", "slot_id")]
    data = found_for(tree, spots, cast_of(actor))
    noted = {data.rows[spot.id].local_id: data.words_noted(spot.id) for spot in spots}
    return JsonResponse({"notes": {name: notes for name, notes in noted.items() if notes}})


# The text of a buffer tree for the editor: by node, with the author of each character.

MAX_IDS = 200
SMALL = 100_000  # smaller responses (bytes) are not compressed
LEVEL = 1  # fast compression: a long text must not wait for a smaller file


@require_GET
@person
def text(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` without the root, or the nodes `?ids=a,b`, in columns: `{people, ids,
    texts, by, slots, at, excluded, asks}`, with `wordings` for named nodes.

    `by` is the index of the author in `people`, or `[[index, length]…]` if several wrote the text,
    in UTF-16 units. The other columns are keyed by index in `ids`: `slots` and `at` of later
    versions, `wordings` as in a Margin. `excluded` and `asks` (what a turn was asked for, which is
    no part of the story) list indexes.
    """
    _, tree = access.get_tree(request.user, uid)
    if "ids" in request.GET:
        body = _named(tree, request.GET["ids"].split(","))
    else:
        place = place_at(request, uid)
        body = _path(tree, place.workspace, place.node)
    content = to_json(body)
    answer = HttpResponse(content, content_type="application/json")
    patch_vary_headers(answer, ["Accept-Encoding"])
    if len(content) > SMALL and "gzip" in request.headers.get("Accept-Encoding", ""):
        answer.content = gzip.compress(content, compresslevel=LEVEL, mtime=0)
        answer["Content-Encoding"] = "gzip"
    return answer


def _path(tree: Tree, workspace: Workspace, node: Node) -> dict[str, Any]:
    rows = texts_of_path(tree, workspace, node)
    edited = [key for _, key, *_, is_edited, _ in rows if is_edited]
    origins = with_origins(edited)
    return _columns(rows, pieces_of([origins[edited_id] for edited_id in edited], origins))


def _named(tree: Tree, ids: list[str]) -> dict[str, Any]:
    wanted = [name.lower() for name in ids[:MAX_IDS] if looks_like_id(name)]
    keys = Node.objects.filter(tree=tree, local_id__in=wanted).values_list("id", flat=True)
    rows = rows_of(list(keys))
    later = {row.slot_id for row in rows if row.id != row.slot_id}
    slots = dict(Node.objects.filter(pk__in=later).values_list("id", "local_id"))
    path_texts: list[PathText] = []
    for row in rows:
        slot, at = (slots[row.slot_id], row.at) if row.slot_id in slots else ("", "")
        is_edited = row.more.edited_from_id is not None or row.is_of_parts
        more = (row.text, row.author_uid, bool(row.excluded), is_edited, row.is_ask)
        path_texts.append((row.depth, row.id, row.local_id, slot, at, *more))
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in rows])
    wordings = {at: margins[row.id].wordings for at, row in enumerate(rows)}
    return {**_columns(path_texts, pieces_of(rows)), "wordings": wordings}


def _columns(rows: Sequence[PathText], pieces: Mapping[int, Pieces]) -> dict[str, Any]:
    people: dict[str, int] = {}
    names, texts, by, slots, ats, left_out, asks = [], [], [], {}, {}, [], []
    for place, (_, key, name, slot, at, text, author, excluded, _, is_ask) in enumerate(rows):
        names.append(name)
        texts.append(text)
        whose = pieces.get(key) or ((author, 0),)
        runs = [(people.setdefault(who, len(people)), n) for who, n in _units(text, whose)]
        by.append(runs if len(runs) > 1 else runs[0][0])
        if slot:
            slots[place] = slot
        if at:
            ats[place] = at
        if excluded:
            left_out.append(place)
        if is_ask:
            asks.append(place)
    return {
        "people": list(people),
        "ids": names,
        "texts": texts,
        "by": by,
        "slots": slots,
        "at": ats,
        "excluded": left_out,
        "asks": asks,
    }


def _units(text: str, pieces: Pieces) -> list[tuple[str, int]]:
    """Lengths in UTF-16 units, as browsers count. That of a text by one author is left out."""
    if len(pieces) == 1:
        return [(pieces[0][0], 0)]
    units, at = [], 0
    for author, length in pieces:
        units.append((author, _length(text[at : at + length])))
        at += length
    return units


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
