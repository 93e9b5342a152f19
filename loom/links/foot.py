"""The links of items by type, as somebody sees them: what `list` counts and the foot of an item
shows. Read from `LinkCount`, so that it costs the same for ten links and for ten thousand."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext, ngettext

from loom.access import Actor, erased_trees_for, reaches_trees, trees_for
from loom.language import ids
from loom.language.portals import PortalView
from loom.language.refs import document_named, tree_named
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.people.models import Grove
from loom.permissions import CROSS_TREE, READ_DOCUMENTS
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree
from loom.trees.queries.item_names import ERASED, PRUNED
from loom.trees.queries.lookup import fetch, listed


@dataclass(frozen=True)
class Portal:
    """The links of one type of an item, without those to items that the reader may not see.
    `many` are the links, `targets` the different items that they lead to. `only` is the local id
    or title of the other end, if it is the only one; `home` is the row id of its tree, 0 for a
    document; `documents` and `trees`: how many of the other ends are documents, and are known to
    be trees. `state` is what became of it, in the words of `LinkSide.state`: ends that the reader
    could see until they were erased are counted, as `list` shows them. `pruned` and `erased`: how
    many of several ends are."""

    type: str
    many: int
    only: str = ""
    home: int = 0
    colour: str = ""
    documents: int = 0  # how many of the other ends are documents
    state: str = ""
    pruned: int = 0
    erased: int = 0
    trees: int = 0
    targets: int = 1

    @property
    def is_tree(self) -> bool:
        """Whether the only other end is a whole tree."""
        return self.trees == self.targets == 1

    @property
    def shown(self) -> str:
        """The type as shown to readers."""
        return self.type.replace("_", " ")

    @property
    def name(self) -> str:
        """The only other end as it is named, with what became of it; "" if there are several."""
        return self._named(str)

    def _named(self, word: Callable[[str], str]) -> str:
        if self.state == ERASED:
            return word(ERASED)
        if not self.only:
            return ""
        if self.is_tree:
            return tree_named(self.only)
        name = f"[{self.only}]" if self.home else document_named(self.only)
        return f"{name} · {word(self.state)}" if self.state else name

    @property
    def gone(self) -> tuple[tuple[int, str], ...]:
        """How many of several ends are pruned, and erased: `((2, "pruned"), (1, "erased"))`."""
        if self.name:
            return ()
        every = ((self.pruned, PRUNED), (self.erased, ERASED))
        return tuple(pair for pair in every if pair[0])

    @property
    def marks(self) -> str:
        """` · 2 pruned · 1 erased`, as lines and models are told; "" if none is, or it is named."""
        return "".join(f" · {many:,} {word}" for many, word in self.gone)

    @property
    def nouns(self) -> tuple[str, str]:
        """What the other ends are called, one and many of them."""
        if self.documents == self.targets:
            return "document", "documents"
        return ("item", "items") if self.documents or self.trees else ("node", "nodes")

    @property
    def target(self) -> str:
        """`2 nodes · 1 pruned`, or the only one by its name, for readers of a page."""
        if self.name:
            return self._named(_translated)
        if self.documents == self.targets:
            words = ngettext("%(n)s document", "%(n)s documents", self.targets)
        elif self.documents or self.trees:
            words = ngettext("%(n)s item", "%(n)s items", self.targets)
        else:
            words = ngettext("%(n)s node", "%(n)s nodes", self.targets)
        marks = "".join(f" · {many:,} {_translated(word)}" for many, word in self.gone)
        return words % {"n": f"{self.targets:,}"} + marks

    @property
    def opened(self) -> PortalView:
        """It as it is shown, closed."""
        return PortalView(self.type, self.targets, self.name, nouns=self.nouns, marks=self.marks)


def _translated(state: str) -> str:
    """A state of an item for readers of a page."""
    return gettext("erased") if state == ERASED else gettext("pruned")


class CountRow(NamedTuple):
    """A row of `LinkCount` for nobody in particular; `name` is the local id of the other end of
    `last`, or its item if it is no node, if it is the only one, with ` pruned` after it if that is
    pruned; `there` the row id of the grove of `home` (None for documents, and for a tree that was
    erased; -1: a sandbox, or a tree that is hidden from somebody). `pruned`: how many of the other
    ends are."""

    slot: int
    type: str
    outward: bool
    grove: int
    home: int
    many: int
    last: int
    name: str
    there: int | None
    pruned: int
    targets: int

    @property
    def is_erased(self) -> bool:
        """Whether the other ends lay in a tree that was erased. Links from there went with it."""
        return bool(self.home) and self.there is None and self.outward and self.slot > 0

    @property
    def is_to_tree(self) -> bool:
        """Whether it is a single link, to a whole tree."""
        return self.name.isdigit() and ids.tree_id(int(self.name)) is not None


@dataclass
class _Sum:
    many: int = 0
    name: str = ""
    state: str = ""
    home: int = 0
    colour: str = ""
    documents: int = 0
    pruned: int = 0
    erased: int = 0
    trees: int = 0
    targets: int = 0

    @property
    def is_single_text(self) -> bool:
        """Whether the only other end is a text outside of trees."""
        return self.targets == 1 and bool(self.documents) and bool(self.name)

    @property
    def is_single_tree(self) -> bool:
        """Whether the only other end is a whole tree."""
        return self.targets == self.trees == 1 and not self.state

    def only(self, titles: Mapping[int, str]) -> str:
        """The local id or title of the only other end."""
        if self.is_single_text or self.is_single_tree:
            return titles.get(int(self.name), "")
        return self.name if self.targets == 1 else ""


# What a count is joined with: the only other end, and the tree of the other ends.
JOINED = """
    LEFT JOIN links_link l ON c.targets = 1 AND l.id = c.last
    LEFT JOIN trees_node f ON f.id = CASE WHEN c.outward THEN l.target_id ELSE l.source_id END
    LEFT JOIN trees_node fs ON fs.id = f.slot_id
    LEFT JOIN trees_tree h ON h.id = c.home AND h.erasing_at IS NULL
