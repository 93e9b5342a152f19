"""Continuations below the position, and the forms that ask for them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from loom import access
from loom.access import Actor
from loom.embedding.pieces import groups_alike
from loom.engine.arguments import checked
from loom.engine.context import Answer, Request
from loom.engine.execute import execute, execute_line
from loom.errors import CommandError
from loom.language.refs import Ref, print_ref
from loom.participants.provider_failures import failure_shown
from loom.participants.provider_kinds import samplers_written
from loom.reading.pages.node_parts import painted
from loom.reading.queries.path_page import (
    MAX_CARDS,
    AskedSettings,
    Candidate,
    Way,
    candidates_of,
    rests_of,
)
from loom.reading.queries.provenance import writers_of
from loom.site.display import Who, age_of, broken_reason, call
from loom.site.forms import PageForm, Text, Word, Words
from loom.site.page_requests import PersonRequest, person
from loom.text.changes import Pieces
from loom.text.counts import MOST_COUNTED, at_most
from loom.trees.commands.nodes import Respond, respond
from loom.trees.models import Tree
from loom.trees.queries.lookup import NodeRow
from loom.turns.commands.continuing import Continue, continue_
from loom.turns.models import Generation

_COMMAND = re.compile(r" {0,2}(→|->)")


class ComposerForm(PageForm):
    """What is written below the position `at`: a `text` or a line, and with the `action` continue
    how many texts (`n`, or `n:NAME` of one model) the models `using` write."""

    text = Text()
    at = Text()
    action = Text()
    tokens = Word()
    temperature = Word()
    n = Word()
    using = Words()

    def __init__(self, sent: QueryDict) -> None:
        super().__init__(sent)
        self.fields |= {f"n:{name}": Word() for name in sent.getlist("using")}


def _continue_args(given: Mapping[str, Any]) -> list[Continue]:
    """The arguments of `continue` from the form's settings: one set for all models that should
    write the same number. Raises CommandError for an invalid number."""
    shared = {name: given[name] for name in ("tokens", "temperature") if given[name]}
    usual = given["n"]
    by_count: dict[str, list[Ref]] = {}
    for name in given["using"]:
        count = given[f"n:{name}"] or usual
        by_count.setdefault(count, []).append(Ref("agent", name=name))
    return [
        checked(Continue, {**shared, **({"n": count} if count else {}), "using": tuple(agents)})
        for count, agents in (by_count or {usual: []}).items()
    ]


@require_POST
@person
def run(request: PersonRequest, uid: str) -> HttpResponse:
    """Runs the command of the form, and redirects to the reader's new position."""
    actor, tree = access.get_tree(request.user, uid)
    given = ComposerForm.read(request)
    at = given["at"]
    try:
        for asked in _asked(given):
            answer = _run(actor, tree, asked, at)
            at = str(answer.body["position"])
            messages.success(request, answer.reply)
    except CommandError as refused:
        messages.error(request, refused.reply)
    return HttpResponseRedirect(
        f"/trees/{tree.uid}?node={quote(at)}" if at else f"/trees/{tree.uid}"
    )


def _asked(given: Mapping[str, Any]) -> list[str | Respond | Continue]:
    """The line of the form, or the one that its text and button stand for."""
    text = given["text"]
    if _COMMAND.match(text):
        return [text]
    asked: list[str | Respond | Continue] = [Respond(content=text)] if text else []
    if given["action"] == "continue":
        asked += _continue_args(given)
    return asked or [Respond(content="")]


def _run(actor: Actor, tree: Tree, asked: str | Respond | Continue, at: str) -> Answer:
    if isinstance(asked, str):
        return execute_line(actor, tree, Request(line=asked, at=at))
    if isinstance(asked, Respond):
        return execute(actor, tree, respond, asked, request=Request("", at=at))
    return execute(actor, tree, continue_, asked, request=Request("", at=at))


# The weave below the position: continuations, finished and running.


MAX_CARD_TEXT = 700


