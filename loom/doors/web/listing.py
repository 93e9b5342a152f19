"""The rows of a grove's list of trees: what each is, its tags, and who has it open now."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from loom.access import Actor
from loom.doors.web.shown import age_of
from loom.doors.web.who import Who, cast_of
from loom.log.present import present
from loom.models import ORDINAL_BITS, Mark, Node, Stream, Tree
from loom.rules import addresses

WORDS = 200
MAX_TAGS = 40


@dataclass(frozen=True)
class TreeShown:
    """One row of the list. `words` are the description, else the first text."""

    uid: str
    title: str
    mode: str
    words: str
    nodes: int
    age: str
    at: str
    tags: tuple[str, ...]
    here: tuple[Who, ...]


def tags_of(actor: Actor) -> list[str]:
    """The tags on trees of the grove, at most 40, by name."""
    labels = _tags(actor).values_list("label", flat=True).distinct()
    return sorted(labels[:MAX_TAGS], key=str.casefold)


def trees_tagged(actor: Actor, tag: str) -> list[int]:
    """The keys of the trees of the grove that have a tag."""
    return list(_tags(actor).filter(label__iexact=tag).values_list("tree_id", flat=True))


def _tags(actor: Actor) -> QuerySet[Mark]:
    on_trees = Mark.objects.filter(tree__grove=actor.grove, kind="tag", removed_at__isnull=True)
    return on_trees.filter(item__startswith=addresses.of_tree(0)[0]).order_by("label")


def rows_shown(actor: Actor, trees: Sequence[Tree]) -> list[TreeShown]:
    """The rows; four queries more, whatever their number."""
    names = {tree.pk: f"tree:{tree.uid}" for tree in trees}
    counts = dict(Stream.objects.filter(name__in=names.values()).values_list("name", "items"))
    openings = [(tree.pk << ORDINAL_BITS) + 2 for tree in trees]
    firsts = dict(Node.objects.filter(pk__in=openings).values_list("tree_id", "text"))
    tags = _tags_by_tree(trees)
    here = here_in(actor, trees)
    return [
        TreeShown(
            uid=tree.uid,
            title=tree.title,
            mode=tree.mode,
            words=" ".join((tree.description or firsts.get(tree.pk, ""))[:WORDS].split()),
            nodes=counts.get(names[tree.pk], 0),
            age=age_of(tree.touched_at),
            at=tree.touched_at.isoformat(),
            tags=tags.get(tree.pk, ()),
            here=here[tree.uid],
        )
        for tree in trees
    ]


def tags_on(tree: Tree) -> tuple[str, ...]:
    """The tags on the tree itself, by name."""
    return _tags_by_tree([tree]).get(tree.pk, ())


def _tags_by_tree(trees: Sequence[Tree]) -> dict[int, tuple[str, ...]]:
    items = [addresses.of_tree(tree.pk) for tree in trees]
    marks = Mark.objects.filter(item__in=items, kind="tag", removed_at__isnull=True)
    found: dict[int, tuple[str, ...]] = {}
    for key, label in marks.order_by("label").values_list("tree_id", "label"):
        found[key] = (*found.get(key, ()), label)
    return found


def here_in(actor: Actor, trees: Sequence[Tree]) -> dict[str, tuple[Who, ...]]:
    """Who has each tree open now, by the tree's uid; the reader's own other tabs left out."""
    names = {f"tree:{tree.uid}": tree.uid for tree in trees}
    told = present(names)
    cast = cast_of(actor)
    return {
        uid: tuple(cast[who] for who in told.get(name, ()) if who in cast and not cast[who].is_me)
        for name, uid in names.items()
    }
