"""Bookmarks and tags: marks that members put on a node, tree or document; and renaming, colouring
or removing a tag in a whole grove."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_noop

from loom import access
from loom.access import Actor, written_trees
from loom.engine import streams
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.execute import execute
from loom.engine.items import make_items
from loom.engine.registry import command, describe_verb, line_with
from loom.engine.undo import Own, conflict, undoes
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import document_named, label_named, print_slice, tag_named, tree_named
from loom.language.verbs import Phrases, Verb
from loom.notes.models import Mark
from loom.notes.queries import is_tag, tags_named
from loom.notes.tag_keys import is_tag_name, plain_tag, tag_key
from loom.people.models import Grove
from loom.people.names import TAG_COLOURS, skeleton
from loom.permissions import LOOM, WRITE
from loom.text.shortening import excerpt, plain
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Item, Node, Tree
from loom.trees.named_items import demand_whole, get_own_node, tree_of

MAX_LABEL = 200
MAX_TAGS = 100  # per line: each is looked up, under the lock


class Bookmark(Args):
    """The item to bookmark, and a label."""

    ref: Annotated[RefField | None, Written("ref", but=("document",))] = None
    label: Annotated[str, Written("quoted")] = ""


class Unbookmark(Args):
    """The item whose bookmark is removed."""

    ref: Annotated[RefField | None, Written("ref", but=("document",))] = None


class Tag(Args):
    """The item to tag, and the tags."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    names: Annotated[tuple[str, ...], Written("tags", many=True)]


def _item(context: Context, ref: RefField | None) -> tuple[int, str, str]:
    """(id, as shown, local id or tree:ID or doc:ID) of a node here, this tree, or a document."""
    if ref is not None and ref.kind == "document":
        text = grove_texts().get(context, ref)
        return text.item_id, document_named(text.title), f"doc:{text.uid}"
    if ref is not None and ref.kind == "tree":
        tree = tree_of(context, ref)
        if tree.pk != context.tree.pk:
            raise CommandError(
                "CROSS_TREE",
                "This would mark something in another tree.",
                hint="run the command in that tree",
            )
        return ids.of_tree(tree.pk), tree_named(tree.title), f"tree:{tree.uid}"
    node = get_own_node(context, ref)
    return ids.of_node(node.pk), f"[{node.local_id}]", node.local_id


def _demand_whole(
    run: Callable[..., Reply], args: Bookmark | Unbookmark | Tag, **changes: object
) -> None:
    """Refuses a part of a document or tree, because no mark stores it; the parts of nodes are
    refused where nodes are named."""
    ref = args.ref
    if ref is not None and ref.kind in ("document", "tree"):
        line = line_with(run, args, ref=replace(ref, slice=None), **changes)
        demand_whole(ref, "marks are on whole items.", line)


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
    """Removes or restores a mark; returns the inverse."""
    mark.removed_at = context.now if removed else None
    mark.save(update_fields=["removed_at"])
    kind = "mark.removed" if removed else "mark.added"
    context.append(mark.item_id, kind, {"mark": mark_body(mark, item)})
    return {"op": "mark", "mark": mark.pk, "removed": not removed, "item": item}


def _wordings(item_id: int, item: str) -> dict[int, str]:
    """The item and all other versions of its text, with their names: a mark on any version counts
    for the text, so it is also removed from any. One query, none for what is no node."""
    node_id = ids.node_id(item_id)
    if node_id is None:
        return {item_id: item}
    slot = Node.objects.filter(pk=node_id).values("slot")
    versions = Node.objects.filter(slot__in=slot).order_by("id").values_list("pk", "local_id")
    return {ids.of_node(key): local_id for key, local_id in versions}


def _own_bookmark(context: Context, item_id: int) -> Mark | None:
    return Mark.objects.filter(
        item=item_id,
        kind="bookmark",
        participant=context.actor.participant,
        removed_at__isnull=True,
    ).first()


describe_verb(
    Verb(
        "bookmark",
        done=gettext_noop("Added a bookmark"),
        past="bookmarked",
        example="Mark a text: → bookmark here",
        taught='bookmark REF{|doc:"name"} ["label"]',
        takes_each=True,
        phrases=(
            Phrases(
                "bookmark|star|add bookmark|set bookmark|put bookmark|make bookmark|place bookmark"
            ),
        ),
        swaps=(
            ("with the label", "called"),
            ("with label", "called"),
        ),
        dropped=("as at called for named on to"),
        options={"as": "label", "name": "label"},
    )
)