@dataclass(frozen=True)
class Card:
    """One continuation: a node, or a running generation (`generation` set)."""

    who: Who  # who wrote most of it
    text: str
    is_cut: bool
    others: tuple[Who, ...] = ()  # who wrote the rest
    spans: SafeString | None = None  # the text by author, if there are several
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
    again: str = ""  # the call that retries a failed one; "": a retry would not help
    is_excluded: bool = False
    asked_by: str = ""  # for a running one
    before: int = 0  # candidates that begin before this one
    same: str = ""  # the whole text of a finished one
    rest: str = ""  # of the second half of a split: the undivided text
    # Others with the same text, or nearly the same, folded into this one.
    alike: tuple["Card", ...] = ()

    @property
    def below(self) -> str:
        """The number of its continuations, in words."""
        return at_most(self.children)

    @property
    def are_identical(self) -> bool:
        """Whether all that is folded into this card has its text."""
        return all(card.same == self.same for card in self.alike)

    @property
    def keys(self) -> str:
        """The shortcut numbers that select this card: its own and those of the folded ones."""
        return " ".join(str(card.key) for card in (self, *self.alike))


@dataclass(frozen=True)
class Weave:
    """The continuations of one node. `more` are those after the last card; `asked` are the models
    that the reader last asked on this path, `asked_here` whether that was here."""

    point: str
    cards: tuple[Card, ...]
    total: int
    coming: int
    is_root: bool
    asked: dict[str, AskedSettings] = field(default_factory=dict)
    asked_here: bool = False

    @property
    def count(self) -> int:
        """The number of candidates, with those behind the cards and after the last one. One that
        failed is none."""
        shown = sum(1 + len(card.alike) for card in self.cards if not card.failed)
        return shown + max(0, self.total - MAX_CARDS)

    @property
    def counted(self) -> str:
        """`count` as it is shown: `1000+` where there are more than are counted."""
        return f"{MOST_COUNTED}+" if self.total > MOST_COUNTED else str(self.count)

    @property
    def asked_json(self) -> str:
        """`asked`, for the page's scripts."""
        return json.dumps({name: asdict(settings) for name, settings in self.asked.items()})

    @property
    def more(self) -> str:
        """The number of finished ones that are not shown; empty: none."""
        if self.total > MOST_COUNTED:
            return f"{MOST_COUNTED - MAX_CARDS}+"
        return str(self.total - MAX_CARDS) if self.total > MAX_CARDS else ""


class Point(Protocol):
    """The version that has the continuations: a NearbyVersion or a PathEnd."""

    @property
    def local_id(self) -> str: ...
    @property
    def parent_slot_id(self) -> int | None: ...


@dataclass(frozen=True)
class NodesBelow:
    """What is below a point: the shown rows out of `total` text slots, the number of texts below
    each by slot, and the candidates."""

    point: Point
    rows: Sequence[NodeRow]
    total: int
    children: Mapping[int, int]
    places: Mapping[int, int]  # of the slots among their siblings
    begun: Mapping[int, Candidate]
    coming: Sequence[Candidate]
    pieces: Mapping[int, Pieces]  # who wrote the rows


def woven(
    nodes_below: NodesBelow,
    cast: dict[str, Who],
    *,
    failed: Sequence[Candidate] = (),
    asked: dict[str, AskedSettings] | None = None,
    asked_here: bool = False,
) -> Weave:
    """The weave, in the order of siblings, including running ones. A candidate keeps its place, and
    so its shortcut, when it ends before one that was asked for earlier. Failed ones come last and
    have no shortcut: the others keep theirs when one of these is dismissed or tried again.
    """
    begun, coming = nodes_below.begun, nodes_below.coming
    pieces = nodes_below.pieces
    rests = rests_of(nodes_below.rows, nodes_below.children)
    cards = []
    for row in nodes_below.rows:
        card = _card(row, cast, begun, pieces[row.id], nodes_below.children)
        if row.id in rests:
            whole, below = rests[row.id]
            card = replace(card, rest=whole, children=below)
        cards.append(((nodes_below.places[row.slot_id], row.id), card))
    cards += [((candidate.place, candidate.pk), _stream(candidate, cast)) for candidate in coming]
    ordered = [card for _, card in sorted(cards, key=lambda pair: pair[0])]
    return Weave(
        point=nodes_below.point.local_id,
        cards=(
            *folded([replace(card, key=key) for key, card in enumerate(ordered, 1)]),
            *(_lost(candidate, cast) for candidate in failed),
        ),
        total=nodes_below.total,
        coming=len(coming),
        is_root=nodes_below.point.parent_slot_id is None,
        asked=asked or {},
        asked_here=asked_here,
    )


