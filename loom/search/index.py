"""The texts that a search has to read, from the trigram index, and how well each matches."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection

from loom.language.ids import ORDINAL_BITS, ids_in
from loom.trees.queries.lookup import fetch, listed, within

# Letters whose lower case SQLite's trigram index does not know (its tables are Unicode
# 6.1). They match in their own case only, on PostgreSQL as well. Measured: 390 letters,
# all of them in these ranges.
_UNFOLDED = (
    (0x37F, 0x37F),
    (0x528, 0x52E),
    (0x13A0, 0x13F5),
    (0x1C90, 0x1CBF),
    (0x2C2F, 0x2C2F),
    (0xA698, 0xA69A),
    (0xA796, 0xA79E),
    (0xA7AB, 0xA7F5),
    (0x104B0, 0x104D3),
    (0x10570, 0x10595),
    (0x10C80, 0x10CB2),
    (0x118A0, 0x118BF),
    (0x16E40, 0x16E5F),
    (0x1E900, 0x1E921),
)
_LAST_CASED = 0x1E943
_USUAL_LENGTH = 800  # characters; longer texts need more occurrences to rank as high


class Match(NamedTuple):
    """How a query occurs in a text: the first position (code points), how often, and how well."""

    at: int
    times: int
    score: float


@cache
def _table() -> dict[int, int]:
    """Every letter with a lower case of one character; built on first use, in 20 ms."""
    unfolded = {code for first, last in _UNFOLDED for code in range(first, last + 1)}
    table = {}
    for code in range(_LAST_CASED + 1):
        lower = chr(code).lower()
        if len(lower) == 1 and ord(lower) != code and code not in unfolded:
            table[code] = ord(lower)
    return table


def fold(text: str) -> str:
    """The text in lower case, character by character, so that offsets stay the same."""
    return text.lower() if text.isascii() else text.translate(_table())


@cache
def _cases() -> dict[str, list[str]]:
    """The other letters that fold to a letter."""
    cases: dict[str, list[str]] = {}
    for code, lower in _table().items():
        cases.setdefault(chr(lower), []).append(chr(code))
    return cases


def spellings(query: str) -> list[str]:
    """All texts that fold to the same as the query; few for one or two characters."""
    texts = [""]
    for letter in fold(query):
        texts = [head + case for head in texts for case in (letter, *_cases().get(letter, ()))]
    return texts


def match(folded_query: str, text: str) -> Match | None:
    """How the query occurs in the text, or None. It must be folded already.

    The score grows with the number of occurrences and falls with the length of the text;
    a part of a word counts half. Source: the shape of BM25, with a fixed usual length.
    """
    folded = fold(text)
    first = at = folded.find(folded_query)
    if first < 0:
        return None
    times, weight, size = 0, 0.0, len(folded_query)
    while at >= 0:
        times += 1
        weight += 1.0 if _is_whole(folded, at, at + size) else 0.5
        at = folded.find(folded_query, at + size)
    score = weight / (weight + 1.2 * (0.25 + 0.75 * len(folded) / _USUAL_LENGTH))
    return Match(first, times, score)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether start…end is not part of a longer word."""
    before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
    return not before and not after


# The texts that a search has to read: the ways to them. All give the newest first, and leave out
# versions that were pruned; whether a slot is hidden is decided later, for a chunk at a time.


MAX_PATTERN = 200
MAX_TRIGRAMS = 24  # trigrams of a query that are looked up; they are spread over all of it
MAX_COMPARED = 32  # characters of a query that LIKE compares: its worst case is their product
TRIGRAM = 3
RAREST = 4  # trigrams that are looked up of a query whose trigrams were counted in a sample
CHUNK = 250  # candidates that are checked at once

_ORDINAL = (1 << ORDINAL_BITS) - 1
_BY_TREE = ("node_by_time", "node_annotations")  # indexes that begin with the tree
_SEEN = "n.kind IN ('text', 'annotation') AND n.depth > 0 AND NOT n.version_pruned"


