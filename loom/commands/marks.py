"""Bookmarks and tags: marks that somebody puts on a node or a tree."""

from typing import Annotated

from loom.commands.context import Context, Op, Reply, get_document, get_own_node, tree_of
from loom.commands.node_writer import make_items
from loom.commands.registry import Args, RefField, Written, command
from loom.models import Mark
from loom.queries.search import is_tag
from loom.rules import identity
from loom.rules.errors import CommandError
from loom.rules.permissions import LOOM, READ_DOCUMENTS, WRITE

MAX_LABEL = 200
MAX_TAGS = 100  # of one line: each is looked for among all of the grove, under the lock


class Bookmark(Args):
    """What to mark, and under which label."""

    ref: Annotated[RefField | None, Written("ref", but=("document",))] = None
    label: Annotated[str, Written("quoted")] = ""


class Unbookmark(Args):
    """What to unmark."""

    ref: Annotated[RefField | None, Written("ref", but=("document",))] = None


class Tag(Args):
    """What to tag, and with which names."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    names: Annotated[tuple[str, ...], Written("tags", many=True)]


class BookmarkDocument(Bookmark):
    """Which document to mark, and under which label."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class UnbookmarkDocument(Args):
    """Which document to unmark."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class TagDocument(Tag):
    """Which document to tag, and with which names."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


def _item(context: Context, ref: RefField | None) -> tuple[int, str, str]:
    """(id, how it is shown, local id, tree:ID or doc:ID) of a node here, of this tree, or of a
    document."""
    if ref is not None and ref.kind == "document":
        document = get_document(context, ref)
        item = identity.of_document(document.pk)
        return item, f'doc:"{document.title}"', f"doc:{document.uid}"
    if ref is not None and ref.kind == "tree":
        tree = tree_of(context, ref)
        if tree.pk != context.tree.pk:
            raise CommandError(
                "CROSS_TREE",
                "This would mark something in another tree.",
                hint="run the command in that tree",
            )
        return identity.of_tree(tree.pk), f'tree:"{tree.title}"', f"tree:{tree.uid}"
    node = get_own_node(context, ref)
    return identity.of_node(node.pk), f"[{node.local_id}]", node.local_id


def mark_body(mark: Mark, item: str) -> dict[str, object]:
    """A mark as its events carry it; `item` a local id or tree:ID."""
    return {
        "id": mark.uid,
        "kind": mark.kind,
        "label": mark.label,
        "item": item,
        "participant": mark.participant.uid,
    }


def add_mark(context: Context, item_id: int, item: str, kind: str, label: str) -> Op:
    """Puts a mark on an item; returns the inverse."""
    make_items([item_id])
    mark = Mark.objects.create(
        tree=context.tree,
        kind=kind,
        label=label,
        item_id=item_id,
        participant=context.actor.participant,
        at=context.now,
    )
    context.append(item_id, "mark.added", {"mark": mark_body(mark, item)})
    return {"op": "mark", "mark": mark.pk, "removed": True, "item": item}


def set_removed(context: Context, mark: Mark, item: str, removed: bool) -> Op:
    """Takes a mark off, or puts it back; returns the inverse."""
    mark.removed_at = context.now if removed else None
    mark.save(update_fields=["removed_at"])
    kind = "mark.removed" if removed else "mark.added"
    context.append(mark.item_id, kind, {"mark": mark_body(mark, item)})
    return {"op": "mark", "mark": mark.pk, "removed": not removed, "item": item}


def _own_bookmark(context: Context, item_id: int) -> Mark | None:
    return Mark.objects.filter(
        item=item_id,
        kind="bookmark",
        participant=context.actor.participant,
        removed_at__isnull=True,
    ).first()


_WITH_DOCUMENTS = {LOOM, WRITE, READ_DOCUMENTS}


@command("bookmark", group="Make", klass="write", permissions=_WITH_DOCUMENTS, stream="grove")
def bookmark_document(context: Context, args: BookmarkDocument) -> Reply:
    """Bookmarks a document; others can see it."""
    return _bookmark(context, args)


@command("bookmark", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def bookmark(context: Context, args: Bookmark) -> Reply:
    """Bookmarks a node; others can see it. A new label replaces the old one."""
    return _bookmark(context, args)


def _bookmark(context: Context, args: Bookmark) -> Reply:
    if len(args.label) > MAX_LABEL:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A label has at most {MAX_LABEL} characters.",
            hint="write the rest as an annotation",
        )
    item_id, shown, item = _item(context, args.ref)
    old = _own_bookmark(context, item_id)
    inverse: tuple[Op, ...] = ()
    if old is not None:
        if old.label == args.label:
            raise CommandError(
                "REJECTED", f"{shown} is already bookmarked.", hint="use another label"
            )
        inverse = (set_removed(context, old, item, True),)
    inverse = (add_mark(context, item_id, item, "bookmark", args.label), *inverse)
    label = f' as "{args.label}"' if args.label else ""
    return Reply(f"✓ bookmarked {shown}{label}", refs=(item,), items=(item_id,), inverse=inverse)


