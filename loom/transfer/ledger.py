"""What is known of nodes that were written: compact, since a file may hold a million."""

from array import array

from loom.models import ORDINAL_BITS


class Ledger:
    """By ordinal: slot, depth, hash and local id (`labels`); and by local id the ordinal."""

    def __init__(self, tree_id: int) -> None:
        self._tree = tree_id << ORDINAL_BITS
        self._slots = array("q", [0])
        self._depths = array("i", [-1])
        self._hashes = bytearray(32)
        self.names: dict[str, int] = {}
        self.labels = [""]

    @property
    def count(self) -> int:
        """How many nodes are written."""
        return len(self._slots) - 1

    def row(self, ordinal: int) -> int:
        """The row id of a node."""
        return self._tree + ordinal

    def slot(self, ordinal: int) -> int:
        """The ordinal of the slot's first version."""
        return self._slots[ordinal]

    def depth(self, ordinal: int) -> int:
        """The depth; -1 for nothing, so that what hangs below nothing is the root."""
        return self._depths[ordinal]

    def hash(self, ordinal: int) -> str:
        """The hash; "" for nothing."""
        return self._hashes[ordinal * 32 : ordinal * 32 + 32].hex() if ordinal else ""

    def add(self, local_id: str, *, slot: int, depth: int, hash: str) -> None:
        """Notes the next node."""
        self._slots.append(slot)
        self._depths.append(depth)
        self._hashes += bytes.fromhex(hash)
        self.names[local_id] = self.count
        self.labels.append(local_id)