class IndexedVersion(NamedTuple):
    """A version that may match; `length` of its text in code points."""

    id: int
    slot_id: int
    length: int


class NodeCondition(NamedTuple):
    """A condition on the versions `n`, with its parameters; empty: all of them. SQLite, which knows
    only how many rows a value has on average, is told the index `by` which they are found;
    `is_by_age` if that has those of a tree by their ids."""

    sql: str = ""
    params: tuple[Any, ...] = ()
    by: str = ""
    is_by_age: bool = False

    def and_(self, other: "NodeCondition") -> "NodeCondition":
        """Both conditions, by the index of the other."""
        both = f"{self.sql} AND {other.sql}" if self.sql and other.sql else self.sql or other.sql
        return NodeCondition(both, (*self.params, *other.params), other.by)


class Scope(NamedTuple):
    """NodeCondition to search: these trees, and only versions that pass `where`."""

    trees: Sequence[int]
    where: NodeCondition = NodeCondition()

    @property
    def range(self) -> tuple[int, int]:
        """The first and last row id of the nodes of its one tree."""
        first, last = ids_in(self.trees[0])
        return first + 1, last


def select(scope: Scope) -> tuple[str, list[Any]]:
    """SQL for all candidates of a scope, without an order, and its parameters."""
    place = f"n.tree_id IN ({listed(scope.trees)})"
    if len(scope.trees) == 1:  # its nodes are one range of row ids: both databases walk only that
        place = "n.id BETWEEN {} AND {}".format(*scope.range)
    if scope.where.by in _BY_TREE:
        place = f"n.tree_id IN ({listed(scope.trees)})"
    by = ""
    if scope.where.by and connection.vendor == "sqlite":
        by = f" INDEXED BY {scope.where.by}"
    more = f" AND {scope.where.sql}" if scope.where.sql else ""
    sql = f"SELECT n.id, n.slot_id, n.length FROM trees_node n{by} WHERE {place} AND {_SEEN}{more}"
    return sql, list(scope.where.params)


def size_of(scope: Scope) -> int:
    """The last ordinal of the one tree of a scope."""
    sql = "SELECT MAX(id) FROM trees_node WHERE id BETWEEN %s AND %s"
    return int(fetch(sql, scope.range)[0][0] or 0) & _ORDINAL


def few(scope: Scope, most: int) -> list[IndexedVersion] | None:
    """All candidates of a scope, the newest first, if there are fewer than `most`; else None. Reads
    no more than that."""
    sql, params = select(scope)
    rows = fetch(f"{sql} LIMIT {most}", params)
    return None if len(rows) == most else sorted(map(IndexedVersion._make, rows), reverse=True)


def newest(scope: Scope) -> Iterator[list[IndexedVersion]]:
    """All candidates of a scope, in chunks."""
    sql, params = select(scope)
    last, size = 1 << 62, CHUNK
    while True:
        rows = fetch(f"{sql} AND n.id < %s ORDER BY n.id DESC LIMIT {size}", [*params, last])
        versions = [IndexedVersion._make(row) for row in rows]
        if versions:
            yield versions
        if len(versions) < size:
            return
        last = versions[-1].id


def newest_with(
    scope: Scope, query: str, last: int | None, most: int
) -> tuple[list[IndexedVersion], int | None]:
    """Those with the words among the newest `most` candidates of one tree before `last`, and the
    last of these `most`; None if there are no more."""
    before = NodeCondition("n.id < %s", (1 << 62 if last is None else last,), scope.where.by)
    sql, params = select(scope._replace(where=scope.where.and_(before)))
    with_words, words = _compared(query)
    sql = sql.replace("n.length FROM", f"n.length, {with_words} FROM", 1)
    rows = fetch(f"{sql} ORDER BY n.id DESC LIMIT {most}", [*words, *params])
    having = [IndexedVersion._make(row[:3]) for row in rows if row[3]]
    return having, rows[-1][0] if len(rows) == most else None


