"""Continuations below the position, and the forms that ask for them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol
from urllib.parse import quote

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from loom import access
from loom.access import Actor
from loom.commands.continuing import Continue, continue_
from loom.commands.execute import Answer, Request, execute, execute_line
from loom.commands.generation_lifecycle import places
from loom.commands.nodes import Respond, respond
from loom.commands.registry import checked
from loom.grammar.refs import Ref
from loom.models import Generation, Node, Participant, Tree, VersionChoice, Workspace
from loom.queries.authorship import pieces_of, writers_of
from loom.queries.lookup import NEAREST, Asked, asked_on, path_ids
from loom.queries.node_context import Around
from loom.queries.node_rows import NodeRow, rows_of
from loom.rules.errors import CommandError
from loom.rules.identity import Pieces
from loom.rules.samplers import written
from loom.web.avatars import Who
from loom.web.node_parts import age_of, broken_reason, painted
from loom.web.requests import PersonRequest, person, text_of

_COMMAND = re.compile(r" {0,2}(→|->)")


def quoted(text: str) -> str:
    """A quoted string of the line's grammar."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def continue_args(request: PersonRequest) -> list[Continue]:
    """What asks for continuations with the form's settings: one for all models that are to
    write the same number. Raises Refused for a number that is none."""
    form = request.POST
    shared = {
        name: value for name in ("tokens", "temperature") if (value := form.get(name, "").strip())
    }
    usual = form.get("n", "").strip()
    by_count: dict[str, list[Ref]] = {}
    for name in form.getlist("using"):
        count = form.get(f"n:{name}", "").strip() or usual
        by_count.setdefault(count, []).append(Ref("agent", name=name))
    return [
        checked(Continue, {**shared, **({"n": count} if count else {}), "using": tuple(agents)})
        for count, agents in (by_count or {usual: []}).items()
    ]


@require_POST
@person
def run(request: PersonRequest, uid: str) -> HttpResponse:
    """Runs what the form says, and leads back to where that leaves the reader."""
    actor, tree = access.get_tree(request.user, uid)
    text = text_of(request, "text")
    at = request.POST.get("at", "")
    try:
        for one in _asked(request, text):
            answer = _run(actor, tree, one, at)
            at = str(answer.body["position"])
            messages.success(request, answer.reply)
    except CommandError as refused:
        messages.error(request, refused.reply)
    return HttpResponseRedirect(
        f"/trees/{tree.uid}?node={quote(at)}" if at else f"/trees/{tree.uid}"
    )


def _asked(request: PersonRequest, text: str) -> list[str | Respond | Continue]:
    """A line, or what the form's text and button mean."""
    if _COMMAND.match(text):
        return [text]
    asked: list[str | Respond | Continue] = [Respond(content=text)] if text else []
    if request.POST.get("action") == "continue":
        asked += continue_args(request)
    return asked or [Respond(content="")]


def _run(actor: Actor, tree: Tree, one: str | Respond | Continue, at: str) -> Answer:
    if isinstance(one, str):
        return execute_line(actor, tree, Request(line=one, at=at))
    if isinstance(one, Respond):
        return execute(actor, tree, respond, one, request=Request("", at=at))
    return execute(actor, tree, continue_, one, request=Request("", at=at))


# What hangs below the position: the weave of continuations, finished and still coming.


OPEN = ("queued", "running")
MAX_CARDS = 60
FAILED_FOR = timedelta(minutes=10)
MAX_CARD_TEXT = 700


@dataclass(frozen=True)
class Card:
    """One continuation: a node, or a generation that is still coming (`generation` set)."""

    who: Who  # who wrote most of it
    text: str
    is_cut: bool
    others: tuple[Who, ...] = ()  # who wrote the rest
    spans: SafeString | None = None  # the text by author, where there are several
    key: int = 0
    id: str = ""
    generation: str = ""
    chunk: int = 0
    age: str = ""
    children: int = 0
    broken: str = ""
    note: str = ""
    failed: str = ""
    hint: str = ""  # what to do about it
    again: str = ""  # the line that asks for a failed one again; "": that would not help
    is_excluded: bool = False
    asked_by: str = ""  # of one still coming
    before: int = 0  # candidates that begin before this one
    same: str = ""  # the whole text of a finished one
    rest: str = ""  # of the second half of a split: the text that goes on whole, with all below it
    alike: tuple["Card", ...] = ()  # others of the same text, folded into this one

    @property
    def keys(self) -> str:
        """The keys that take this card: its own and those of the folded ones."""
        return " ".join(str(card.key) for card in (self, *self.alike))


@dataclass(frozen=True)
class Weave:
    """The continuations of one node. `more` are those past the last card; `asked` whom the
    reader asked last on this path, `asked_here` whether here."""

    point: str
    cards: tuple[Card, ...]
    total: int
    coming: int
    is_root: bool
    asked: dict[str, Asked] = field(default_factory=dict)
    asked_here: bool = False

    @property
    def count(self) -> int:
        """How many candidates the cards stand for."""
        return sum(1 + len(card.alike) for card in self.cards)

    @property
    def asked_json(self) -> str:
        """`asked`, for the page's scripts."""
        return json.dumps({name: asdict(one) for name, one in self.asked.items()})

    @property
    def more(self) -> int:
        """How many finished ones are not drawn."""
        return max(0, self.total - MAX_CARDS)


