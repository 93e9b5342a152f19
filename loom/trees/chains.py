"""How slots are laid in chains while a whole tree is written at once, as an import does."""

from array import array


class Chains:
    """The chains of a tree whose texts are added in order, by ordinals (0: none).

    As `loom.trees.commands.node_writer` does it, one node at a time, in the database.
    """

    def __init__(self) -> None:
        self._above = array("q", [0, 0])  # the chain that the slot above each is on
        self._own = array("q", [0, 0])  # the chain that each is on, once a text is below it
        self.tails: dict[int, int] = {}  # the depth at which each chain ends

    def add(self, ordinal: int, parent: int, *, depth: int) -> int:
        """The chain that `parent` is on, now that the text `ordinal` of this depth is below it."""
        while len(self._own) <= ordinal:
            self._own.append(0)
            self._above.append(0)
        if not self._own[parent]:
            chain = self._above[parent]
            if not chain or self.tails[chain] != depth - 2:
                chain = parent
            self._own[parent], self.tails[chain] = chain, depth - 1
        self._above[ordinal] = self._own[parent]
        return self._own[parent]

    def above(self, ordinal: int) -> int:
        """The chain that the slot above is on; 0 for none."""
        return self._above[ordinal] if ordinal < len(self._above) else 0

    def own(self, ordinal: int) -> int:
        """The chain that a slot is on; 0 while no text is below it."""
        return self._own[ordinal] if ordinal < len(self._own) else 0