"""
# The local id of the other end of a single link, or the item of one that is no node.
OTHER_END = f"""COALESCE(
    f.local_id || CASE WHEN fs.pruned OR f.version_pruned THEN ' {PRUNED}' ELSE '' END,
    CASE WHEN f.id IS NULL AND l.id IS NOT NULL
    THEN CAST(CASE WHEN c.outward THEN l.target_id ELSE l.source_id END AS VARCHAR(24)) END, '')"""
# The grove of the tree of the other ends, all of whose members see it; -1: it is a sandbox, or
# hidden from somebody.
THERE = """CASE WHEN h.sandbox_of_id IS NOT NULL OR h.reader_right = 'hidden'
    OR h.writer_right = 'hidden' OR EXISTS (
        SELECT 1 FROM trees_treeright r WHERE r.tree_id = h.id AND r.right = 'hidden'
    ) THEN -1 ELSE h.grove_id END"""
_ROWS = """
    SELECT c.slot, c.type, c.outward, c.grove_id, c.home, c.count, c.last,
        {other}, {there}, c.pruned, c.targets
    FROM links_linkcount c {joined} WHERE c.slot IN ({slots}) AND c.count > 0
"""


def portals_of(
    actor: Actor, items: Mapping[int, int], rows: Iterable[CountRow] | None = None
) -> dict[int, tuple[Portal, ...]]:
    """The portals at the foot of each item, given with its place (the slot of a node, else the
    item itself), by type; those from the item first. At most four queries for all; none if the
    `rows` are given and lead nowhere else."""
    slots = {slot for slot in items.values() if slot}
    if rows is None:
        sql = _ROWS.format(joined=JOINED, other=OTHER_END, there=THERE, slots=listed(slots))
        rows = (CountRow._make((*row[:2], bool(row[2]), *row[3:])) for row in fetch(sql))
    counts = sorted(rows, key=lambda row: (not row.outward, row.last))
    if not counts:
        return {}
    seen = _trees_seen(actor, counts)
    erased = erased_trees_for(actor, (row.home for row in counts if row.is_erased))
    groves = _groves(actor, {row.grove for row in counts})
    archetype = archetype_of(actor)
    sums: dict[int, dict[str, _Sum]] = defaultdict(dict)
    for row in counts:
        types = vocabulary_of(groves[row.grove])
        if row.type not in types.keys_seen(archetype):
            continue
        if not row.home:
            is_seen = _sees_documents(actor, row.grove, row.slot)
        else:
            is_seen = row.home in (erased if row.is_erased else seen)
        if not is_seen:
            continue
        total = sums[row.slot].setdefault(types.read(row.type, outward=row.outward), _Sum())
        total.many, total.home = total.many + row.many, row.home
        total.name, _, total.state = ("", "", ERASED) if row.is_erased else row.name.partition(" ")
        total.colour = types.colour(row.type)
        total.targets += row.targets
        total.documents += 0 if row.home else row.targets
        total.trees += row.is_to_tree
        if row.is_erased:
            total.erased += row.targets
        else:
            total.pruned += row.pruned
    titles = _titles(total for kinds in sums.values() for total in kinds.values())
    by_slot = {
        slot: tuple(
            Portal(
                kind,
                total.many,
                total.only(titles),
                total.home,
                *_look(total),
                total.pruned,
                total.erased,
                total.trees,
                total.targets,
            )
            for kind, total in kinds.items()
        )
        for slot, kinds in sums.items()
    }
    return {item: by_slot[slot] for item, slot in items.items() if slot in by_slot}


def _titles(sums: Iterable[_Sum]) -> dict[int, str]:
    """The titles of documents and trees that are the only other end, by their items; an untitled
    tree has its id. One query for each of the two, none where there is none."""
    every = list(sums)
    texts = {int(total.name) for total in every if total.is_single_text}
    homes = {total.home: int(total.name) for total in every if total.is_single_tree}
    titles = grove_texts().titles(texts) if texts else {}
    rows = Tree.objects.filter(pk__in=homes).values_list("pk", "title", "uid") if homes else ()
    return {**titles, **{homes[key]: title or uid for key, title, uid in rows}}


def _look(total: _Sum) -> tuple[str, int, str]:
    return total.colour, total.documents, total.state if total.targets == 1 else ""


def count_of(actor: Actor, items: Mapping[int, int]) -> dict[int, int]:
    """How many links the actor sees on each item, given with its place."""
    portals = portals_of(actor, items)
    return {item: sum(portal.many for portal in portals.get(item, ())) for item in items}


def _trees_seen(actor: Actor, rows: Iterable[CountRow]) -> set[int]:
    """Those of the trees that the actor may see: whoever acts in a grove sees all of its trees but
    sandboxes and those that are hidden from somebody; an agent without cross_tree only the one in
    which it acts. One query, none if there are no others."""
    homes = {row.home: row.there for row in rows if row.there is not None}
    if not reaches_trees(actor):
        return homes.keys() & {actor.within}
    own = {home for home, grove in homes.items() if grove == actor.grove.pk}
    if others := homes.keys() - own:
        own |= set(trees_for(actor).filter(pk__in=others).values_list("pk", flat=True))
    return own


def _groves(actor: Actor, wanted: set[int]) -> dict[int, Grove]:
    known = {actor.grove.pk: actor.grove}
    others = wanted - known.keys()
    return {**known, **(Grove.objects.in_bulk(others) if others else {})}


def _sees_documents(actor: Actor, grove: int, slot: int) -> bool:
    """Whether the actor may read the documents that a place is linked to: what is linked to a tree
    is open there, and with cross_tree everything of the grove (`access.documents_for`)."""
    if READ_DOCUMENTS not in actor.permissions or grove != actor.grove.pk:
        return False
    return CROSS_TREE in actor.permissions or slot > 0
