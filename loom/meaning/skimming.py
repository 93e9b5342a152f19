"""The candidates below a node as a grid to skim: near-duplicates folded, in the order of nearness,
with what differs from the first, and a sentence about their variety. Works while they stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from loom.access import Actor
from loom.embedding.embedders import EmbedderFailed, embedded, embedder_of, is_remote
from loom.meaning.queries import vectors_of
from loom.notes.models import Mark
from loom.reading.queries.path_page import candidates_of
from loom.text.changes import difference
from loom.trees.models import Node, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import rows_of, selected_versions, withheld

if TYPE_CHECKING:
    from loom.embedding.vectors import Floats

MOST = 128  # candidates that are compared
SHOWN = 1_500  # characters of each that are shown
LEAST_SAME = 0.25  # share of a text that must be as in the first, for the rest to be marked


@dataclass(frozen=True)
class Skimmed:
    """A finished candidate (`id`) or one that is being written (`generation`)."""

    id: str
    generation: str
    by: str  # the uid of its author
    text: str
    is_bookmarked: bool = False


@dataclass(frozen=True)
class SkimCell:
    """A place of the grid: a candidate, its text in pieces (text, whether it differs from the
    first), and its near-duplicates."""

    candidate: Skimmed
    pieces: tuple[tuple[str, bool], ...]
    is_cut: bool
    alike: tuple[Skimmed, ...]


@dataclass(frozen=True)
class GivenOrder:
    """An order of candidates, by their places (None: it stays as it is), and why, in a sentence."""

    places: list[int] | None
    why: str


Order = Callable[[Actor, Node, Sequence[Skimmed]], GivenOrder | None]
_orders: dict[str, Order] = {}


def orders_candidates(name: str) -> Callable[[Order], Order]:
    """Registers another order of the candidates below a node; it returns None where there is
    none for this person."""

    def register(order: Order) -> Order:
        _orders[name] = order
        return order

    return register


@dataclass(frozen=True)
class SkimGrid:
    """The cells in order; `said` is the sentence about all `count` candidates, of which `coming`
    are still written; `left` are those that are not compared. `order` is that of the cells:
    nearness, or one that is registered, with `why`."""

    cells: tuple[SkimCell, ...]
    said: str
    count: int
    coming: int
    left: int
    order: str = "nearness"
    why: str = ""


def grid_of(
    actor: Actor, node: Node, workspace: Workspace | None, *, order: str = "nearness"
) -> SkimGrid:
    """The candidates below a node as the actor may see them: selected wordings, none pruned, by
    nearness or in an `order` that is registered. About eight queries."""
    from loom.embedding.variety import alike, how_many, in_order, nearness

    some, left = _candidates(actor, node, workspace)
    texts = [candidate.text for candidate in some]
    vectors = _vectors(node, texts)
    groups = alike(texts, vectors)
    near = nearness(texts, vectors)
    firsts = [group[0] for group in groups]
    given = _orders[order](actor, node, [some[at] for at in firsts]) if order in _orders else None
    is_given = given is not None and given.places is not None
    places = given.places if given is not None else None
    if places is None:
        places = in_order(near[firsts][:, firsts])
    first = texts[firsts[places[0]]] if places else ""
    cells = []
    for number, place in enumerate(places):
        group = groups[place]
        candidate = some[group[0]]
        cells.append(
            SkimCell(
                candidate,
                _pieces(first, candidate.text) if number else ((candidate.text[:SHOWN], False),),
                len(candidate.text) > SHOWN,
                tuple(some[at] for at in group[1:]),
            )
        )
    return SkimGrid(
        tuple(cells),
        _said(len(texts), how_many(near)),
        len(texts),
        sum(not candidate.id for candidate in some),
        left,
        order if is_given else "nearness",
        given.why if given is not None else "",
    )


def _candidates(actor: Actor, node: Node, workspace: Workspace | None) -> tuple[list[Skimmed], int]:
    """The finished candidates in the order of siblings, then those being written that have a text
    already; and how many more there are."""
    below = lookup.slots_below(node.slot_id)
    slots = list(below.values_list("pk", flat=True)[: MOST + 1])
    left = max(0, below.count() - MOST) if len(slots) > MOST else 0
    chosen = selected_versions(slots[:MOST], workspace)
    keys = [chosen[slot][0] for slot in slots[:MOST] if slot in chosen]
    gone = withheld(actor, keys)
    marks = Mark.objects.filter(
        item__in=keys, kind="bookmark", removed_at=None, participant=actor.participant
    )
    marked = set(marks.values_list("item", flat=True))
    written = [
        Skimmed(row.local_id, "", row.author_uid, row.text, row.id in marked)
        for row in rows_of([key for key in keys if key not in gone])
        if row.text.strip()
    ]
    versions = list(Node.objects.filter(slot=node.slot_id).values_list("pk", flat=True))
    coming = [
        Skimmed("", draft.uid, draft.participant, draft.text)
        for draft in candidates_of((), versions).coming
        if draft.text.strip()
    ]
    return [*written, *coming][:MOST], left


def _vectors(node: Node, texts: list[str]) -> "Floats | None":
    """The vectors of the texts, one a row; None without an embedder, or if it does not answer."""
    embedder = embedder_of(node.tree.grove)
    if not texts or embedder is None:
        return None
    import numpy as np

    try:
        if is_remote(embedder):  # drafts change all the time: an endpoint is not asked for them
            local = embedded()
            return local.vectors(texts) if local is not None else None
        vectors = vectors_of(node.tree, dict(enumerate(texts)))
    except EmbedderFailed:
        return None
    return np.stack([vectors[at] for at in range(len(texts))])


def _pieces(first: str, text: str) -> tuple[tuple[str, bool], ...]:
    """A text in pieces, with those marked that are not so in the first one; nothing is marked if
    little is the same."""
    shown = text[:SHOWN]
    changes = difference(first[:SHOWN], shown) or []
    same = sum(len(new) for old, new in changes if old == new)
    if same < LEAST_SAME * len(shown):
        return ((shown, False),)
    return tuple((new, old != new) for old, new in changes if new)


def _said(count: int, different: float) -> str:
    """`about 4 different answers of 12`."""
    if count < 2:
        return ""
    number = max(1, min(count, round(different)))
    if number == count:
        return gettext("%(count)s different answers") % {"count": count}
    return ngettext(
        "%(count)s answers that say nearly the same",
        "about %(number)s different answers of %(count)s",
        number,
    ) % {"number": number, "count": count}