class Point(Protocol):
    """The version below which something hangs: a Node, or a Near."""

    @property
    def local_id(self) -> str: ...
    @property
    def parent_slot_id(self) -> int | None: ...


@dataclass(frozen=True)
class Hanging:
    """What hangs below a point: the rows shown of `total` text slots, how many texts hang
    below each by slot, the generation that made the first version of a slot by slot, and
    those that are still coming."""

    point: Point
    rows: Sequence[NodeRow]
    total: int
    children: Mapping[int, int]
    begun: Mapping[int, Generation]
    coming: Sequence[Generation]
    pieces: Mapping[int, Pieces] | None = None  # who wrote the rows, where that was read already


def woven(
    hanging: Hanging,
    cast: dict[str, Who],
    *,
    failed: Sequence[Generation] = (),
    asked: dict[str, Asked] | None = None,
    asked_here: bool = False,
) -> Weave:
    """The weave, in the order in which it was begun. One query where something waits, and one
    where a text was edited or split.

    A candidate keeps its place, and so its key, when it ends before one asked for earlier.
    """
    begun, coming = hanging.begun, hanging.coming
    pieces = pieces_of(hanging.rows) if hanging.pieces is None else hanging.pieces
    rests = _rests(hanging)
    cards = []
    for row in hanging.rows:
        card = _card(row, cast, begun, pieces[row.id], hanging.children)
        cards.append((_order(row, begun), replace(card, **rests.get(row.id, {}))))
    before = places(one for one in coming if one.status == "queued")
    cards += [
        ((one.created_at, one.pk), _stream(one, cast, before.get(one.pk, 0))) for one in coming
    ]
    cards += [((one.created_at, one.pk), _lost(one, cast)) for one in failed]
    ordered = [card for _, card in sorted(cards, key=lambda pair: pair[0])]
    return Weave(
        point=hanging.point.local_id,
        cards=folded([replace(card, key=key) for key, card in enumerate(ordered, 1)]),
        total=hanging.total,
        coming=len(coming),
        is_root=hanging.point.parent_slot_id is None,
        asked=asked or {},
        asked_here=asked_here,
    )


def weave_of(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node,
    cast: dict[str, Who],
    *,
    path: Sequence[int] | None = None,
    around: Around | None = None,
) -> Weave:
    """What hangs below `node` for the actor: with the versions that they chose, what they asked
    for and did not get, and whom they asked last on the path. The path (row ids) and what is
    around the node are read where they are not given."""
    around = around or Around({node.slot_id})
    slots = around.texts(node.slot_id)
    shown = slots[:MAX_CARDS]
    chosen = _chosen(workspace, shown)
    versions = [one.id for one in around.versions[node.slot_id]]
    begun, open_or_lost = begun_and_coming(shown, versions, lost_by=actor.participant)
    hanging = Hanging(
        point=node,
        rows=rows_of([around.standing(slot, chosen.get(slot)).id for slot in shown]),
        total=len(slots),
        children=_children(shown),
        begun=begun,
        coming=[one for one in open_or_lost if one.status in OPEN],
    )
    if path is None:
        path = [version for _, version in path_ids(actor, tree, workspace, node, most=NEAREST)]
    asked_at, asked = asked_on(actor, tree, path)
    failed = [one for one in open_or_lost if one.status not in OPEN]
    return woven(hanging, cast, failed=failed, asked=asked, asked_here=asked_at == node.pk)


def _chosen(workspace: Workspace | None, slots: Sequence[int]) -> dict[int, int]:
    """The version that the workspace chose, by slot."""
    if workspace is None or not slots:
        return {}
    found = VersionChoice.objects.filter(workspace=workspace, slot__in=slots)
    return dict(found.values_list("slot_id", "node_id"))


def folded(cards: Sequence[Card]) -> tuple[Card, ...]:
    """The cards with those of one text shown once: as the one that goes on, else the first.
    All of them stay nodes, and keep their keys."""
    groups: dict[str, list[Card]] = {}
    for card in cards:
        if card.same:
            groups.setdefault(card.same, []).append(card)
    shown: dict[int, Card] = {}
    for alike in groups.values():
        first = max(alike, key=lambda card: (card.children, -card.key))
        rest = tuple(card for card in alike if card is not first)
        shown[first.key] = replace(first, alike=rest)
    return tuple(shown.get(card.key, card) for card in cards if not card.same or card.key in shown)