@command("unbookmark", group="Make", klass="write", permissions=_WITH_DOCUMENTS, stream="grove")
def unbookmark_document(context: Context, args: UnbookmarkDocument) -> Reply:
    """Removes your bookmark from a document."""
    return _unbookmark(context, args)


@command("unbookmark", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def unbookmark(context: Context, args: Unbookmark) -> Reply:
    """Removes your bookmark from a node."""
    return _unbookmark(context, args)


def _unbookmark(context: Context, args: Unbookmark | UnbookmarkDocument) -> Reply:
    item_id, shown, item = _item(context, args.ref)
    old = _own_bookmark(context, item_id)
    if old is None:
        raise CommandError("REJECTED", f"You have no bookmark on {shown}.", hint="nothing to do")
    inverse = set_removed(context, old, item, True)
    return Reply(f"✓ unbookmarked {shown}", refs=(item,), items=(item_id,), inverse=(inverse,))


def _spelling(context: Context, name: str) -> str:
    """A tag as the grove already spells it: names are unique whatever their case."""
    known = Mark.objects.filter(tree__grove=context.tree.grove_id, kind="tag", removed_at=None)
    if name.isascii():  # SQLite folds no other letters
        known = known.filter(label__iexact=name)
    labels = known.order_by().values_list("label", flat=True).distinct()
    return next((label for label in labels.iterator() if is_tag(label, name)), name)


def _tags_on(item_id: int) -> dict[str, Mark]:
    marks = Mark.objects.filter(item=item_id, kind="tag", removed_at__isnull=True)
    return {mark.label.casefold(): mark for mark in marks.select_related("participant")}


def _written(names: list[str]) -> str:
    return " ".join(f"#{name}" if " " not in name else f'#"{name}"' for name in names)


@command("tag", group="Make", klass="write", permissions=_WITH_DOCUMENTS, stream="grove")
def tag_document(context: Context, args: TagDocument) -> Reply:
    """Adds tags to a document."""
    return _tag(context, args)


@command("tag", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def tag(context: Context, args: Tag) -> Reply:
    """Adds tags to a node or tree. A tag exists while something has it, spelled as first typed."""
    return _tag(context, args)


def _tag(context: Context, args: Tag) -> Reply:
    if len(args.names) > MAX_TAGS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A command takes at most {MAX_TAGS} tags.",
            hint="add the others with further commands",
        )
    item_id, shown, item = _item(context, args.ref)
    on = _tags_on(item_id)
    fresh = {name.casefold(): name for name in args.names if name.casefold() not in on}
    if not fresh:
        raise CommandError("REJECTED", f"{shown} already has these tags.", hint="nothing to do")
    names = [_spelling(context, name) for name in fresh.values()]
    inverse = tuple(add_mark(context, item_id, item, "tag", name) for name in names)
    return Reply(
        f"✓ tagged {shown} {_written(names)}",
        refs=(item,),
        items=(item_id,),
        inverse=tuple(reversed(inverse)),
    )


@command("untag", group="Make", klass="write", permissions=_WITH_DOCUMENTS, stream="grove")
def untag_document(context: Context, args: TagDocument) -> Reply:
    """Removes tags from a document, whoever added them."""
    return _untag(context, args)


@command("untag", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def untag(context: Context, args: Tag) -> Reply:
    """Removes tags from a node or tree, whoever added them."""
    return _untag(context, args)


def _untag(context: Context, args: Tag) -> Reply:
    item_id, shown, item = _item(context, args.ref)
    on = _tags_on(item_id)
    missing = [name for name in args.names if name.casefold() not in on]
    if missing:
        raise CommandError("NOT_FOUND", f"{shown} has no tag {_written(missing)}.", hint=_has(on))
    marks = {name.casefold(): on[name.casefold()] for name in args.names}
    inverse = tuple(set_removed(context, mark, item, True) for mark in marks.values())
    names = _written([mark.label for mark in marks.values()])
    return Reply(f"✓ untagged {shown} {names}", refs=(item,), items=(item_id,), inverse=inverse)


def _has(on: dict[str, Mark]) -> str:
    return "it has " + _written([mark.label for mark in on.values()]) if on else "it has none"
