"""Ids: how nodes, trees, documents and workspaces are named in lines and addresses, and the
numbers of items. Pure."""

from collections.abc import Callable, Collection

# Local ids: alternating letters and digits.


LETTERS = "abcdefghjkmnpqrstvwxyz"  # no i l o u
DIGITS = "23456789"
MAX_LENGTH = 8


def space(length: int) -> int:
    """The number of ids with `length` characters: alternating letters and digits."""
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


# The ids of items.

ORDINAL_BITS = 32
_ORDINAL = (1 << ORDINAL_BITS) - 1
# The order of siblings is that in which they began: a text when it was added, a candidate when it
# was asked for, whenever it ends.
PLACE_BITS = 20
_PLACES = (1 << PLACE_BITS) - 1
LAST_PLACE = 1 << 62


def place_of(node_id: int, place: int | None) -> int:
    """The place of a slot among its siblings: lower comes first. `place` is what its node
    stores."""
    return (node_id & _ORDINAL) << PLACE_BITS if place is None else place


def place_asked(after: int | None, generation: int) -> int | None:
    """The place of a candidate that was asked for when `after` was the ordinal of the tree's
    newest node; `generation` is its row id. None for old candidates, which stay where they were
    added."""
    return None if after is None else (after << PLACE_BITS) + (generation & _PLACES)


def of_node(node_id: int) -> int:
    """The id of a node's item."""
    return node_id


def of_tree(tree_id: int) -> int:
    """The id of a tree's item."""
    return tree_id << ORDINAL_BITS


def of_document(document_id: int) -> int:
    """The id of a document's item: below 0, unlike those of nodes and trees."""
    return -document_id


_TRAILS = -(1 << 48)  # items below this are trails


def of_trail(trail_id: int) -> int:
    """The id of a trail's item: below those of documents."""
    return _TRAILS - trail_id


def trail_id(item: int) -> int | None:
    """The trail's row id, or None if the item is something else."""
    return _TRAILS - item if item < _TRAILS else None


def node_id(item: int) -> int | None:
    """The node's row id, or None if the item is something else."""
    return item if item > 0 and item & _ORDINAL else None


def tree_id(item: int) -> int | None:
    """The tree's row id, or None if the item is something else."""
    return None if item <= 0 or item & _ORDINAL else item >> ORDINAL_BITS


def document_id(item: int) -> int | None:
    """The document's row id, or None if the item is something else."""
    return -item if _TRAILS < item < 0 else None


def of_workspace(tree: str, participant: str) -> str:
    """The public id of a participant's workspace in a tree, derived from their ids: it is known
    before anything is stored, so that reading a tree for the first time stores nothing."""
    return f"{tree}{participant}"


def workspace_parts(uid: str) -> tuple[str, str]:
    """The public ids of the tree and the participant in such an id."""
    half = len(uid) // 2
    return uid[:half], uid[half:]


def home_of(item: int) -> int:
    """The row id of the tree that an item is or is in; 0 for documents and trails, in none."""
    return max(item, 0) >> ORDINAL_BITS


def ids_in(tree_id: int) -> tuple[int, int]:
    """The first and the last id that a tree and its nodes have. Of nodes whose row ids are known,
    a query asks for those of a tree by this: with its key, SQLite walks all nodes of the tree."""
    return of_tree(tree_id), of_tree(tree_id + 1) - 1