def _children(slots: list[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    below = Node.objects.filter(parent_slot__in=slots, kind="text", pruned=False)
    for parent, slot, own in below.values_list("parent_slot_id", "slot_id", "id"):
        counts[parent] = counts.get(parent, 0) + (slot == own)
    return counts


def begun_and_coming(
    slots: Sequence[int], points: Sequence[int], *, lost_by: Participant | None = None
) -> tuple[dict[int, Generation], list[Generation]]:
    """The generation that made the first version of a slot, by slot, and those that are coming
    below the points (row ids), with what a participant asked for lately and did not get.
    Rounds of turns are none: they are drawn with the turn. One query."""
    wanted = Q(status__in=OPEN)
    if lost_by is not None:
        since = timezone.now() - FAILED_FOR
        lost = Q(status__in=("failed", "interrupted"), node__isnull=True, ended_at__gt=since)
        wanted |= lost & Q(asked_by=lost_by)
    below = Q(point__in=points, discard=False, round=0) & wanted
    found = Generation.objects.filter(Q(node__in=slots) | below)
    begun: dict[int, Generation] = {}
    coming = []
    for one in found.select_related("participant", "asked_by").order_by("id"):
        if one.node_id is not None:
            begun[one.node_id] = one
        else:
            coming.append(one)
    return begun, coming


def _rests(hanging: "Hanging") -> dict[int, dict[str, Any]]:
    """By row id, where the second half of a split goes on: in the text that was split, which
    keeps all that is below it. Of halves that nobody continued. No query without a split."""
    halves = {
        row.id: row
        for row in hanging.rows
        if row.rest is not None and not hanging.children.get(row.slot_id) and row.length
    }
    origins = {key: row.more.edited_from_id for key, row in halves.items()}
    wanted = {one for one in origins.values() if one is not None}
    if not wanted:
        return {}
    split = Node.objects.filter(pk__in=wanted, version_pruned=False, slot__pruned=False)
    found = {one.pk: one for one in split.only("id", "local_id", "slot_id", "depth", "text")}
    below = _children([one.slot_id for one in found.values()])
    rests = {}
    for key, row in halves.items():
        one = found.get(origins[key] or 0)
        if one is None or one.depth != row.depth - 1 or not one.text.endswith(row.text):
            continue
        if count := below.get(one.slot_id):
            rests[key] = {"rest": one.local_id, "children": count}
    return rests


def _order(row: NodeRow, begun: Mapping[int, Generation]) -> tuple[datetime, int]:
    generation = begun.get(row.slot_id)
    if generation is None:
        return row.created_at, row.id
    return generation.created_at, generation.pk


def _card(
    row: NodeRow,
    cast: dict[str, Who],
    begun: Mapping[int, Generation],
    pieces: Pieces,
    children: Mapping[int, int],
) -> Card:
    generation = begun.get(row.slot_id)
    who, *others = (cast[uid] for uid in writers_of(row, pieces))
    return Card(
        who=who,
        others=tuple(others),
        spans=painted(row.text[:MAX_CARD_TEXT], pieces, cast) if others else None,
        text=row.text[:MAX_CARD_TEXT],
        is_cut=row.length > MAX_CARD_TEXT,
        id=row.local_id,
        age=age_of(row.created_at),
        children=children.get(row.slot_id, 0),
        broken=broken_reason(row.finish),
        note=generation.note if generation else "",
        is_excluded=bool(row.excluded),
        same="" if row.excluded else row.text,
    )


def _lost(one: Generation, cast: dict[str, Who]) -> Card:
    error = one.error or {}
    pays = error.get("retryable", True)
    return Card(
        who=cast[one.participant.uid],
        text="",
        is_cut=False,
        generation=one.uid,
        failed=str(error.get("message") or gettext("The model returned no text.")),
        hint=str(error.get("hint") or ""),
        again=again(one) if pays else "",
    )


def again(one: Generation, point: str = "") -> str:
    """The line that asks the same participant for one more, with the same settings; below the node
    `point`."""
    name = one.participant.name.replace("\\", "\\\\").replace('"', '\\"')
    tokens = f" tokens:{one.tokens}" if one.tokens is not None else ""
    temperature = f" temperature:{one.temperature:g}" if one.temperature is not None else ""
    settings = f" settings:{quoted(written(one.settings))}" if one.settings else ""
    below = f" from {point}" if point else ""
    return f'continue{below} n:1{tokens}{temperature}{settings} using agent:"{name}"'


def _stream(one: Generation, cast: dict[str, Who], before: int) -> Card:
    return Card(
        who=cast[one.participant.uid],
        text=one.text,
        is_cut=False,
        generation=one.uid,
        chunk=one.chunk,
        note=one.note,
        asked_by=one.asked_by.uid,
        before=before,
    )


def agents_of(cast: dict[str, Who]) -> list[dict[str, Any]]:
    """The models that may be asked, for the composer."""
    return [
        {
            "id": who.uid,
            "name": who.name,
            "model": who.model,
            "colour": who.colour,
            "length": who.length,
            "is_toy": who.is_toy,
            "samplers": who.samplers,
        }
        for who in cast.values()
        if who.kind == "model" and not who.is_archived
    ]