@command(
    "bookmark",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE},
    stream="tree",
    annotates=True,
)
def bookmark(context: Context, args: Bookmark) -> Reply:
    """Bookmarks a node; others can see it. A new label replaces the old one."""
    return add_bookmark(context, args)


def add_bookmark(context: Context, args: Bookmark) -> Reply:
    part = "" if args.ref is None or args.ref.slice is None else print_slice(args.ref.slice)
    _demand_whole(bookmark, args, label=f"{args.label} ({part})" if args.label else part)
    if len(args.label) > MAX_LABEL:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A label has at most {MAX_LABEL} characters.",
            hint="write the rest as an annotation",
        )
    if args.label and not skeleton(args.label):
        raise CommandError(
            "INVALID_SYNTAX",
            "A label has something to be seen.",
            hint="write a label in a few words, or leave it out",
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
    label = f" as {label_named(plain(args.label))}" if args.label else ""
    return Reply(f"✓ bookmarked {shown}{label}", refs=(item,), items=(item_id,), inverse=inverse)


describe_verb(
    Verb(
        "unbookmark",
        done=gettext_noop("Removed a bookmark"),
        asks_first=True,
        takes_each=True,
        phrases=(Phrases("remove bookmark|unstar|take bookmark|drop bookmark|clear bookmark"),),
        dropped=("at from of off on"),
    )
)


@command(
    "unbookmark",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE},
    stream="tree",
    annotates=True,
)
def unbookmark(context: Context, args: Unbookmark) -> Reply:
    """Removes your bookmark from a node, in all its versions."""
    return remove_bookmark(context, args)


def remove_bookmark(context: Context, args: Unbookmark) -> Reply:
    _demand_whole(unbookmark, args)
    item_id, shown, item = _item(context, args.ref)
    items = _wordings(item_id, item)
    marks = Mark.objects.filter(item__in=items, kind="bookmark", removed_at__isnull=True)
    own = marks.filter(participant=context.actor.participant).select_related("participant")
    inverse = [set_removed(context, mark, items[mark.item_id], True) for mark in own]
    if not inverse:
        raise CommandError("REJECTED", f"You have no bookmark on {shown}.", hint="nothing to do")
    return Reply(
        f"✓ unbookmarked {shown}",
        refs=(item,),
        items=(item_id,),
        inverse=tuple(reversed(inverse)),
    )


def _spelling(context: Context, name: str) -> str:
    """A tag as the grove already spells it: names are unique case-insensitively."""
    # Asked of each mark in turn until one is seen: the trees of a grove are many.
    is_seen = Exists(access.grove_trees(context.actor).filter(pk=OuterRef("tree")))
    known = tags_named(name).filter(is_seen, tree__grove=context.actor.grove)
    return next(iter(known.order_by().values_list("label", flat=True)[:1]), name)


def _tags_on(item_id: int) -> dict[str, Mark]:
    marks = Mark.objects.filter(item=item_id, kind="tag", removed_at__isnull=True)
    return {mark.label_key: mark for mark in marks.select_related("participant")}


def _written(names: list[str]) -> str:
    """Tags on one line: a name may have line breaks."""
    return " ".join(tag_named(plain(name)) for name in names)


describe_verb(
    Verb(
        "tag",
        done=gettext_noop("Added a tag"),
        past="tagged",
        taught='tag REF{|doc:"name"} #name',
        takes_each=True,
        phrases=(
            Phrases("tag|label|add tag|add tags|put tag|put tags|set tag|mark|give", needs="tag"),
        ),
        dropped=("as on tag tags to with"),
    )
)


@command("tag", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def tag(context: Context, args: Tag) -> Reply:
    """Adds tags to a node or tree. A tag exists while something has it, spelled as first typed."""
    return add_tags(context, args)


def add_tags(context: Context, args: Tag) -> Reply:
    _demand_whole(tag, args)
    if len(args.names) > MAX_TAGS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A command takes at most {MAX_TAGS} tags.",
            hint="add the others with further commands",
        )
    wanted = {tag_key(name): name for name in map(_checked, args.names)}
    item_id, shown, item = _item(context, args.ref)
    on = _tags_on(item_id)
    fresh = {key: name for key, name in wanted.items() if key not in on}
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