def cards_of(way: Way, chosen: Mapping[int, int]) -> list[int]:
    """The versions (row ids) below the end of a path that have a card: those that the reader
    selected, by slot, else the newest."""
    slots = way.around.texts(way.path[-1].slot_id)[:MAX_CARDS]
    return [way.around.selected(slot, chosen.get(slot)).id for slot in slots]


def weave_of(
    actor: Actor,
    way: Way,
    cards: Sequence[NodeRow],
    pieces: Mapping[int, Pieces],
    cast: dict[str, Who],
) -> Weave:
    """The weave below the end of a path for the actor, from the rows that have a card and the
    authors of their pieces; with the actor's failed candidates, and the models they last asked on
    the path. One query."""
    end = way.here
    path = [spot.id for spot in way.path]
    versions = [version.id for version in way.around.versions[end.slot_id]]
    slots = [row.slot_id for row in cards]
    candidates = candidates_of(slots, versions, by=actor.participant, path=path)
    nodes_below = NodesBelow(
        point=end,
        rows=cards,
        total=way.around.children[end.slot_id],
        children=way.around.children,
        places=way.around.places,
        begun=candidates.begun,
        coming=candidates.coming,
        pieces=pieces,
    )
    is_here = candidates.asked_at == end.pk
    return woven(
        nodes_below, cast, failed=candidates.lost, asked=candidates.asked, asked_here=is_here
    )


def folded(cards: Sequence[Card]) -> tuple[Card, ...]:
    """The cards, with those of the same text shown once: as the one that continues, else the
    first. Texts of models that are nearly the same are folded, too, unless they are continued. All
    of them stay nodes, and keep their shortcuts."""
    groups: dict[str, list[Card]] = {}
    for card in cards:
        if card.same:
            groups.setdefault(card.same, []).append(card)
    shown: dict[int, Card] = {}
    for same in groups.values():
        first = max(same, key=lambda card: (card.children, -card.key))
        rest = tuple(card for card in same if card is not first)
        shown[first.key] = replace(first, alike=rest)
    _fold_near(shown)
    return tuple(shown.get(card.key, card) for card in cards if not card.same or card.key in shown)


def _fold_near(shown: dict[int, Card]) -> None:
    """Folds near-duplicates of models among cards, by their keys, into the first of them or the
    one that is continued. What a person wrote, or somebody went on from, is shown by itself."""
    near = [card for card in shown.values() if card.who.kind == "model"]
    if len(near) < 2:
        return
    near.sort(key=lambda card: (-card.children, card.key))
    for places in groups_alike([card.same for card in near]):
        first, *rest = (near[at] for at in places)
        for card in rest:
            if card.children or card.alike:
                continue
            del shown[card.key]
            held = shown[first.key]
            shown[first.key] = replace(held, alike=(*held.alike, card))


def _card(
    row: NodeRow,
    cast: dict[str, Who],
    begun: Mapping[int, Candidate],
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


def _lost(candidate: Candidate, cast: dict[str, Who]) -> Card:
    error = candidate.error
    message, hint = failure_shown(error)
    pays = error.get("retryable", True)
    return Card(
        who=cast[candidate.participant],
        text="",
        is_cut=False,
        generation=candidate.uid,
        failed=message or gettext("The model returned no text."),
        hint=hint,
        again=again(candidate, candidate.name) if pays else "",
    )


def again(candidate: Candidate | Generation, name: str, point: str = "") -> str:
    """The call, in JSON, that asks the participant with that name for one more candidate with the
    same settings, below the node `point`."""
    own: dict[str, Any] = {"tokens": candidate.tokens, "temperature": candidate.temperature}
    given = {name: value for name, value in own.items() if value is not None}
    if candidate.settings:
        given["settings"] = samplers_written(candidate.settings)
    below = {"ref": point} if point else {}
    return call("continue", **below, n=1, **given, using=[print_ref(Ref("agent", name=name))])


def _stream(candidate: Candidate, cast: dict[str, Who]) -> Card:
    return Card(
        who=cast[candidate.participant],
        text=candidate.text,
        is_cut=False,
        generation=candidate.uid,
        chunk=candidate.chunk,
        note=candidate.note,
        asked_by=candidate.asked_by,
        before=candidate.before,
    )


def agents_of(cast: dict[str, Who]) -> list[dict[str, Any]]:
    """The models that can be asked, for the composer."""
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
