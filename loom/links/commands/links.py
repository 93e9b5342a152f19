"""Links between items: stored once, in the tree of their source; the reverse is computed."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from django.db.models import Q
from django.utils.translation import gettext_noop

from loom.access import demand_outside_sandboxes, demand_right_to_write
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.items import make_items
from loom.engine.registry import command, describe_verb, line_with
from loom.engine.undo import Own, conflict, undoes
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import document_named, print_ref, print_slice, tree_named
from loom.language.verbs import Phrases, Verb
from loom.links import link_types
from loom.links.commands.counting import count_added, count_removed
from loom.links.link_types import unknown_type
from loom.links.models import Link
from loom.links.queries import (
    MOST_AWAY,
    MOST_REACHED,
    graph_names,
    graph_of,
    items_in,
    slots_of,
    states_of,
    sureness,
    words_of,
)
from loom.links.vocabulary import archetype_of, link_type, vocabulary_of
from loom.permissions import LOOM, WRITE
from loom.text.shortening import excerpt
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree
from loom.trees.named_items import demand_whole, get_node, touched, tree_of
from loom.trees.queries import lookup
from loom.trees.queries.item_names import ERASED

MAX_NOTE = 2000
EVIDENCE = "evidence"  # append-only: such a link is answered, never removed


Keeping = Callable[[Link], str]
_keeping: list[Keeping] = []


def keeps_links(keeping: Keeping) -> Keeping:
    """Registers which links are evidence of another feature, so that nobody removes them: it
    returns a hint how such a link is answered, "" for all other links."""
    _keeping.append(keeping)
    return keeping


def is_kept(link: Link) -> bool:
    """Whether a link is evidence, which nobody removes."""
    return link.type == EVIDENCE or any(keeping(link) for keeping in _keeping)


def _answering(link: Link, shown: str) -> str:
    """How a link that is kept is answered, for a hint; `shown`: its target."""
    usual = f"→ link REF to {shown} as:refutes answers it"
    return next((hint for keeping in _keeping if (hint := keeping(link))), usual)


class LinkArgs(Args):
    """The source, the target and the type; `on`: the words of the source that it stands on."""

    source: Annotated[RefField, Written("ref", but=("document",))]
    target: Annotated[RefField, Written("ref", lead="to", but=("document",))]
    type: Annotated[str, Written("option", key="as", value="word")] = "related"
    note: Annotated[str, Written("option", key="note", value="quoted")] = ""
    confidence: Annotated[
        float | None, Written("option", key="confidence", value="float", minimum=0, maximum=1)
    ] = None
    on: Annotated[str, Written("option", key="on", value="quoted")] = ""


class UnlinkArgs(Args):
    """The source and the target, and the type if there are several links."""

    source: Annotated[RefField, Written("ref", but=("document",))]
    target: Annotated[RefField, Written("ref", lead="to", but=("document",))]
    type: Annotated[str, Written("option", key="as", value="word")] = ""


def _item(context: Context, ref: RefField) -> tuple[int, str, str, Tree]:
    """(id, as shown, as in events, its tree) of a node, tree or document that the caller may see.
    The tree of a document is that of the line."""
    if ref.kind == "document":
        text = grove_texts().get(context, ref)
        return text.item_id, document_named(text.title), f"doc:{text.uid}", context.tree
    if ref.kind == "tree":
        tree = tree_of(context, ref)
        return ids.of_tree(tree.pk), tree_named(tree.title), f"tree:{tree.uid}", tree
    node = get_node(context, ref)
    outside = node.tree_id != context.tree.pk
    item = f"tree:{node.tree.uid} node:{node.local_id}" if outside else node.local_id
    return ids.of_node(node.pk), f"[{node.local_id}]", item, node.tree


def _demand_whole(run: Callable[..., Reply], args: LinkArgs | UnlinkArgs) -> None:
    """Refuses parts of documents and trees, which no link stores; the parts of nodes are refused
    where nodes are named. The line that the hint of a link gives keeps the part in its note."""
    ends = {"source": args.source, "target": args.target}
    parts = {
        name: end
        for name, end in ends.items()
        if end.kind in ("document", "tree") and end.slice is not None
    }
    changes: dict[str, object] = {name: replace(end, slice=None) for name, end in parts.items()}
    if isinstance(args, LinkArgs) and parts:
        cut = ", ".join(print_slice(end.slice) for end in parts.values() if end.slice is not None)
        changes["note"] = f"{args.note} ({cut})" if args.note else cut
    for end in parts.values():
        demand_whole(end, "a link joins whole items.", line_with(run, args, **changes))


def link_body(link: Link, source: str, target: str) -> dict[str, object]:
    """A link as its events carry it."""
    return {
        "id": link.uid,
        "type": link.type,
        "source": source,
        "target": target,
        "note": link.note,
        "confidence": link.confidence,
        "words": link.words,
        "source_version": link.source_version,
        "target_version": link.target_version,
        "by": link.by.uid,
    }


def _between(context: Context, source: int, target: int, kinds: tuple[str, ...] = ()) -> list[Link]:
    """The links from the place of the source to that of the target, whatever the wordings they were
    made on, and symmetric ones the other way round."""
    types = vocabulary_of(context.tree.grove)
    symmetric = [kind.key for kind in types.types if kind.symmetric]
    slots = slots_of([source, target])
    near, far = slots[source], slots[target]
    there = Q(source_slot=near, target_slot=far)
    back = Q(source_slot=far, target_slot=near, type__in=symmetric)
    links = Link.objects.filter(there | back, removed_at__isnull=True).select_related("by")
    return list(links.filter(type__in=kinds) if kinds else links)


def _demand_new(
    context: Context, ends: tuple[int, int], kind: str, *, shown: tuple[str, str], note: str
) -> None:
    source, target = ends
    if source == target:
        raise CommandError(
            "REJECTED", f"{shown[0]} can't be linked to itself.", hint="name two items"
        )
    there = _between(context, source, target, (kind,))
    # A new wording may be cited, although another one was: evidence is never removed.
    if kind == EVIDENCE:
        there = [link for link in there if {link.source_id, link.target_id} == {source, target}]
    if there:
        raise CommandError(
            "REJECTED",
            f"{shown[0]} and {shown[1]} already have this link.",
            hint=f"→ list {shown[0].strip('[]')} links shows them",
        )
    if len(note) > MAX_NOTE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A note has at most {MAX_NOTE} characters.",
            hint="write it as an annotation",
        )


def _demand_words(words: str, source: int, shown: str) -> None:
    """Refuses words that are not in the text of the source, which is a node or a document."""
    if not words:
        return
    if len(words) > MAX_NOTE:
        raise CommandError(
            "LIMIT_EXCEEDED", f"At most {MAX_NOTE} characters.", hint="name the first words"
        )
    node = lookup.rows().filter(pk=ids.node_id(source) or 0).first()
    text = grove_texts().current(source) if node is None else node.text
    if words not in (text or ""):
        whole = " full" if node is not None else ""
        raise CommandError(
            "REJECTED",
            f"{shown} does not contain {excerpt(words)}.",
            hint=f"→ view {shown.strip('[]')}{whole} shows its words",
        )


_ID = r"\[?([a-z][0-9][a-z][0-9]\w{0,4})\]?"


def _with_type(match: re.Match[str]) -> Iterator[str]:
    first, second, kind, rest = match.groups()
    options = re.sub(r"\b(confidence|note)\s*[:= ]\s*", r"\1:", rest.strip(" ,."))
    yield f"link {first} to {second} as:{kind} {options}".strip()


describe_verb(
    Verb(
        "link",
        done=gettext_noop("Added a link"),
        hints=(
            (
                rf"link {_ID} (?:to|and|with) {_ID},?\s+\(?(?:as )?([a-z]\w+)\)?(.*)",
                _with_type,
            ),
        ),
        past="linked",
        taught='link REF to REF{|doc:"name"} [as:TYPE] [note:"why"]',
        phrases=(
            Phrases("link|connect|relate|tie|make link from|add link from|make link between"),
            Phrases("link from|connect from"),
            Phrases("add link between|draw link from|create link from|create link between"),
        ),
        swaps=(
            ("with type", "as"),
            ("of type", "as"),
        ),
        leads={"with": "to", "and": "to", "→": "to", "->": "to"},
        options={"type": "as", "kind": "as", "relation": "as"},
    )
)


@command("link", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def link(context: Context, args: LinkArgs) -> Reply:
    """Links two items, with a type, a note and a confidence from 0 to 1."""
    return link_items(context, args)


def link_items(context: Context, args: LinkArgs) -> Reply:
    _demand_whole(link, args)
    types = vocabulary_of(context.tree.grove)
    archetype = archetype_of(context.actor)
    read = types.by_word.get(args.type.lower())
    if read is not None and not read[1] and read[0].name in types.names(archetype):
        name, to, of = read[0].name, print_ref(args.target), print_ref(args.source)
        raise CommandError(
            "INVALID_SYNTAX",
            f"{read[0].reverse!r} is {name!r} read from the other end.",
            hint=f"→ link {to} to {of} as:{name}",
        )
    made_as = types.demand_new(args.type, archetype)
    kind = made_as.key
    source, shown, item, tree = _item(context, args.source)
    target, shown_to, item_to, _ = _item(context, args.target)
    if tree.pk != context.tree.pk:
        raise CommandError(
            "CROSS_TREE",
            "A link belongs to the tree of its source, which is another tree.",
            hint="start the link here, or run the command in that tree",
        )
    _demand_new(context, (source, target), kind, shown=(shown, shown_to), note=args.note)
    _demand_words(args.on, source, shown)
    new_link = join(
        context, source, target, kind, note=args.note, confidence=args.confidence, words=args.on
    )
    context.append(source, "link.added", {"link": link_body(new_link, item, item_to)})
    undone: Op = {"op": "link", "link": new_link.pk, "removed": True, "ends": [item, item_to]}
    return Reply(
        f"✓ linked {shown} {link_types.arrow(made_as.name)} {shown_to}",
        refs=(item, item_to),
        items=(source, target),
        link_type=made_as.name,
        inverse=() if kind == EVIDENCE else (undone,),
    )


def _demand_right(context: Context, ends: tuple[int, int]) -> None:
    """Refuses to join a document to a tree in which the caller may not write, or to part them: it
    is what that tree knows, and with keys what its models are sent. At most two queries, none in a
    line of the tree itself."""
    if min(ends) >= 0:
        return
    homes = set(map(ids.home_of, ends)) - {0, context.tree.pk}
    trees = list(Tree.objects.filter(pk__in=homes)) if homes else []
    if context.tree.pk in map(ids.home_of, ends):
        trees.append(context.tree)
    for tree in trees:
        demand_right_to_write(context.actor, tree)


def join(
    context: Context,
    source: int,
    target: int,
    kind: str,
    *,
    note: str = "",
    confidence: float | None = None,
    words: str = "",
) -> Link:
    """Stores a link between two items, with the revisions of those that are documents. REJECTED if
    one is in a sandbox that the line does not run in."""
    demand_outside_sandboxes(context.tree, (source, target))
    _demand_right(context, (source, target))
    make_items([source, target])
    versions = grove_texts().versions((source, target))
    slots = slots_of([source, target])
    link = Link.objects.create(
        tree=context.tree,
        type=kind,
        source_id=source,
        target_id=target,
        source_slot=slots[source],
        target_slot=slots[target],
        source_version=versions.get(source, ""),
        target_version=versions.get(target, ""),
        note=note,
        words=words,
        confidence=confidence,
        by=context.actor.participant,
        at=context.now,
    )
    if not context.world.is_dry:
        count_added(link, context.tree.grove_id)
    return link


def set_removed(
    context: Context, link: Link, ends: list[str], removed: bool, *, twins: Sequence[int] = ()
) -> Op:
    """Removes or restores a link; returns the inverse. `ends` as in events; `twins`: the links of
    its type between its ends, itself among them, that change with it."""
    _demand_right(context, (link.source_id, link.target_id))
    link.removed_at = context.now if removed else None
    link.save(update_fields=["removed_at"])
    if not context.world.is_dry:
        (count_removed if removed else count_added)(link, context.tree.grove_id)
    kind = "link.removed" if removed else "link.added"
    context.append(link.source_id, kind, {"link": link_body(link, ends[0], ends[1])})
    inverse: Op = {"op": "link", "link": link.pk, "removed": not removed, "ends": ends}
    return {**inverse, "twins": list(twins)} if twins else inverse


describe_verb(
    Verb(
        "unlink",
        done=gettext_noop("Removed a link"),
        past="unlinked",
        is_destructive=True,
        asks_first=True,
        leads={"from": "to", "and": "to"},
        meant_by="delete remove erase kill trash disconnect detach",
    )
)


@command("unlink", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def unlink(context: Context, args: UnlinkArgs) -> Reply:
    """Removes the link between two items; if there are several, name its type with `as:`."""
    return unlink_items(context, args)


def unlink_items(context: Context, args: UnlinkArgs) -> Reply:
    _demand_whole(unlink, args)
    types = vocabulary_of(context.tree.grove)
    named = types.demand(args.type, archetype_of(context.actor)) if args.type else None
    if named is not None and not named[1]:
        raise unknown_type(args.type, types.names(archetype_of(context.actor)))
    kinds = (named[0].key,) if named is not None else ()
    source, shown, item, _ = _item(context, args.source)
    target, shown_to, item_to, _ = _item(context, args.target)
    links = [
        link
        for link in _between(context, source, target, kinds)
        if link.type in types.keys_seen(archetype_of(context.actor))
        and (
            link.tree_id == context.tree.pk or min(link.source_id, link.target_id) < 0
        )  # a document
    ]
    if not links:
        raise CommandError(
            "NOT_FOUND",
            f"No link from {shown} to {shown_to} was found.",
            hint=f"→ list {shown.strip('[]')} links shows those there are",
        )
    kinds_there = list(dict.fromkeys(link.type for link in links))
    if len(kinds_there) > 1:
        raise CommandError(
            "INVALID_SYNTAX",
            f"There are {len(links)} links between {shown} and {shown_to}.",
            hint=" or ".join(f"as:{types.read(kind, outward=True)}" for kind in kinds_there),
        )
    if any(map(is_kept, links)):
        raise CommandError(
            "REJECTED",
            "Evidence is never removed, only answered.",
            hint=_answering(links[0], shown_to),
        )
    name = types.read(kinds_there[0], outward=True)
    return Reply(
        f"✓ unlinked {shown} {link_types.arrow(name)} {shown_to}",
        refs=(item, item_to),
        items=(source, target),
        link_type=name,
        inverse=tuple(_remove_all(context, links, slots_of([source])[source], (item, item_to))),
    )


def _remove_all(
    context: Context, links: Sequence[Link], near: int, shown: tuple[str, str]
) -> Iterator[Op]:
    """Removes the links of one type between two items: earlier versions allowed several. `near` is
    the slot of the first item, `shown` both as in events."""
    twins = [link.pk for link in links] if len(links) > 1 else ()
    for link in links:
        ends = [*shown] if link.source_slot == near else [*reversed(shown)]
        yield set_removed(context, link, ends, True, twins=twins)


# Following links: the answer is data, never windows on the items.


class GraphArgs(Args):
    """Where to start, which link types to follow (all, if none is named), how far, which items not
    to pass through, and through which although they have many links."""

    ref: Annotated[RefField, Written("ref")]
    types: Annotated[tuple[str, ...], Written("option", key="types", value="words")] = ()
    depth: Annotated[
        int, Written("option", key="depth", value="int", minimum=1, maximum=MOST_AWAY)
    ] = 3
    stop: Annotated[tuple[str, ...], Written("option", key="stop", value="words")] = ()
    through: Annotated[tuple[str, ...], Written("option", key="through", value="words")] = ()


describe_verb(
    Verb(
        "graph",
        is_harmless=True,
    )
)


@command("graph", group="Look", klass="look", permissions={LOOM})
def graph(context: Context, args: GraphArgs) -> Reply:
    """Lists what can be reached from a node over links of some types (or of all), with their
    confidence. It does not pass through the items `stop:`, nor through those with 40 links or
    more, unless they are named by `through:`."""
    node = get_node(context, args.ref)
    known = vocabulary_of(node.tree.grove).words(archetype_of(context.actor))
    types = [link_type(context.actor, word) for word in args.types] or known
    reached = graph_of(
        context.actor,
        node,
        types,
        args.depth,
        stops=items_in(node.tree, args.stop),
        through=items_in(node.tree, args.through),
    )
    names = graph_names(reached, context.tree.pk)
    states = states_of(reached.items)
    first_words = words_of(context.actor, reached.items)
    words = {item: f' "{text}"' for item, text in first_words.items() if text}
    many = len(reached.items) - 1
    items, links = f"{many} item{'' if many == 1 else 's'}", len(reached.links)
    named = ", ".join(types) if args.types else "all types"
    summary = f"{named}: {items}, {links} link{'' if links == 1 else 's'}"
    context.note_read(*reached.items)
    of_grove = vocabulary_of(node.tree.grove)
    lines = [f"[{names[ids.of_node(node.pk)]}] {summary}"]
    for edge in reached.links:
        sure = f" {sureness(edge.confidence)}".rstrip()
        figure = f" {edge.confidence:.2f}" if edge.confidence is not None else ""
        arrow = f"──[{of_grove.read(edge.type, outward=True)}{sure}{figure}]──→"
        ends = (_end(names[item], states.get(item, "")) for item in (edge.source, edge.target))
        lines.append(f"  {next(ends)} {arrow} {next(ends)}{words.get(edge.target, '')}")
    if reached.stops:
        halted = " ".join(_end(names[item], "") for item in sorted(reached.stops))
        lines.append(f"  not passed through: {halted}")
    if reached.is_cut:
        lines.append(f"  … more than {MOST_REACHED} items; name fewer types or a smaller depth")
    refs = tuple(names[item] for item in reached.items if states.get(item) != ERASED)
    return Reply("\n".join(lines), refs=refs, items=touched(node))


def _end(name: str, state: str) -> str:
    """`[a7x2]`, `[a7x2] · pruned`, `doc:UID`, `erased`: as a line names it."""
    if state == ERASED:
        return name
    shown = name if ":" in name else f"[{name}]"
    return f"{shown} · {state}" if state else shown


def _is_there_again(context: Context, link: Link, twins: Sequence[int]) -> bool:
    """Whether the ends got a link of this type again since this one was removed."""
    there = _between(context, link.source_id, link.target_id, (link.type,))
    return any(other.pk not in twins for other in there)


@undoes("link")
def _undo_link(context: Context, op: Op, own: Own) -> list[Op]:
    link = Link.objects.select_related("by").get(pk=op["link"])
    twins = op.get("twins", ())
    if (link.removed_at is not None) == op["removed"]:
        raise conflict("The link")
    if not op["removed"] and _is_there_again(context, link, twins):
        raise conflict("The link")
    return [set_removed(context, link, op["ends"], op["removed"], twins=twins)]
