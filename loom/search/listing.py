"""The lists of a whole tree or grove: its bookmarks, its tags, and the trees themselves."""

from collections.abc import Sequence
from typing import Annotated, Literal

from django.db.models import Count, Q, QuerySet

from loom.access import demand, hidden_from_some, trees_for
from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.language import ids as item_ids
from loom.language.refs import Ref, label_named, print_ref, tag_named, tree_named
from loom.notes.models import Mark
from loom.people.names import as_sent
from loom.permissions import CROSS_TREE, LOOM
from loom.reading.queries.tree_bodies import tree_bodies
from loom.text.ages import age
from loom.text.counts import counted
from loom.text.shortening import excerpt, plain, summary_or_excerpt
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import withheld
from loom.workspace.queries.windows import WITHHELD

MOST_LISTED = 50


class _Part(Args):
    """Where to look, and after how many entries to begin."""

    where: Annotated[
        Literal["tree", "grove"],
        Written("option", key="in", value="choice", choices=("tree", "grove")),
    ] = "tree"
    after: Annotated[int, Written("option", key="after", value="int", minimum=0)] = 0


class ListBookmarks(_Part):
    """The bookmarks."""

    bookmarks: Annotated[str, Written("word", lead="bookmarks")]


class ListTags(_Part):
    """The tags."""

    tags: Annotated[str, Written("word", lead="tags")]


class ListTrees(Args):
    """The trees, and after how many to begin."""

    trees: Annotated[str, Written("word", lead="trees")]
    after: Annotated[int, Written("option", key="after", value="int", minimum=0)] = 0


def _marks(context: Context, kind: str, args: _Part) -> QuerySet[Mark]:
    """The marks of a kind that stand in the tree or grove, on what the caller may read. Without
    documents one query, to learn that none is marked."""
    trees = trees_for(context.actor).filter(pk=context.tree.pk)
    if args.where == "grove":
        demand(context.actor, {CROSS_TREE}, f"list {kind}s in:grove")
        trees = trees_for(context.actor).filter(grove=context.actor.grove)
    rows = Mark.objects.filter(tree__in=trees, kind=kind, removed_at__isnull=True)
    on_documents = rows.filter(item_id__lt=0).order_by().values_list("item_id", flat=True)
    asked = list(on_documents)
    if not asked:
        return rows.filter(item_id__gt=0)
    items = list(grove_texts().seen(context.actor, context.tree, asked))
    return rows.filter(Q(item_id__gt=0) | Q(item_id__in=items))


def _rest(total: int, last: int, line: str) -> list[str]:
    """The line that says how many entries are left, and what shows them."""
    left = total - last
    return [f"  … {left:,} more: → {line} after:{last}"] if left > 0 else []


def _head(total: int, thing: str, where: str) -> str:
    return f"→ {counted(total, thing) if total else f'no {thing}s'} in the {where}" + (
        ":" if total else ""
    )


@command("list", group="Look", klass="look", permissions={LOOM}, is_first=True)
def list_bookmarks(context: Context, args: ListBookmarks) -> Reply:
    """Lists the bookmarks of the tree or grove, everybody's, the newest first."""
    rows = _marks(context, "bookmark", args)
    total = rows.count()
    newest = rows.select_related("participant").order_by("-id")
    shown = list(newest[args.after : args.after + MOST_LISTED])
    named = _marked(context, [mark.item_id for mark in shown])
    lines, refs = [_head(total, "bookmark", args.where)], []
    for mark in shown:
        ref, words = named[mark.item_id]
        label = f" {label_named(plain(mark.label))}" if mark.label else ""
        who = f"{as_sent(mark.participant.name)} · {age(context.now, mark.at)}"
        lines.append(f"  bookmark{label} by {who} · {words}")
        refs.append(ref)
        context.note_read(mark.item_id)
    where = " in:grove" if args.where == "grove" else ""
    lines += _rest(total, args.after + len(shown), f"list bookmarks{where}")
    return Reply("\n".join(lines), refs=tuple(dict.fromkeys(refs)))


