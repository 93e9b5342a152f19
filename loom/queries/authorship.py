"""Who wrote each character of some nodes, followed through their edits."""

from collections.abc import Sequence
from functools import lru_cache

from loom.queries.node_rows import NodeRow, fetch, listed, walked
from loom.rules.identity import Pieces, inherited

Wording = tuple[str, str, str, int | None]  # hash, text, author, id it was edited from
MOST_EDITS = 500  # steps back from a text


def pieces_of(rows: Sequence[NodeRow]) -> dict[int, Pieces]:
    """The pieces of each row, by row id. One query, none where none of them is an edit."""
    edited = {row.id: row.more.edited_from_id for row in rows}
    known = _wordings({one for one in edited.values() if one is not None})
    found: dict[int, Pieces] = {}
    for row in rows:
        if edited[row.id] is None:
            found[row.id] = _whole(row.author_uid, row.text)
        else:
            found[row.id] = _along((row.hash, row.text, row.author_uid, edited[row.id]), known)
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
    SELECT n.id, n.hash, n.text, a.uid, n.edited_from_id
    FROM (SELECT DISTINCT id FROM back) b JOIN loom_node n ON n.id = b.id
    JOIN loom_participant a ON a.id = n.author_id
"""


def _wordings(wanted: set[int]) -> dict[int, Wording]:
    """The nodes of these row ids and all that they were edited from; at most one query."""
    if not wanted:
        return {}
    rows = fetch(_BACK.format(wanted=listed(wanted), most=MOST_EDITS, walked=walked("back.id")))
    return {key: (digest, text, author, before) for key, digest, text, author, before in rows}


def _along(newest: Wording, known: dict[int, Wording]) -> Pieces:
    """From the oldest version to the newest."""
    chain = [newest]
    while (before := chain[-1][3]) is not None and before in known:
        chain.append(known[before])
    digest, text, author, _ = chain.pop()
    pieces = _whole(author, text)
    while chain:
        previous, old = digest, text
        digest, text, author, _ = chain.pop()
        pieces = _step(previous, digest, _Texts(old, text, pieces, author))
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
