"""Opening in windows what links lead to: by their type, by a derived type, and the sections of a
document (docs/model.md §8)."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from loom.access import may_reach
from loom.engine.context import Context
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import ParseError, Ref, Slice, print_slice, quote
from loom.language.slices import get
from loom.links.derived import item_annotated, nodes_of
from loom.links.portals import NamedItem
from loom.links.sides import LinkSide, links_of, mentioning
from loom.permissions import READ_DOCUMENTS
from loom.trees.grove_texts import WindowSource, grove_texts, is_text
from loom.trees.models import GroveText, Node
from loom.trees.queries import lookup
from loom.workspace.commands.windows import demand_depth, place_window
from loom.workspace.models import Window
from loom.workspace.queries.windows import source_of
from loom.workspace.window_rules import LARGE, MOST_WITH, Lines, total_of

MOST_FOLLOWED = 200  # links of which those with a text are opened

CONTAINS: Final = "contains"  # the link type by which a text leads to its sections, too


class LinkedWindows(NamedTuple):
    """The windows on linked items, and the names of those that got none: there were more than could
    be opened, or they have no text. `line` lists all of them; `again`: how many links lead to items
    to which another one leads; `long`: the documents that are too long to be opened whole, with
    their lines."""

    opened: list[Window]
    left: list[str]
    line: str = ""
    again: int = 0
    long: tuple[tuple[str, int], ...] = ()

    @property
    def rest(self) -> str:
        """`\n  not opened: [a7x2] [b3k9] and 4 more: → list c4m2 uses`; nothing if all were."""
        return f"{self._rest_left}{too_long(self.long)}"

    @property
    def _rest_left(self) -> str:
        if not self.left:
            return ""
        more = len(self.left) - MOST_LEFT
        line = f": → {self.line}" if self.line else ""
        return f"\n  not opened: {' '.join(self.left[:MOST_LEFT])}" + (
            f" and {more:,} more{line}" if more > 0 else ""
        )


MOST_LEFT = 40  # linked items without a window that a reply names


def too_long(documents: Sequence[tuple[str, int]]) -> str:
    """What a reply says of documents, by name and lines, that are too long to be opened whole."""
    if not documents:
        return ""
    sizes = " ".join(f"{name} ({lines:,} lines)" for name, lines in documents)
    line = f"→ open {documents[0][0]} head:{LARGE}"
    return f"\n  not opened whole, as over {LARGE} lines: {sizes}: {line}"


@dataclass(frozen=True)
class LinksToOpen:
    """Which links are followed from a window (`parent`, 0: from none), and how at most `most` of
    the items that they lead to are opened: each once and none that is in `seen`, to which they are
    added; with `is_portal`, as deep as portals may lie. `cut` are the lines of each that are shown;
    without it a document of more than LARGE lines is not opened."""

    kind: str
    parent: int
    most: int = MOST_WITH
    keep: bool = False
    is_portal: bool = False
    seen: set[int] = field(default_factory=set)
    cut: Slice | None = None


def open_linked(context: Context, node: Node, links: LinksToOpen) -> LinkedWindows:
    """Opens windows on what is linked to a node by one type. LIMIT_EXCEEDED if they would be nested
    too deep."""
    if links.kind == "mentioned_by":
        mentions = mentioning(context.actor, node)
    else:
        mentions = links_of(context.actor, node, kind=links.kind, most=MOST_FOLLOWED)
    firsts = each_once(mentions, links.seen, item=lambda link: link.item)
    sources = ((_link_name(context, link), _linked(context, link)) for link in firsts)
    opened = _open_sources(context, sources, links)
    line = f"list {lookup.node_ref(node, context.tree.pk)} {links.kind}"
    return opened._replace(line=line, again=len(mentions) - len(firsts))


def open_derived(context: Context, node: Node, links: LinksToOpen) -> tuple[LinkedWindows, int]:
    """Opens windows on what a derived type leads to from a node, as `open_linked` does; and how
    many items there are."""
    kind, seen = links.kind, links.seen
    if kind == "annotates" and (item := item_annotated(node)):
        ends = [end_of(context, end) for end in each_once([item], seen, item=lambda end: end)]
        number = len(ends)
    else:
        nodes, number = nodes_of(
            context.actor, node, kind, context.workspace, most=links.most + MOST_LEFT
        )
        number -= len(nodes)
        nodes = each_once(nodes, seen, item=lambda end: ids.of_node(end.pk))
        number += len(nodes)
        ends = [
            (f"[{lookup.node_ref(end, context.tree.pk)}]", source_of(end) if end.text else None)
            for end in nodes
        ]
    linked = _open_sources(context, ends, links)
    return linked._replace(line=f"list {lookup.node_ref(node, context.tree.pk)} {kind}"), number


OF_TEXTS = ("mentions", "annotations")  # derived types that documents have


def not_of_texts(kind: str) -> CommandError:
    """Why a derived type leads nowhere from a document."""
    return CommandError(
        "INVALID_SYNTAX",
        f"Documents have no {kind}.",
        hint=f"they have links by their types, {' and '.join(OF_TEXTS)}",
    )


T = TypeVar("T")


def each_once(ends: Iterable[T], seen: set[int], *, item: Callable[[T], int]) -> list[T]:
    """The ends whose items are not in `seen`, the first of each item; adds these items to it."""
    firsts = []
    for end in ends:
        if item(end) not in seen:
            seen.add(item(end))
            firsts.append(end)
    return firsts


def _link_name(context: Context, link: LinkSide) -> str:
    if link.is_broken:
        return link.state
    if link.node is None:
        return link.whole[1]
    return f"[{lookup.node_ref(link.node, context.tree.pk)}]"


def open_linked_to_text(context: Context, text: GroveText, links: LinksToOpen) -> LinkedWindows:
    """Opens windows on items that are linked to a text of the grove by one type, that it embeds
    (`mentions`) or that are its annotations."""
    linked = grove_texts().linked_items(context.actor, text, links.kind, context.tree)
    items = each_once(linked, links.seen, item=lambda item: item)
    opened = _open_sources(context, (end_of(context, item) for item in items), links)
    if links.kind == CONTAINS:
        parts = _open_parts(context, text, replace(links, most=links.most - len(opened.opened)))
        opened = opened._replace(
            opened=[*opened.opened, *parts.opened], left=[*opened.left, *parts.left]
        )
    return opened._replace(line=f"list doc:{quote(text.title)} {links.kind}")


def end_of(context: Context, item: int) -> tuple[str, WindowSource | None]:
    """The name and text of an item, if a window can show it whole; no name for what the caller may
    not see."""
    if is_text(item):
        far = grove_texts().seen(context.actor, context.tree, [item]).get(item)
        return ("", None) if far is None else (f"doc:{quote(far.title)}", _whole(far))
    node = lookup.rows().filter(pk=ids.node_id(item) or 0).first()
    if node is None or not may_reach(context.actor, node.tree_id, here=context.tree):
        return "", None
    name = f"[{lookup.node_ref(node, context.tree.pk)}]"
    return name, source_of(node) if node.text else None


def _open_sources(
    context: Context, sources: Iterable[tuple[str, WindowSource | None]], links: LinksToOpen
) -> LinkedWindows:
    """Opens windows on texts, given with their names."""
    opened: list[Window] = []
    left: list[str] = []
    long: list[tuple[str, int]] = []
    cut = links.cut
    for name, source in sources:
        if source is None or len(opened) >= links.most:
            left += [name] if name else []
            continue
        total = total_of(source.text)
        if cut is None and is_long(source, Lines(1, total)):
            long.append((name, total))
            continue
        part = get(source.text, cut) if cut is not None else None
        lines = Lines(part.first, part.last) if part is not None else Lines(1, total)
        place = print_slice(cut) if cut is not None and lines != Lines(1, total) else ""
        opened.append(_opened(context, source, lines, place, links))
    return LinkedWindows(opened, left, long=tuple(long))


def _opened(
    context: Context, source: WindowSource, lines: Lines, place: str, links: LinksToOpen
) -> Window:
    """A window on lines of a text, which notes from where and by which type it was opened, if it is
    new."""
    demand_depth(context, links.parent, links.kind if links.is_portal else "")
    window = place_window(context, source, lines, keep=links.keep, place=place)
    if window._state.adding and window.number != links.parent:
        window.via, window.parent_number = links.kind, links.parent
    return window


def _open_parts(context: Context, text: GroveText, links: LinksToOpen) -> LinkedWindows:
    """Opens windows on the sections of a text that lie in no other."""
    opened: list[Window] = []
    left: list[str] = []
    for part in grove_texts().parts_within(text):
        place = print_slice(part)
        if len(opened) >= links.most:
            left.append(f"doc:{quote(text.title)} {place}")
            continue
        shown = grove_texts().part_of(text, part)
        lines = Lines(shown.first, shown.last)
        opened.append(_opened(context, shown.source, lines, place, links))
    return LinkedWindows(opened, left)


def is_long(source: WindowSource, lines: Lines) -> bool:
    """Whether these lines are the whole of a document, and too many to be opened at once."""
    total = total_of(source.text)
    return is_text(source.item) and total > LARGE and lines == Lines(1, total)


def _linked(context: Context, link: LinkSide) -> WindowSource | None:
    """The target of a link, if it has a text that a window can show whole."""
    if link.document_uid and READ_DOCUMENTS in context.actor.permissions:
        return _whole(grove_texts().get(context, Ref("document", id=link.document_uid)))
    far = link.node
    if far is None or not far.text:
        return None
    return source_of(far) if may_reach(context.actor, far.tree_id, here=context.tree) else None


def _whole(text: GroveText) -> WindowSource | None:
    """The newest version of a text, unless it is empty."""
    shown = grove_texts().part_of(text)
    return shown.source if shown.text else None


def source_and_lines(context: Context, named: NamedItem) -> tuple[WindowSource | None, Lines]:
    """The text of an item, and the lines of the part that is meant; None for what has no text that
    a window can show."""
    key = ids.node_id(named.item)
    if key is not None:
        node = lookup.rows().filter(pk=key).first()
        source = source_of(node) if node is not None else None
        return source, Lines(1, total_of(source.text) if source is not None else 1)
    text = grove_texts().seen(context.actor, context.tree, [named.item]).get(named.item)
    if text is None:
        return None, Lines(1, 1)
    if named.part is not None:
        with suppress(ParseError):
            shown = grove_texts().part_of(text, named.part)
            return shown.source, Lines(shown.first, shown.last)
    source = _whole(text)
    return source, Lines(1, total_of(source.text) if source is not None else 1)