describe_verb(
    Verb(
        "untag",
        done=gettext_noop("Removed a tag"),
        asks_first=True,
        takes_each=True,
        phrases=(
            Phrases("remove tag|remove tags|take tag|take tags|drop tag|clear tag", needs="tag"),
        ),
        dropped=("from of off on tag tags"),
    )
)


@command("untag", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def untag(context: Context, args: Tag) -> Reply:
    """Removes tags from a node, in all its versions, or from a tree, whoever added them."""
    return remove_tags(context, args)


def remove_tags(context: Context, args: Tag) -> Reply:
    _demand_whole(untag, args)
    item_id, shown, item = _item(context, args.ref)
    items = _wordings(item_id, item)
    on: dict[str, list[Mark]] = {}
    every = Mark.objects.filter(item__in=items, kind="tag", removed_at__isnull=True)
    for mark in every.select_related("participant"):
        on.setdefault(mark.label_key, []).append(mark)
    keys = {name: next(filter(on.get, _keys(name)), None) for name in args.names}
    if missing := [name for name, key in keys.items() if key is None]:
        raise CommandError("NOT_FOUND", f"{shown} has no tag {_written(missing)}.", hint=_has(on))
    removed = [on[key] for key in dict.fromkeys(keys.values()) if key is not None]
    inverse = tuple(
        set_removed(context, mark, items[mark.item_id], True) for marks in removed for mark in marks
    )
    names = _written([marks[0].label for marks in removed])
    return Reply(f"✓ untagged {shown} {names}", refs=(item,), items=(item_id,), inverse=inverse)


def _keys(name: str) -> tuple[str, str]:
    """The keys of a tag as it was typed, for tags of an earlier build, and as tags are kept now."""
    return tag_key(name), tag_key(plain_tag(name))


def _has(on: dict[str, list[Mark]]) -> str:
    return "it has " + _written([marks[0].label for marks in on.values()]) if on else "it has none"


# -- changing a tag everywhere


class TagChange(Args):
    """The changes to a tag: its name (empty: unchanged), its colour (None: unchanged, empty:
    none)."""

    tag: str
    name: str = ""
    colour: str | None = None


class TagNamed(Args):
    """A tag by name."""

    tag: str


def change_tag(actor: Actor, tag: str, *, name: str = "", colour: str | None = None) -> str:
    """Renames a tag or sets its colour, in all trees of the grove; returns its name. For writers.
    If another tag already has the new name, the two become one."""
    return execute(actor, actor.grove, _change_tag, TagChange(tag=tag, name=name, colour=colour))


def remove_tag(actor: Actor, tag: str) -> int:
    """Removes a tag everywhere in the grove; returns from how many items. The items stay. For
    owners."""
    return execute(actor, actor.grove, _remove_tag, TagNamed(tag=tag))


@action("change_tag", stream="grove", role="writer")
def _change_tag(change: RunningAction, args: TagChange) -> str:
    """Renames a tag or sets its colour, in all trees of the grove."""
    labels = _labels(change.actor)
    known = _spelled(args.tag, labels)
    if args.colour and args.colour not in TAG_COLOURS:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{args.colour[:40]!r} is not a colour of tags.",
            hint=" or ".join(TAG_COLOURS),
        )
    name = _checked(args.name) if args.name.strip() else known[0]
    if '"' in args.name:
        raise CommandError(
            "INVALID_SYNTAX", "A tag is given no quotation marks.", hint='#river or #"two words"'
        )
    if args.name.strip():
        others = [label for label in labels if is_tag(label, name) and label not in known]
        name = others[0] if others else name
        _rename(change, known, name)
    _recolour(change, known, name, args.colour)
    return name


@action("remove_tag", stream="grove", role="owner")
def _remove_tag(change: RunningAction, args: TagNamed) -> int:
    """Removes a tag everywhere in the grove. The items stay."""
    known = _spelled(args.tag, _labels(change.actor))
    removed = 0
    for tree, marks in _by_tree(change.actor, known):
        writer = streams.lock(tree, actor=change.actor.participant.uid)
        items = list(marks.values_list("item_id", flat=True))
        removed += marks.update(removed_at=change.now)
        writer.append("tag.removed", {"tags": known, "items": _shown(items)})
        writer.flush()
    _recolour(change, known, "", "")
    return removed