def _marked(context: Context, items: Sequence[int]) -> dict[int, tuple[str, str]]:
    """(ref, as shown) of each marked item. A text is shown in its wording of today, with the one
    that was marked. Nine queries at most, however many items there are."""
    shown: dict[int, tuple[str, str]] = {}
    trees = Tree.objects.in_bulk([item_ids.home_of(item) for item in items if item > 0])
    keys = [key for item in items if (key := item_ids.node_id(item)) is not None]
    marked = Node.objects.defer("text", "blocks").in_bulk(keys)
    slots = {node.slot_id for node in marked.values()}
    selected = lookup.selected_versions(slots, context.workspace)
    current = lookup.rows().in_bulk([selected[slot][0] for slot in slots if slot in selected])
    hidden = places.hidden_among(slots)
    gone = withheld(context.actor, list(current))
    texts = grove_texts().seen(context.actor, context.tree, items)
    for item in items:
        key = item_ids.node_id(item)
        if key is not None:
            old = marked[key]
            node = current.get(selected[old.slot_id][0] if old.slot_id in selected else key, old)
            tree = trees[item_ids.home_of(item)]
            node.tree = tree
            words = WITHHELD if node.pk in gone else summary_or_excerpt(node.summary, node.text)
            elsewhere = "" if tree.pk == context.tree.pk else f" in {tree_named(tree.title)}"
            made_on = "" if node.pk == old.pk else f" · made on [{old.local_id}]"
            state = " · pruned" if old.slot_id in hidden else ""
            ref = lookup.node_ref(node, context.tree.pk)
            shown[item] = (ref, f"[{node.local_id}]{elsewhere} {words}{made_on}{state}")
        elif (text := texts.get(item)) is not None:
            shown[item] = (f"doc:{text.uid}", print_ref(Ref("document", name=text.title)))
        else:
            tree = trees[item_ids.home_of(item)]
            shown[item] = (f"tree:{tree.uid}", tree_named(tree.title))
    return shown


@command("list", group="Look", klass="look", permissions={LOOM}, is_first=True)
def list_tags(context: Context, args: ListTags) -> Reply:
    """Lists the tags of the tree or grove by name, with how many items have each."""
    rows = _marks(context, "tag", args).order_by().values_list("label")
    many = rows.annotate(many=Count("item", distinct=True))
    tags = sorted(many, key=lambda row: str(row[0]).casefold())
    shown = tags[args.after : args.after + MOST_LISTED]
    lines = [_head(len(tags), "tag", args.where)]
    for label, number in shown:
        lines.append(f"  {tag_named(label)} · {counted(number, 'item')}")
    # Not all who may read the reply see these trees.
    hidden = Tree.objects.filter(hidden_from_some(), pk__in=rows.values("tree_id"))
    context.note_read(*map(item_ids.of_tree, hidden.values_list("pk", flat=True)))
    where = " in:grove" if args.where == "grove" else ""
    lines += _rest(len(tags), args.after + len(shown), f"list tags{where}")
    return Reply("\n".join(lines))


@command("list", group="Look", klass="look", permissions={LOOM, CROSS_TREE}, is_first=True)
def list_trees(context: Context, args: ListTrees) -> Reply:
    """Lists the trees of the grove, the last written first."""
    rows = trees_for(context.actor).filter(grove=context.actor.grove).select_related("grove")
    total = rows.count()
    newest = rows.order_by("-touched_at", "-pk")
    trees = list(newest[args.after : args.after + MOST_LISTED])
    lines = [_head(total, "tree", "grove")]
    for tree, body in zip(trees, tree_bodies(trees, {}), strict=True):
        parts = [
            tree_named(tree.title or tree.uid),
            counted(body["node_count"], "node"),
            f"updated {age(context.now, tree.touched_at)}",
            *([" ".join(tag_named(name) for name in body["tags"])] if body["tags"] else []),
            *(["archived"] if tree.archived_at else []),
            *(["you are here"] if tree.pk == context.tree.pk else []),
        ]
        about = tree.summary or tree.description
        lines.append(f"  {' · '.join(parts)}{f' · {excerpt(about)}' if about else ''}")
        context.note_read(item_ids.of_tree(tree.pk))
    lines += _rest(total, args.after + len(trees), "list trees")
    return Reply("\n".join(lines), refs=tuple(f"tree:{tree.uid}" for tree in trees))
