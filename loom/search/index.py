"""The texts that a search has to read, from the trigram index, and how well each matches."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection

from loom.language.ids import ORDINAL_BITS
from loom.trees.queries.lookup import fetch, listed, walked

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
    unfolded = {one for first, last in _UNFOLDED for one in range(first, last + 1)}
    table = {}
    for one in range(_LAST_CASED + 1):
        lower = chr(one).lower()
        if len(lower) == 1 and ord(lower) != one and one not in unfolded:
            table[one] = ord(lower)
    return table


def fold(text: str) -> str:
    """The text in lower case, character by character, so that offsets stay the same."""
    return text.lower() if text.isascii() else text.translate(_table())


@cache
def _cases() -> dict[str, list[str]]:
    """The other letters that fold to a letter."""
    cases: dict[str, list[str]] = {}
    for one, lower in _table().items():
        cases.setdefault(chr(lower), []).append(chr(one))
    return cases


def spellings(query: str) -> list[str]:
    """All texts that fold to the same as the query; few for one or two characters."""
    found = [""]
    for one in fold(query):
        found = [head + case for head in found for case in (one, *_cases().get(one, ()))]
    return found


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


# The texts that a search has to read: from the trigram index; for short queries a bounded scan.


MAX_CANDIDATES = 2_000
MAX_SCANNED = 50_000  # nodes that are read for a query of one or two characters, newest first
MAX_PATTERN = 200
MAX_TRIGRAMS = 24  # trigrams of a query that are looked up; they are spread over all of it
MAX_COMPARED = 32  # characters of a query that LIKE compares: its worst case is their product
TRIGRAM = 3

_SUBTREE = """n.slot_id IN (WITH RECURSIVE down(slot) AS (
        SELECT id FROM trees_node WHERE id = %s
        UNION
        SELECT c.id FROM down JOIN trees_node c ON c.parent_slot_id = down.slot
            AND c.kind IN ('text', 'annotation') AND c.slot_id = c.id AND NOT c.pruned
            WHERE {walked}
    ) SELECT slot FROM down)"""
_SEEN = "n.kind IN ('text', 'annotation') AND NOT n.version_pruned"


def slots_below() -> str:
    """The query for the slots at or below one, its parameter."""
    return _SUBTREE.removeprefix("n.slot_id IN ").format(walked=walked("down.slot"))


class IndexedVersion(NamedTuple):
    """A version that may match; `length` of its text in code points."""

    id: int
    slot_id: int
    length: int


class Scope(NamedTuple):
    """Where to search: these trees, and only at or below a slot if one is given."""

    trees: Sequence[int]
    below: int | None = None


def candidates(query: str, scope: Scope) -> list[IndexedVersion]:
    """At most MAX_CANDIDATES versions that may contain the query, the newest first."""
    if not scope.trees:
        return []
    if len(query) < TRIGRAM:
        sql, params = _scanned(query, scope)
    elif connection.vendor == "postgresql":
        sql, params = _by_pg_trgm(query, scope)
    else:
        sql, params = _by_fts5(query, scope)
    return [IndexedVersion._make(row) for row in fetch(sql, [*params, MAX_CANDIDATES])]


def _where(scope: Scope) -> tuple[str, list[Any]]:
    """Conditions on `n`; the only values in them are row ids."""
    if len(scope.trees) == 1:
        # The nodes of a tree are one range of row ids: both databases walk only that.
        tree = scope.trees[0]
        place = f"n.id BETWEEN {tree << ORDINAL_BITS} AND {((tree + 1) << ORDINAL_BITS) - 1}"
    else:
        place = f"n.tree_id IN ({listed(scope.trees)})"
    if scope.below is None:
        return f"{place} AND {_SEEN}", []
    return f"{place} AND {_SEEN} AND {_SUBTREE.format(walked=walked('down.slot'))}", [scope.below]


def _by_fts5(query: str, scope: Scope) -> tuple[str, list[Any]]:
    """The index knows which texts contain each trigram of the query, not where (that would cost 2.4
    bytes per byte of text; this costs 0.3); LIKE then removes those that have them apart."""
    where, params = _where(scope)
    span = where.split(" AND n.kind")[0].replace("n.id", "trees_node_fts.rowid")
    inner = f"AND {span}" if "BETWEEN" in span else ""
    sql = f"""SELECT n.id, n.slot_id, n.length FROM trees_node_fts
        JOIN trees_node n ON n.id = trees_node_fts.rowid
        WHERE trees_node_fts MATCH %s {inner} AND {where}
            AND n.text LIKE %s ESCAPE '\\'
        ORDER BY trees_node_fts.rowid DESC LIMIT %s"""
    return sql, [_trigrams(query[:MAX_PATTERN]), *params, _like(query[:MAX_COMPARED])]


def _trigrams(query: str) -> str:
    """An FTS5 query for texts that contain these trigrams of the query, in any order."""
    every = list(dict.fromkeys(query[at : at + TRIGRAM] for at in range(len(query) - TRIGRAM + 1)))
    asked = every[:: -(-len(every) // MAX_TRIGRAMS)]
    return " AND ".join('"' + one.replace('"', '""') + '"' for one in asked)


def _like(query: str) -> str:
    """A LIKE pattern that matches every text with the query. SQLite's LIKE folds only ASCII, so any
    letter with another case beyond ASCII matches any character."""
    return f"%{''.join(_fits(one) for one in query)}%"


def _fits(one: str) -> str:
    ways = spellings(one)
    if one in "\\%_":
        return "\\" + one
    return one if len(ways) == 1 or all(way.isascii() for way in ways) else "_"


def _by_pg_trgm(query: str, scope: Scope) -> tuple[str, list[Any]]:
    where, params = _where(scope)
    sql = f"""SELECT n.id, n.slot_id, n.length FROM trees_node n
        WHERE n.text ILIKE %s AND {where} ORDER BY n.id DESC LIMIT %s"""
    literal = query[:MAX_PATTERN]
    for special in ("\\", "%", "_"):
        literal = literal.replace(special, "\\" + special)
    return sql, [f"%{literal}%", *params]


def _scanned(query: str, scope: Scope) -> tuple[str, list[Any]]:
    """One or two characters have no trigram: the newest nodes are scanned."""
    where, params = _where(scope)
    find = "strpos" if connection.vendor == "postgresql" else "instr"
    ways = spellings(query)
    anyway = " OR ".join([f"{find}(text, %s) > 0"] * len(ways))
    sql = f"""SELECT id, slot_id, length FROM (
            SELECT n.id, n.slot_id, n.length, n.text FROM trees_node n WHERE {where}
            ORDER BY n.id DESC LIMIT {MAX_SCANNED}
        ) AS newest WHERE {anyway} ORDER BY id DESC LIMIT %s"""
    return sql, [*params, *ways]