def _labels(actor: Actor) -> list[str]:
    """The tags in use in the trees of a grove in which the actor may write, and those with a
    colour."""
    rows = Mark.objects.filter(kind="tag", removed_at__isnull=True, tree__in=written_trees(actor))
    used = rows.order_by().values_list("label", flat=True).distinct()
    return [*dict.fromkeys([*used, *actor.grove.settings.get("tag_colours", {})])]


def _spelled(tag: str, labels: list[str]) -> list[str]:
    """The spellings of a tag that are in use. NOT_FOUND if there are none."""
    for name in (tag, tag.removeprefix("#"), plain_tag(tag)):
        if known := [label for label in labels if is_tag(label, name)]:
            return known
    shown = excerpt(plain_tag(tag), MAX_LABEL)
    raise CommandError("NOT_FOUND", f"There is no tag #{shown}.", hint="see the list of tags")


def _checked(name: str) -> str:
    """The name as a tag has it. Refuses one that no line could write."""
    kept = plain_tag(name)
    if len(kept) > MAX_LABEL:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A tag has at most {MAX_LABEL} characters.",
            hint="take a shorter word; → annotate keeps a longer text",
        )
    if not is_tag_name(kept):
        raise CommandError("INVALID_SYNTAX", "A tag has a letter.", hint='#river or #"two words"')
    return kept


def _by_tree(actor: Actor, labels: list[str]) -> list[tuple[Tree, "QuerySet[Mark]"]]:
    """The trees with the tag in which the actor may write, and its marks in each, in the order in
    which trees are locked."""
    marks = Mark.objects.filter(kind="tag", label__in=labels, removed_at__isnull=True)
    tagged = marks.filter(tree__grove=actor.grove).values("tree_id")
    trees = written_trees(actor).filter(pk__in=tagged)
    return [(tree, marks.filter(tree=tree)) for tree in trees.order_by("pk")]


def _rename(change: RunningAction, known: list[str], name: str) -> None:
    """Renames the tag on all marks; an item with both tags keeps one mark."""
    for tree, marks in _by_tree(change.actor, known):
        writer = streams.lock(tree, actor=change.actor.participant.uid)
        for mark in _twice(tree, marks, name):
            mark.removed_at = change.now
            mark.save(update_fields=["removed_at"])
            writer.append("mark.removed", {"mark": mark_body(mark, _shown([mark.item_id])[0])})
        items = list(marks.exclude(label=name).values_list("item_id", flat=True))
        # Undo restores a removed mark with the current name of the tag.
        Mark.objects.filter(tree=tree, kind="tag", label__in=known).update(
            label=name, label_key=tag_key(name)
        )
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
    names |= grove_texts().names(items)
    return [names[item] for item in items if item in names]


def _recolour(change: RunningAction, known: list[str], name: str, colour: str | None) -> None:
    """Stores the colour of a tag under its name; `name` empty: removes it."""
    grove = Grove.objects.get(pk=change.actor.grove.pk)
    before = dict(grove.settings.get("tag_colours", {}))
    had = next((before[key] for key in known if key in before), "")
    colours = {key: value for key, value in before.items() if key not in known}
    wanted = had if colour is None else colour
    if name and wanted and (colour is not None or name not in colours):
        colours[name] = wanted
    if colours == before:
        return
    grove.settings = {**grove.settings, "tag_colours": colours}
    grove.save(update_fields=["settings"])
    body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
    change.writer.append("grove.changed", body)


def _is_there_again(mark: Mark) -> bool:
    """Whether the item got the tag again, or its owner the other mark, since it was removed."""
    same = Mark.objects.filter(item=mark.item_id, kind=mark.kind, removed_at__isnull=True)
    same = same.filter(label_key=mark.label_key).exclude(pk=mark.pk)
    return (same if mark.kind == "tag" else same.filter(participant=mark.participant)).exists()


@undoes("mark")
def _undo_mark(context: Context, op: Op, own: Own) -> list[Op]:
    mark = Mark.objects.select_related("participant").get(pk=op["mark"])
    if (mark.removed_at is not None) == op["removed"] or _is_there_again(mark):
        raise conflict(f"The {mark.kind} on {op['item']}")
    return [set_removed(context, mark, op["item"], op["removed"])]
