"""Tags as wholes: renamed, coloured, or taken off everything in a grove."""

from django.db.models import QuerySet

from loom.access import Actor
from loom.commands.execute import execute
from loom.commands.marks import mark_body
from loom.commands.registry import Args, Change, action
from loom.events import streams
from loom.models import Document, Grove, Item, Mark, Tree
from loom.queries.search import is_tag
from loom.rules import identity
from loom.rules.errors import CommandError
from loom.rules.names import TAG_COLOURS

MAX_NAME = 100


class TagChange(Args):
    """What changes of a tag: its name (empty: nothing) or its colour (None: nothing, empty: no
    colour)."""

    tag: str
    name: str = ""
    colour: str | None = None


class TagNamed(Args):
    """A tag by its name."""

    tag: str


def change_tag(actor: Actor, tag: str, *, name: str = "", colour: str | None = None) -> str:
    """Renames a tag or gives it a colour, in all trees of the grove; returns its name. For
    writers. A name that another tag has makes one tag of the two."""
    return execute(actor, actor.grove, _change_tag, TagChange(tag=tag, name=name, colour=colour))


def remove_tag(actor: Actor, tag: str) -> int:
    """Takes a tag off everything in the grove; returns off how many items. The items stay. For
    owners."""
    return execute(actor, actor.grove, _remove_tag, TagNamed(tag=tag))


@action("change_tag", stream="grove", role="writer")
def _change_tag(change: Change, args: TagChange) -> str:
    """Renames a tag or gives it a colour, in all trees of the grove."""
    labels = _labels(change.actor.grove)
    known = _spelled(args.tag, labels)
    if args.colour and args.colour not in TAG_COLOURS:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{args.colour[:40]!r} is not a colour of tags.",
            hint=" or ".join(TAG_COLOURS),
        )
    name = _checked(args.name) if args.name.strip() else known[0]
    if args.name.strip():
        others = [one for one in labels if is_tag(one, name) and one not in known]
        name = others[0] if others else name
        _rename(change, known, name)
    _recolour(change, known, name, args.colour)
    return name


@action("remove_tag", stream="grove", role="owner")
def _remove_tag(change: Change, args: TagNamed) -> int:
    """Takes a tag off everything in the grove. The items stay."""
    known = _spelled(args.tag, _labels(change.actor.grove))
    removed = 0
    for tree, marks in _by_tree(change.actor.grove, known):
        writer = streams.lock(tree, actor=change.actor.participant.uid)
        items = list(marks.values_list("item_id", flat=True))
        removed += marks.update(removed_at=change.now)
        writer.append("tag.removed", {"tags": known, "items": _shown(items)})
        writer.flush()
    _recolour(change, known, "", "")
    return removed


def _labels(grove: Grove) -> list[str]:
    """The tags in use in a grove, and those with a colour."""
    rows = Mark.objects.filter(tree__grove=grove, kind="tag", removed_at__isnull=True)
    used = rows.order_by().values_list("label", flat=True).distinct()
    return [*dict.fromkeys([*used, *grove.settings.get("tag_colours", {})])]


def _spelled(tag: str, labels: list[str]) -> list[str]:
    """The spellings of a tag among those in use. NOT_FOUND where it is none of them."""
    known = [one for one in labels if is_tag(one, tag.removeprefix("#"))]
    if not known:
        raise CommandError(
            "NOT_FOUND", f"There is no tag #{tag[:MAX_NAME]}.", hint="see the list of tags"
        )
    return known


def _checked(name: str) -> str:
    """A name as a tag can have it."""
    kept = " ".join(name.split()).removeprefix("#").strip()
    if not kept or len(kept) > MAX_NAME or any(one in '"\0' for one in kept):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A tag has 1 to {MAX_NAME} characters and no quotation marks.",
            hint="#river or #two words",
        )
    return kept


def _by_tree(grove: Grove, labels: list[str]) -> list[tuple[Tree, "QuerySet[Mark]"]]:
    """The trees with the tag, and its marks in each, in the order in which trees are locked."""
    marks = Mark.objects.filter(kind="tag", label__in=labels, removed_at__isnull=True)
    trees = Tree.objects.filter(
        grove=grove, erasing_at__isnull=True, pk__in=marks.values("tree_id")
    )
    return [(tree, marks.filter(tree=tree)) for tree in trees.order_by("pk")]


def _rename(change: Change, known: list[str], name: str) -> None:
    """Gives all marks of the tag the name; what has both tags keeps one mark."""
    for tree, marks in _by_tree(change.actor.grove, known):
        writer = streams.lock(tree, actor=change.actor.participant.uid)
        for mark in _twice(tree, marks, name):
            mark.removed_at = change.now
            mark.save(update_fields=["removed_at"])
            writer.append("mark.removed", {"mark": mark_body(mark, _shown([mark.item_id])[0])})
        items = list(marks.exclude(label=name).values_list("item_id", flat=True))
        # Marks that were taken off come back by undo with the name that the tag has then.
        Mark.objects.filter(tree=tree, kind="tag", label__in=known).update(label=name)
        if items:
            writer.append("tag.renamed", {"tags": known, "name": name, "items": _shown(items)})
        writer.flush()


def _twice(tree: Tree, marks: "QuerySet[Mark]", name: str) -> list[Mark]:
    """The marks whose items have the other tag already."""
    others = Mark.objects.filter(tree=tree, kind="tag", label=name, removed_at__isnull=True)
    rows = marks.exclude(label=name).filter(item_id__in=others.values("item_id"))
    return list(rows.select_related("participant"))


def _shown(items: list[int]) -> list[str]:
    """Items as events name them: local ids, and tree:ID."""
    rows = Item.objects.filter(pk__in=items).select_related("tree", "node")
    names = {row.pk: row.node.local_id if row.node else f"tree:{row.tree.uid}" for row in rows}
    documents = Document.objects.filter(pk__in=[-one for one in items if one < 0])
    names |= {identity.of_document(one.pk): f"doc:{one.uid}" for one in documents}
    return [names[one] for one in items if one in names]


def _recolour(change: Change, known: list[str], name: str, colour: str | None) -> None:
    """Keeps the colour of a tag under its name; `name` empty: none is left."""
    grove = Grove.objects.get(pk=change.actor.grove.pk)
    before = dict(grove.settings.get("tag_colours", {}))
    had = next((before[one] for one in known if one in before), "")
    colours = {one: value for one, value in before.items() if one not in known}
    wanted = had if colour is None else colour
    if name and wanted and (colour is not None or name not in colours):
        colours[name] = wanted
    if colours == before:
        return
    grove.settings = {**grove.settings, "tag_colours": colours}
    grove.save(update_fields=["settings"])
    body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
    change.writer.append("grove.changed", body)
