"""Ids, the addresses of stored items, and the hashes that seal nodes. Pure."""

import hashlib
import json
import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from difflib import SequenceMatcher
from typing import Any

LETTERS = "abcdefghjkmnpqrstvwxyz"  # no i l o u
DIGITS = "23456789"
MAX_LENGTH = 8


def space(length: int) -> int:
    """How many ids of `length` characters there are: letters and digits in turn."""
    count: int = len(LETTERS) ** ((length + 1) // 2) * len(DIGITS) ** (length // 2)
    return count


def length_for(used: int) -> int:
    """The length to draw when `used` ids are taken: one more per quarter of a space filled."""
    length = 4
    while length < MAX_LENGTH and used >= space(length) // 4:
        length += 1
    return length


def draw(length: int, choose: Callable[[str], str]) -> str:
    """One id; `choose` picks a character, such as secrets.choice."""
    return "".join(choose(DIGITS if i % 2 else LETTERS) for i in range(length))


def draw_new(used: int, taken: Collection[str], choose: Callable[[str], str]) -> str:
    """An id that is not in `taken`; drawn again on collision."""
    length = length_for(used)
    while (drawn := draw(length, choose)) in taken:
        pass
    return drawn


def looks_like_id(word: str) -> bool:
    """Whether `word` has the form of a local id."""
    return 4 <= len(word) <= MAX_LENGTH and all(
        c in (DIGITS if i % 2 else LETTERS) for i, c in enumerate(word.lower())
    )


# The ids of items, and the stored types of links (docs/model.md §8).

ORDINAL_BITS = 32
_ORDINAL = (1 << ORDINAL_BITS) - 1


# The order of siblings: when they were begun. A text that somebody typed began when it was added,
# a candidate when it was asked for, in whatever order candidates end.
PLACE_BITS = 20
_PLACES = (1 << PLACE_BITS) - 1
LAST_PLACE = 1 << 62


def place_of(node_id: int, place: int | None) -> int:
    """Where a slot is among its siblings: lower comes first. `place` is what its node stores."""
    return (node_id & _ORDINAL) << PLACE_BITS if place is None else place


def place_asked(after: int | None, generation: int) -> int | None:
    """The place of a candidate that was asked for when `after` was the ordinal of the tree's newest
    node; `generation` is its row id. None for those of old, which are where they were added."""
    return None if after is None else (after << PLACE_BITS) + (generation & _PLACES)


def of_node(node_id: int) -> int:
    """The id of a node's item."""
    return node_id


def of_tree(tree_id: int) -> int:
    """The id of a tree's item."""
    return tree_id << ORDINAL_BITS


def of_document(document_id: int) -> int:
    """The id of a document's item: below 0, where no node and no tree is."""
    return -document_id


def node_id(item: int) -> int | None:
    """The node's row id, or None where the item is something else."""
    return item if item > 0 and item & _ORDINAL else None


def tree_id(item: int) -> int | None:
    """The tree's row id, or None where the item is something else."""
    return None if item <= 0 or item & _ORDINAL else item >> ORDINAL_BITS


def document_id(item: int) -> int | None:
    """The document's row id, or None where the item is something else."""
    return -item if item < 0 else None


def of_workspace(tree: str, participant: str) -> str:
    """The public id of a participant's workspace in a tree, made of theirs: it is known before
    anything is stored, so that reading a tree for the first time stores nothing."""
    return f"{tree}{participant}"


def workspace_parts(uid: str) -> tuple[str, str]:
    """The tree's and the participant's public ids in such an id."""
    half = len(uid) // 2
    return uid[:half], uid[half:]


def home_of(item: int) -> int:
    """The row id of the tree that an item is or lies in; 0 of a document, which is in none."""
    return max(item, 0) >> ORDINAL_BITS


def ids_in(tree_id: int) -> tuple[int, int]:
    """The first and the last id that a tree and its nodes have."""
    return of_tree(tree_id), of_tree(tree_id + 1) - 1


# The stored link types and their reverses (docs/model.md §8). Reverses are computed, never
# stored.

PAIRS = {
    "contains": "contained_in",
    "imports": "imported_by",
    "calls": "called_by",
    "tests": "tested_by",
    "covers": "covered_by",
    "implements": "implemented_by",
    "specified_by": "specifies",
    "derives_from": "derived_by",
    "evidence": "evidences",
    "supports": "supported_by",
    "refutes": "refuted_by",
    "extends": "extended_by",
    "uses": "used_by",
    "evolved_from": "evolved_to",
    "supersedes": "superseded_by",
    "requires": "required_by",
    "quotes": "quoted_by",
}
SYMMETRIC = ("related", "similar", "contrasts")
STORED = (*PAIRS, *SYMMETRIC)
LINK_TYPES = tuple(sorted({*STORED, *PAIRS.values()}))  # as they are read from either side


def reverse_of(name: str) -> str:
    """How a stored type reads from its target's side."""
    return PAIRS.get(name, name)


def arrow(name: str) -> str:
    """How a link is drawn between two ids in a reply: `↔` for the untyped one."""
    return "↔" if name == "related" else f"──[{name}]──→"


# Hashes of nodes and configurations (docs/model.md §11), and whose each character of a text is.


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys, no blanks, no ASCII escaping. See docs/model.md §11."""
    return _CANONICAL.encode(value).encode()


def sha256(value: Any) -> str:
    """The hex SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def digest(secret: str) -> str:
    """How keys, invitations and links are stored: the hex SHA-256 of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def instant(at: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as everywhere in the API."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def proof(
    *,
    author: str,
    call: str,
    configuration: str,
    content: list[dict[str, Any]],
    created_at: datetime,
    edited_from: str,
    kind: str,
    parent: str,
) -> dict[str, Any]:
    """The values a node's hash is taken of; empty strings stand for null."""
    return {
        "author": author,
        "call": call or None,
        "configuration": configuration or None,
        "content": content,
        "created_at": instant(created_at),
        "edited_from": edited_from or None,
        "kind": kind,
        "parent": parent or None,
    }


# Whose each character of an edited text is: pure, from the wordings it came from.


# (author, how many characters), in order; neighbours have different authors.
Pieces = tuple[tuple[str, int], ...]

_WORDS = re.compile(r"\w+|\W")
MOST_WORDS = 2000  # between the ends that are the same; above, all of it is the editor's


def inherited(before: str, pieces: Pieces, after: str, author: str) -> Pieces:
    """The pieces of `after`, which `author` made of `before` with its pieces: what stayed is
    whose it was, what is new is his. Ends that stayed are found by character, the rest by
    word."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    owners = _spread(pieces)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    middle = _middle(old, owners[head : len(before) - tail], new, author)
    return _gathered(owners[:head] + middle + owners[len(before) - tail :])


def _common(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _spread(pieces: Pieces) -> list[str]:
    return [author for author, length in pieces for _ in range(length)]


def _middle(old: str, owners: list[str], new: str, author: str) -> list[str]:
    made = [author] * len(new)
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if not before or not after or max(len(before), len(after)) > MOST_WORDS:
        return made
    at, to = _starts(before), _starts(after)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        start, end = at[block.a], at[block.a + block.size]
        made[to[block.b] : to[block.b + block.size]] = owners[start:end]
    return made


def _starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _gathered(owners: list[str]) -> Pieces:
    pieces: list[tuple[str, int]] = []
    for owner in owners:
        if pieces and pieces[-1][0] == owner:
            pieces[-1] = (owner, pieces[-1][1] + 1)
        else:
            pieces.append((owner, 1))
    return tuple(pieces)