def with_texts(scope: Scope, grove_id: int) -> Scope:
    """The scope, which is of one grove, without the trees that have only a root."""
    sql = """SELECT t.id FROM trees_tree t JOIN engine_stream s ON s.name = 'tree:' || t.uid
        WHERE t.grove_id = %s AND s.items > 1"""
    trees = {tree for (tree,) in fetch(sql, [grove_id])}
    return scope._replace(trees=[tree for tree in scope.trees if tree in trees])


def newest_of_trees(
    scope: Scope, query: str, last: int, most: int
) -> tuple[list[IndexedVersion], int | None]:
    """As `newest_with`, of several trees on PostgreSQL: those that were made last come first, and
    each is looked up by itself, so that no other grove is read."""
    with_words, words = _compared(query)
    more = f" AND {scope.where.sql}" if scope.where.sql else ""
    first = f"t.id << {ORDINAL_BITS}"
    sql = f"""SELECT n.id, n.slot_id, n.length, {with_words}
        FROM unnest(%s::bigint[]) t(id) CROSS JOIN LATERAL (
            SELECT n.id, n.slot_id, n.length, n.text FROM trees_node n
            WHERE n.id BETWEEN ({first}) AND LEAST(({first}) + {_ORDINAL}, %s)
                AND {_SEEN}{more} ORDER BY n.id DESC LIMIT {most}
        ) n LIMIT {most}"""
    trees = sorted((tree for tree in scope.trees if tree <= last >> ORDINAL_BITS), reverse=True)
    rows = fetch(sql, [*words, trees, last - 1, *scope.where.params])
    having = [IndexedVersion._make(row[:3]) for row in rows if row[3]]
    return having, rows[-1][0] if len(rows) == most else None


def scanned(scope: Scope, query: str, most: int) -> list[IndexedVersion]:
    """Those with the words among the newest `most` candidates of several trees."""
    sql, params = select(scope)
    with_words, words = _compared(query)
    sql = sql.replace("n.length FROM", "n.length, n.text FROM", 1)
    sql = f"""SELECT n.id, n.slot_id, n.length FROM ({sql} ORDER BY n.id DESC LIMIT {most}
        ) n WHERE {with_words} ORDER BY n.id DESC"""
    return [IndexedVersion._make(row) for row in fetch(sql, [*params, *words])]


def block(scope: Scope, query: str, first: int, last: int) -> list[IndexedVersion]:
    """The candidates with the words among the ordinals of one tree from `first` to `last`."""
    base = scope.trees[0] << ORDINAL_BITS
    part = scope.where.and_(NodeCondition("n.id BETWEEN %s AND %s", (base + first, base + last)))
    sql, params = select(scope._replace(where=part))
    with_words, words = _compared(query)
    rows = fetch(f"{sql} AND {with_words} ORDER BY n.id DESC", [*params, *words])
    return [IndexedVersion._make(row) for row in rows]


def sampled(scope: Scope, ordinals: Sequence[int]) -> list[tuple[IndexedVersion, str]]:
    """Those of the ordinals of one tree that are candidates, with their texts."""
    base = scope.trees[0] << ORDINAL_BITS
    those, given = within("n.id", [base + ordinal for ordinal in ordinals])
    more = f" AND {scope.where.sql}" if scope.where.sql else ""
    sql = f"""SELECT n.id, n.slot_id, n.length, n.text FROM trees_node n
        WHERE {those} AND {_SEEN}{more}"""
    rows = fetch(sql, [given, *scope.where.params])
    return [(IndexedVersion._make(row[:3]), row[3]) for row in rows]


