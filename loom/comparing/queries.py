"""What models wrote in a tree, side by side, and who contributed when. The reader has been let into
the tree by those who ask."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, QuerySet, Sum
from django.db.models.functions import TruncDate

from loom.access import Actor
from loom.comparing.rules import ModelFigure, mean, share
from loom.participants.prices import NANO
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import nodes_in, withheld
from loom.turns.models import Generation

MOST = 2_000  # generations that are compared, the newest
MOST_READ = 600  # texts whose variety is measured, the newest
MOST_BEHIND = 100  # texts that are shown behind a figure, the newest
MOST_COUNTED = 20_000  # nodes whose days and authors are counted, the newest
MOST_DAYS = 120  # that a history of contributions has, the newest
ENDED = ("done", "stopped", "interrupted", "failed")
FIGURES = ("length", "variety", "cost", "speed", "taken", "failed")


@dataclass
class _Heap:
    """What one model wrote, as it is counted."""

    lengths: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    texts: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    asked: int = 0
    failed: int = 0
    written: int = 0
    taken: int = 0
    places: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class ModelCompared:
    """One model, or what it wrote with the same settings (`asked_with`): how many texts it was
    asked for and at how many places, then for each text the characters, the dollars (where a price
    is known), the characters a second; the share of different answers among those of one place; the
    shares that somebody went on from, and that failed or broke off."""

    model: Participant
    asked: int
    places: int
    length: ModelFigure
    variety: ModelFigure
    cost: ModelFigure
    speed: ModelFigure
    taken: ModelFigure
    failed: ModelFigure
    asked_with: str = ""

    def figure(self, name: str) -> ModelFigure:
        """One of FIGURES."""
        figure: ModelFigure = getattr(self, name)
        return figure


@dataclass(frozen=True)
class _Asked:
    model: int
    place: int
    status: str
    spent: int | None
    seconds: float | None
    node: int | None
    length: int
    is_taken: bool
    asked_with: str


def compared(tree: Tree, *, only_shared: bool, by_settings: bool = False) -> list[ModelCompared]:
    """The models of a tree by what they were asked for; with `only_shared` only at places where at
    least two of them were, and `by_settings` apart for each temperature and other settings. Three
    queries, which read 2,000 generations and 600 texts at most."""
    rows = _asked(tree)
    if only_shared:
        models_at: dict[int, set[int]] = defaultdict(set)
        for row in rows:
            models_at[row.place].add(row.model)
        rows = [row for row in rows if len(models_at[row.place]) > 1]
    read = [row.node for row in rows if row.node is not None][:MOST_READ]
    texts = dict(Node.objects.filter(pk__in=read).values_list("pk", "text"))
    heaps: dict[tuple[int, str], _Heap] = defaultdict(_Heap)
    for row in rows:
        _count(heaps[row.model, row.asked_with if by_settings else ""], row, texts)
    models = Participant.objects.in_bulk({model for model, _ in heaps})
    sums = [
        replace(_summed(models[model], heap), asked_with=asked_with)
        for (model, asked_with), heap in heaps.items()
    ]
    if by_settings:
        return sorted(sums, key=lambda row: (row.model.name, row.model.pk, row.asked_with))
    return sorted(sums, key=lambda row: (-row.asked, row.model.name))


def asked_with(tokens: int | None, temperature: float | None, settings: dict[str, Any]) -> str:
    """The settings of a request in one line: `temperature:0.7 top_p:0.9`; "" for those of the model
    itself."""
    given = {"temperature": temperature, "tokens": tokens}
    every = {name: value for name, value in given.items() if value is not None}
    every |= dict(sorted(settings.items()))
    return " ".join(f"{name}:{json.dumps(value, sort_keys=True)}" for name, value in every.items())


def _asked(tree: Tree) -> list[_Asked]:
    went_on = Node.objects.filter(parent_slot=OuterRef("node__slot"), kind="text")
    rows = (
        Generation.objects.filter(tree=tree, round=0, ended_at__isnull=False)
        .annotate(is_taken=Exists(went_on))
        .order_by("-id")
        .values_list(
            "participant_id",
            "point__slot_id",
            "status",
            "spent",
            "call__started_at",
            "ended_at",
            "node_id",
            "node__length",
            "is_taken",
            "tokens",
            "temperature",
            "settings",
        )[:MOST]
    )
    return [
        _Asked(
            *(model, place, status, spent),
            *(_seconds(begun, ended), node, length or 0, taken),
            asked_with(*settings),
        )
        for model, place, status, spent, begun, ended, node, length, taken, *settings in rows
    ]


def _seconds(begun: datetime | None, ended: datetime | None) -> float | None:
    if begun is None or ended is None:
        return None
    passed = (ended - begun).total_seconds()
    return passed if passed > 0 else None


def _count(heap: _Heap, row: _Asked, texts: dict[int, str]) -> None:
    heap.asked += 1
    heap.places.add(row.place)
    heap.failed += row.status in ("failed", "interrupted")
    if row.spent is not None:
        heap.costs.append(row.spent / NANO)
    if row.node is None:
        return
    heap.written += 1
    heap.taken += row.is_taken
    heap.lengths.append(float(row.length))
    if row.seconds is not None:
        heap.speeds.append(row.length / row.seconds)
    if row.node in texts:
        heap.texts[row.place].append(texts[row.node])


def _summed(model: Participant, heap: _Heap) -> ModelCompared:
    from loom.embedding.variety import how_many, shared  # NumPy is loaded when it is needed

    several = [texts for texts in heap.texts.values() if len(texts) > 1]
    return ModelCompared(
        model,
        heap.asked,
        len(heap.places),
        mean(heap.lengths),
        mean([how_many(shared(texts)) / len(texts) for texts in several]),
        mean(heap.costs),
        mean(heap.speeds),
        share(heap.taken, heap.written),
        share(heap.failed, heap.asked),
    )


def coming_in(tree: Tree) -> int:
    """How many candidates are being written in a tree."""
    return Generation.objects.filter(tree=tree, round=0, ended_at__isnull=True).count()


@dataclass(frozen=True)
class TextBehind:
    """A text behind a figure: its place, and whether somebody went on from it; without a node it
    failed."""

    point: str
    node: str
    text: str
    status: str
    is_taken: bool


def behind(
    actor: Actor, tree: Tree, model: Participant, figure: str, *, settings: str | None = None
) -> list[TextBehind]:
    """The texts behind a figure of a model, newest first: those that were taken or have failed, all
    that were asked for, or all that were written; with `settings` only those asked for with them
    (`asked_with`). One query, one more with settings, and for agents one more."""
    went_on = Node.objects.filter(parent_slot=OuterRef("node__slot"), kind="text")
    rows = Generation.objects.filter(
        tree=tree, round=0, ended_at__isnull=False, participant=model
    ).annotate(is_taken=Exists(went_on))
    if figure == "taken":
        rows = rows.filter(is_taken=True)
    elif figure == "failed":
        rows = rows.filter(status__in=("failed", "interrupted"))
    elif figure != "asked":
        rows = rows.filter(node__isnull=False)
    if settings is not None:
        # Databases do not compare JSON alike.
        columns = rows.order_by("-id").values_list("pk", "tokens", "temperature", "settings")
        alike = [key for key, *given in columns[:MOST] if asked_with(*given) == settings]
        rows = rows.filter(pk__in=alike[:MOST_BEHIND])
    candidates = list(
        rows.order_by("-id").values_list(
            "point__local_id", "node_id", "node__local_id", "node__text", "status", "is_taken"
        )[:MOST_BEHIND]
    )
    gone = withheld(actor, [key for _, key, *_ in candidates if key is not None])
    return [
        TextBehind(point, local_id or "", "" if key in gone else (text or "")[:400], status, taken)
        for point, key, local_id, text, status, taken in candidates
    ]


@dataclass(frozen=True)
class Contribution:
    """How many texts and characters somebody added to a tree on a day (UTC)."""

    day: date
    who: Participant
    texts: int
    characters: int


def contributions(tree: Tree) -> list[Contribution]:
    """Who added how much on each of the newest days, oldest first, of the newest MOST_COUNTED
    nodes. Three queries, which read no more in a larger tree."""
    rows = (
        _counted(tree)
        .annotate(day=TruncDate("created_at"))
        .values("day", "author")
        .annotate(texts=Count("pk"), characters=Sum(F("length")))
        .order_by()
    )
    sums = list(rows)
    days = sorted({row["day"] for row in sums})[-MOST_DAYS:]
    authors = Participant.objects.in_bulk({row["author"] for row in sums})
    return [
        Contribution(row["day"], authors[row["author"]], row["texts"], row["characters"] or 0)
        for row in sorted(sums, key=lambda row: (row["day"], -row["texts"], row["author"]))
        if row["day"] in set(days)
    ]


def _counted(tree: Tree) -> QuerySet[Node]:
    """The texts among the newest MOST_COUNTED nodes of a tree. One query of its own."""
    older = nodes_in(tree.pk).order_by("-pk").values_list("pk", flat=True)
    start = next(iter(older[MOST_COUNTED : MOST_COUNTED + 1]), 0)
    return nodes_in(tree.pk, after=start - 1).filter(kind="text", parent_slot__isnull=False)


def contributed(actor: Actor, tree: Tree, who: Participant, day: date) -> list[TextBehind]:
    """The texts that somebody added on a day (UTC), newest first, at most 100. Two queries, and for
    agents one more."""
    went_on = Node.objects.filter(parent_slot=OuterRef("slot"), kind="text")
    rows = (
        _counted(tree)
        .annotate(day=TruncDate("created_at"), is_taken=Exists(went_on))
        .filter(day=day, author=who)
        .order_by("-pk")
        .values_list("pk", "parent_slot__local_id", "local_id", "text", "is_taken")
    )
    texts = list(rows[:100])
    gone = withheld(actor, [key for key, *_ in texts])
    return [
        TextBehind(point, local_id, "" if key in gone else text[:400], "done", taken)
        for key, point, local_id, text, taken in texts
    ]


def by_author(rows: Iterable[Contribution]) -> list[tuple[Participant, Sequence[Contribution]]]:
    """The contributions of each author, who added most first."""
    heaps: dict[int, list[Contribution]] = defaultdict(list)
    for row in rows:
        heaps[row.who.pk].append(row)
    ordered = sorted(
        heaps.values(), key=lambda own: -sum(contribution.characters for contribution in own)
    )
    return [(own[0].who, own) for own in ordered]
