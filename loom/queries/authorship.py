"""Who wrote each character of some nodes, followed through their edits."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from loom.queries.node_rows import NodeRow, as_row, columns, fetch, listed, walked
from loom.rules.identity import Pieces, inherited

MOST_EDITS = 500  # steps back from a text


def with_origins(ids: Collection[int]) -> dict[int, NodeRow]:
    """The nodes of these row ids and all that they were edited from, by row id. At most one
    query."""
    if not ids:
        return {}
    sql = _BACK.format(
        columns=columns(), wanted=listed(ids), most=MOST_EDITS, walked=walked("back.id")
    )
    return {row[0]: as_row(row) for row in fetch(sql)}


def pieces_of(
    rows: Sequence[NodeRow], origins: Mapping[int, NodeRow] | None = None
) -> dict[int, Pieces]:
    """The pieces of each row, by row id. One query, none where none of them is an edit or what
    they were edited from (`origins`) is given."""
    edited = {row.id: row.more.edited_from_id for row in rows}
    if origins is None:
        wanted = {one for one in edited.values() if one is not None}
        origins = with_origins(wanted)
    found: dict[int, Pieces] = {}
    for row in rows:
        if edited[row.id] is None:
            found[row.id] = _whole(row.author_uid, row.text)
        else:
            found[row.id] = _along(row, origins)
    return found


def writers_of(row: NodeRow, pieces: Pieces) -> list[str]:
    """Who wrote the text of a row, most characters first; its author where it is empty. Who only
    split a text, or cut it, wrote nothing of it."""
    lengths: dict[str, int] = {}
    for author, length in pieces:
        lengths[author] = lengths.get(author, 0) + length
    return sorted(lengths, key=lambda one: -lengths[one]) or [row.author_uid]


def _whole(author: str, text: str) -> Pieces:
    return ((author, len(text)),) if text else ()


# What texts were edited from, as far back as it goes. The walk holds ids alone: a text is read
# once, however many were made from it.
_BACK = """
    WITH RECURSIVE back(id, steps) AS (
        SELECT n.id, 1 FROM loom_node n WHERE n.id IN ({wanted})
        UNION
        SELECT n.edited_from_id, back.steps + 1 FROM back JOIN loom_node n ON n.id = back.id
        WHERE n.edited_from_id IS NOT NULL AND back.steps < {most} AND {walked}
    )
    SELECT {columns} FROM (SELECT DISTINCT id FROM back) b JOIN loom_node v ON v.id = b.id
    JOIN loom_node s ON s.id = v.slot_id JOIN loom_participant a ON a.id = v.author_id
"""


def _along(newest: NodeRow, origins: Mapping[int, NodeRow]) -> Pieces:
    """From the oldest version to the newest."""
    chain = [newest]
    while (before := chain[-1].more.edited_from_id) is not None and before in origins:
        chain.append(origins[before])
    row = chain.pop()
    pieces = _whole(row.author_uid, row.text)
    while chain:
        previous, row = row, chain.pop()
        texts = _Texts(previous.text, row.text, pieces, row.author_uid)
        pieces = _step(previous.hash, row.hash, texts)
    return pieces


class _Texts:
    """The texts of one step; two hashes identify it, so that a cache does not compare texts."""

    def __init__(self, before: str, after: str, pieces: Pieces, author: str) -> None:
        self.before, self.after, self.pieces, self.author = before, after, pieces, author

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Texts)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _step(before_hash: str, after_hash: str, texts: _Texts) -> Pieces:
    # The hash of a node covers its author, text and what it was edited from, so two of them
    # decide the outcome.
    return inherited(texts.before, texts.pieces, texts.after, texts.author)
