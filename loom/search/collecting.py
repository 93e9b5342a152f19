"""Which nodes match a search: found by the way that reads least, and checked a chunk at a time, so
that nothing more is read once there are ENOUGH.

The ways, the first that fits: the few nodes that a filter or a branch leaves; the texts around
samples that match, for words that are common; all texts of a small tree; the trigram index. Whether
a text is hidden or in the branch is asked of a chunk at once, by chains: `prune` rewrites nothing
for the sake of searches (docs/decisions/2026-11-26-search-in-chunks.md).
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from django.db import connection

from loom.access import Actor
from loom.language.ids import ORDINAL_BITS
from loom.search import index
from loom.search.index import TRIGRAM, IndexedVersion, Match, NodeCondition, Scope, fold, match
from loom.trees.models import Node, Workspace
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import fetch, listed, selected_in
from loom.trees.queries.places import in_chunks

ENOUGH = 400  # matches that are collected, and ranked: the newest
EASY = 4_000  # candidates after which fewer are
PLENTY = 100  # enough: most of them are hidden, or do not pass the filters
FEW = 1_500  # nodes that a filter or a branch leaves, which are then read instead of an index
SMALL = 5_000  # nodes of a tree that is not sampled
MARKED = "node_versions"  # the index of the versions of slots
MOST_MARKED = 50_000  # versions of slots with a mark
MOST_LOOKED_AT = 6_000  # candidates of the index that are checked
MOST_SCANNED = 20_000  # texts that are compared without an index
MOST_READ = 50_000_000  # characters of texts that one search reads
SAMPLES = 600  # texts at random places of a tree
IS_COMMON = 0.02  # the part of the samples that has the words, from which on they are common
BLOCK = 1_000  # ordinals around a sample


class Collected(NamedTuple):
    """Matches by node id; `is_all` unless there are, or may be, more."""

    matches: dict[int, Match]
    is_all: bool


@dataclass
class NodeSearch:
    """One search by one actor: the words (empty: any text), where, and what else a node must be.

    `below` is the branch. `few` are scopes that a filter leaves and an index finds; `passes`
    returns those of some row ids that pass the filters that no scope has.
    """

    actor: Actor
    query: str
    scope: Scope
    workspaces: "ReaderWorkspaces"
    below: Node | None = None
    few: Sequence[NodeCondition] = ()
    passes: Callable[[list[int]], set[int]] | None = None
    matches: dict[int, Match] = field(default_factory=dict)
    characters: int = 0
    looked_at: int = 0  # candidates, and texts that are compared to find some

    def run(self) -> Collected:
        """The newest ENOUGH matches, or nearly: those around samples come before others."""
        if self.below is not None and lookup.hidden_by(self.below) is not None:
            return Collected({}, is_all=True)
        is_all = self.take(self._ways())
        return Collected(self.matches, is_all)

    def take(self, chunks: Iterator[list[IndexedVersion]]) -> bool:
        """Takes what matches from the chunks until there is enough; whether all were looked at."""
        for chunk in chunks:
            if not self._check(chunk):
                return False
            if len(self.matches) >= (ENOUGH if self.looked_at < EASY else PLENTY):
                return False
        return not self.is_cut

    is_cut = False

    def _check(self, chunk: list[IndexedVersion]) -> bool:
        """Adds what matches of a chunk; False if too much text was read. Texts are read last: a
        common word is in many that are hidden."""
        seen = self._seen(chunk)
        if not self.query.strip():
            self.matches |= dict.fromkeys((version.id for version in seen), Match(0, 1, 1.0))
            return True
        sums = list(accumulate((version.length for version in seen), initial=self.characters))
        within = [version for version, sum_ in zip(seen, sums[1:], strict=True) if sum_ < MOST_READ]
        self.characters = sums[-1]
        folded = fold(self.query)
        for key, text in _texts(within):
            match_found = match(folded, text)
            if match_found is not None:
                self.matches[key] = match_found
        return self.characters < MOST_READ

    def _seen(self, chunk: list[IndexedVersion]) -> list[IndexedVersion]:
        """Those that pass the filters and that the reader sees."""
        if self.passes is not None and chunk:
            kept = self.passes([version.id for version in chunk])
            chunk = [version for version in chunk if version.id in kept]
        return visible(self.actor, chunk, self.workspaces, below=self.below)

    def _ways(self) -> Iterator[list[IndexedVersion]]:
        many: Scope | None = None
        for where in self._few_ones():
            part = self.scope._replace(where=self.scope.where.and_(where))
            few = index.few(part, MOST_MARKED if where.by == MARKED else FEW)
            if few is not None:
                size = index.CHUNK
                return (few[at : at + size] for at in range(0, len(few), size))
            if where.is_by_age:
                many = part
        if not self.query.strip():
            return self._bounded(index.newest(self.scope))
        if many is not None and len(self.scope.trees) == 1:
            return self._by_age(many)
        return self._of_words()

    def _of_words(self) -> Iterator[list[IndexedVersion]]:
        self.looked_at = 0
        if len(self.scope.trees) == 1:
            return self._in_tree()
        if len(self.query) < TRIGRAM:
            return iter([index.scanned(self.scope, self.query, MOST_SCANNED)])
        if connection.vendor == "postgresql":
            return self._in_trees()
        return self._bounded(index.from_index(self.scope, self.query, most=MOST_LOOKED_AT + 1))

    def _in_trees(self) -> Iterator[list[IndexedVersion]]:
        """The newest texts of several trees while the words are common in them; else by the index
        of PostgreSQL, which finds the words everywhere before it asks where."""
        last: int | None = 1 << 62
        found, scope = 0, index.with_texts(self.scope, self.actor.grove.pk)
        while last is not None and self.looked_at < MOST_SCANNED:
            having, last = index.newest_of_trees(scope, self.query, last, BLOCK)
            self.looked_at += BLOCK
            found += len(having)
            if last is not None and found < self.looked_at * IS_COMMON:
                break
            yield having
        else:
            self.is_cut = last is not None
            return
        self.looked_at = 0
        yield from self._bounded(index.from_index(self.scope, self.query, most=MOST_LOOKED_AT + 1))

    def _by_age(self, part: Scope) -> Iterator[list[IndexedVersion]]:
        """Those with the words among the newest that the index of a filter finds. As soon as they
        are so few that there would not be ENOUGH of them among MOST_SCANNED, by the words."""
        last: int | None = None
        while self.looked_at < MOST_SCANNED:
            having, last = index.newest_with(part, self.query, last, BLOCK)
            self.looked_at += BLOCK
            yield having
            if last is None:
                return
            if len(self.matches) < self.looked_at * ENOUGH / MOST_SCANNED:
                yield from self._of_words()
                return
        self.is_cut = True

    def _few_ones(self) -> Iterator[NodeCondition]:
        yield from self.few
        if self.below is not None:
            kinds = "'text', 'annotation'"
            slots = places.slots_from(self.below.slot_id, most=FEW, kinds=kinds)
            if len(slots) < FEW:
                yield of_slots(slots)

    def _bounded(self, chunks: Iterator[list[IndexedVersion]]) -> Iterator[list[IndexedVersion]]:
        """The chunks, until MOST_LOOKED_AT candidates have been looked at."""
        for chunk in chunks:
            if self.looked_at >= MOST_LOOKED_AT:
                self.is_cut = True
                return
            self.looked_at += len(chunk)
            yield chunk

    def _in_tree(self) -> Iterator[list[IndexedVersion]]:
        size = index.size_of(self.scope)
        texts: list[str] = []
        if size > SMALL:
            dice = random.Random(size)  # noqa: S311 (the same samples for each page of the hits)
            ordinals = sorted(dice.sample(range(1, size + 1), SAMPLES))
            sample = index.sampled(self.scope, ordinals)
            texts = [text for _, text in sample]
            folded = fold(self.query)
            having = [version for version, text in sample if match(folded, text) is not None]
            if len(having) > SAMPLES * IS_COMMON:
                return self._around(having, size)
        if len(self.query) < TRIGRAM:
            return self._bounded_scan(range(size // BLOCK, -1, -1))
        if connection.vendor == "postgresql" and size <= MOST_SCANNED:
            # Its index holds all trees, and finds the words in all of them before it asks where.
            return self._bounded_scan(range(size // BLOCK, -1, -1))
        asked = index.from_index(self.scope, self.query, texts=texts, most=MOST_LOOKED_AT + 1)
        return self._bounded(asked)

    def _around(self, having: list[IndexedVersion], size: int) -> Iterator[list[IndexedVersion]]:
        """The blocks of samples that have the words and that the reader sees, the newest first,
        then the other blocks."""
        ordinals = (
            (version.id & ((1 << ORDINAL_BITS) - 1)) // BLOCK for version in self._seen(having)
        )
        first = sorted(set(ordinals), reverse=True)
        others = set(range(size // BLOCK + 1)).difference(first)
        return self._bounded_scan([*first, *sorted(others, reverse=True)])

    def _bounded_scan(self, blocks: Iterable[int]) -> Iterator[list[IndexedVersion]]:
        for number in blocks:
            if self.looked_at >= MOST_SCANNED:
                self.is_cut = True
                return
            self.looked_at += BLOCK
            start = number * BLOCK
            yield index.block(self.scope, self.query, start, start + BLOCK - 1)


def of_slots(slots: Sequence[int]) -> NodeCondition:
    """The versions of some slots."""
    these, given = lookup.within("n.slot_id", slots)
    return NodeCondition(these, (given,), MARKED)


class ReaderWorkspaces:
    """The workspaces of one reader, fetched for the trees that are asked about."""

    def __init__(self, actor: Actor, known: Mapping[int, Workspace | None] | None = None) -> None:
        self._actor = actor
        self._known: dict[int, Workspace | None] = dict(known or {})

    def of(self, trees: Iterable[int]) -> dict[int, Workspace | None]:
        """The workspace in each of the trees, if there is one. One query for those not known."""
        missing = set(trees) - self._known.keys()
        if missing:
            self._known |= dict.fromkeys(missing)
            own = Workspace.objects.filter(participant=self._actor.participant, tree__in=missing)
            self._known |= {row.tree_id: row for row in own}
        return self._known


def visible(
    actor: Actor,
    versions: Sequence[IndexedVersion],
    workspaces: ReaderWorkspaces,
    *,
    below: Node | None = None,
) -> list[IndexedVersion]:
    """Those whose version is selected for the reader, and whose slot is not hidden; for a model
    also without the excluded ones; only at or `below` a node. Four queries, however many trees;
    for a model three more for each tree."""
    standing = places.standing_among({version.slot_id for version in versions}, below=below)
    own = workspaces.of({slot >> ORDINAL_BITS for slot in standing})
    selected = selected_in(standing, own.values())
    seen = [
        version
        for version in versions
        if version.slot_id in standing and selected[version.slot_id][0] == version.id
    ]
    gone = lookup.withheld(actor, [version.id for version in seen])
    return [version for version in seen if version.id not in gone]


def _texts(versions: list[IndexedVersion]) -> Iterator[tuple[int, str]]:
    """(id, text) of the candidates, in chunks of bounded size."""
    for ids in in_chunks((version.id, version.length) for version in versions):
        yield from fetch(f"SELECT id, text FROM trees_node WHERE id IN ({listed(ids)})")