def from_index(
    scope: Scope, query: str, *, texts: Sequence[str] = (), most: int
) -> Iterator[list[IndexedVersion]]:
    """The newest `most` candidates that hold the words, of which there must be three characters, in
    chunks, from the trigram index. `texts` are a sample that tells which trigrams are rare."""
    if connection.vendor == "postgresql":
        sql, params = _by_pg_trgm(query, scope, most)
    else:
        sql, params = _by_fts5(query, scope, texts, most)
    with connection.cursor() as cursor:  # SQLite reads no more than what is fetched
        cursor.execute(sql, params)
        while rows := cursor.fetchmany(CHUNK):
            yield [IndexedVersion._make(row) for row in rows]


def _by_fts5(query: str, scope: Scope, texts: Sequence[str], most: int) -> tuple[str, list[Any]]:
    """The index knows which texts contain each trigram of the query, not where (that would cost 2.4
    bytes per byte of text; this costs 0.3); LIKE then removes those that have them apart."""
    where, params = select(scope)
    condition = where.split(" WHERE ", 1)[1]
    span = ""
    if len(scope.trees) == 1:
        span = "AND trees_node_fts.rowid BETWEEN {} AND {}".format(*scope.range)
    sql = f"""SELECT n.id, n.slot_id, n.length FROM trees_node_fts
        CROSS JOIN trees_node n ON n.id = trees_node_fts.rowid
        WHERE trees_node_fts MATCH %s {span} AND {condition}
            AND n.text LIKE %s ESCAPE '\\'
        ORDER BY trees_node_fts.rowid DESC LIMIT {most}"""
    asked = _trigrams(query[:MAX_PATTERN], texts)
    return sql, [asked, *params, _like(query[:MAX_COMPARED])]


def _trigrams(query: str, texts: Sequence[str]) -> str:
    """An FTS5 query for texts that contain these trigrams of the query, in any order: with a sample
    of texts the RAREST in it, because each long list of a common one costs time."""
    every = list(dict.fromkeys(query[at : at + TRIGRAM] for at in range(len(query) - TRIGRAM + 1)))
    if texts:
        folded = [fold(text) for text in texts]
        common = {trigram: sum(fold(trigram) in text for text in folded) for trigram in every}
        asked = sorted(every, key=common.__getitem__)[:RAREST]
    else:
        asked = every[:: -(-len(every) // MAX_TRIGRAMS)]
    return " AND ".join('"' + trigram.replace('"', '""') + '"' for trigram in asked)


def _compared(query: str) -> tuple[str, list[str]]:
    """A condition that a text holds the words, or may hold them, without an index."""
    if len(query) < TRIGRAM and not query.isascii():
        find = "strpos" if connection.vendor == "postgresql" else "instr"
        ways = spellings(query)
        return f"({' OR '.join([f'{find}(n.text, %s) > 0'] * len(ways))})", ways
    if connection.vendor == "postgresql":  # an expression, for which it has no index
        return "(n.text || '') ILIKE %s", [_ilike(query)]
    return "n.text LIKE %s ESCAPE '\\'", [_like(query[:MAX_COMPARED])]


def _like(query: str) -> str:
    """A LIKE pattern that matches every text with the query. SQLite's LIKE folds only ASCII, so any
    letter with another case beyond ASCII matches any character."""
    return f"%{''.join(_fits(letter) for letter in query)}%"


def _fits(letter: str) -> str:
    ways = spellings(letter)
    if letter in "\\%_":
        return "\\" + letter
    return letter if len(ways) == 1 or all(way.isascii() for way in ways) else "_"


def _ilike(query: str) -> str:
    literal = query[:MAX_PATTERN]
    for special in ("\\", "%", "_"):
        literal = literal.replace(special, "\\" + special)
    return f"%{literal}%"


def _by_pg_trgm(query: str, scope: Scope, most: int) -> tuple[str, list[Any]]:
    """All that match are found before the newest are taken: with an order inside, the planner walks
    the primary key and compares every text whenever it takes the words for common."""
    sql, params = select(scope)
    sql = f"""WITH found AS MATERIALIZED ({sql} AND n.text ILIKE %s)
        SELECT id, slot_id, length FROM found ORDER BY id DESC LIMIT {most}"""
    return sql, [*params, _ilike(query)]
