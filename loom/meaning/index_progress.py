"""How far the trees of a grove are indexed, as its members see it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery, Sum, Value

from loom import access
from loom.access import Actor
from loom.embedding.embedders import embedder_of
from loom.engine import backoff
from loom.language.ids import ORDINAL_BITS, ids_in
from loom.meaning.embedder_settings import settings_in
from loom.meaning.models import EmbedderSettings, VectorState
from loom.trees.models import Node, Tree

MOST_LISTED = 10  # trees that are named while they are indexed
MOST_COUNTED = 2_000  # trees, the last changed, that are looked at


@dataclass(frozen=True)
class TreeProgress:
    """A tree that is not indexed up to its last change: how far it is, in percent, and why it
    waits."""

    tree: Tree
    percent: int
    error: str


@dataclass(frozen=True)
class IndexProgress:
    """How many of the trees are indexed, how many texts have vectors, the trees that are not, and
    why the embedder pauses ("": it does not). `embedder` is "" where nothing is installed."""

    embedder: str
    settings: EmbedderSettings
    indexed: int
    trees: int
    texts: int
    waiting: tuple[TreeProgress, ...]
    pause: str

    @property
    def percent(self) -> int:
        """The share of trees that are indexed."""
        return 100 * self.indexed // self.trees if self.trees else 100


def progress_of(actor: Actor) -> IndexProgress:
    """The progress in the trees that the actor may see, the last changed 2,000 of them. About seven
    queries."""
    settings, embedder = settings_in(actor.grove), embedder_of(actor.grove)
    name = embedder.name if embedder is not None else ""
    rows = access.trees_for(actor).filter(grove=actor.grove, erasing_at=None)
    trees = list(rows.order_by("-touched_at")[:MOST_COUNTED])
    states = VectorState.objects.filter(tree__in=[tree.pk for tree in trees], embedder=name)
    by_tree = {state.tree_id: state for state in states}
    behind = [tree for tree in trees if not _is_indexed(tree, by_tree.get(tree.pk))]
    listed = behind[:MOST_LISTED]
    newest = _newest_of(listed)
    return IndexProgress(
        name,
        settings,
        len(trees) - len(behind),
        len(trees),
        states.aggregate(n=Sum("count"))["n"] or 0,
        tuple(_progress(tree, by_tree.get(tree.pk), newest[tree.pk]) for tree in listed),
        backoff.pause(name)[1] if name else "",
    )


def _is_indexed(tree: Tree, state: VectorState | None) -> bool:
    return state is not None and state.seen_at is not None and state.seen_at >= tree.touched_at


def _newest_of(trees: Sequence[Tree]) -> dict[int, int]:
    """The id of the newest node of each of these trees. One query, one look into an index each."""
    size = 2**ORDINAL_BITS
    of_tree = Node.objects.filter(
        pk__gte=OuterRef("pk") * Value(size), pk__lt=(OuterRef("pk") + Value(1)) * Value(size)
    )
    newest = Subquery(of_tree.order_by("-pk").values("pk")[:1])
    rows = Tree.objects.filter(pk__in=[tree.pk for tree in trees]).annotate(newest=newest)
    return {key: last or 0 for key, last in rows.values_list("pk", "newest")}


def _progress(tree: Tree, state: VectorState | None, newest: int) -> TreeProgress:
    first, _ = ids_in(tree.pk)
    done = max(0, (state.last if state is not None else 0) - first)
    percent = min(99, 100 * done // max(1, newest - first))
    return TreeProgress(tree, percent, state.error if state is not None else "")
