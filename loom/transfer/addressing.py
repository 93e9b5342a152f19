"""What a file calls an item, as an address of this grove."""

import re

from loom.models import Node, Tree
from loom.rules import addresses
from loom.transfer.ledger import Ledger

_ELSEWHERE = re.compile(r"tree:([a-z0-9]{1,32})(?: node:([a-z0-9]{4,8}))?")


class Addressing:
    """`a7x2` and `tree` are of the new tree, `tree:ID` and `tree:ID node:a7x2` of another tree
    of the same grove: nothing outside of it may be found out."""

    def __init__(self, tree: Tree, ledger: Ledger) -> None:
        self.tree, self.ledger = tree, ledger
        self._elsewhere: dict[str, str | None] = {}

    def of(self, name: str) -> str | None:
        """The address; None where the item is not there."""
        if name == "tree":
            return addresses.of_tree(self.tree.pk)
        if name in self.ledger.names:
            return addresses.of_node(self.ledger.row(self.ledger.names[name]))
        if name not in self._elsewhere:
            self._elsewhere[name] = self._found(name)
        return self._elsewhere[name]

    def shown(self, name: str) -> str:
        """How events of the new tree write it."""
        return f"tree:{self.tree.uid}" if name == "tree" else name

    def _found(self, name: str) -> str | None:
        match = _ELSEWHERE.fullmatch(name)
        if match is None:
            return None
        trees = Tree.objects.filter(grove=self.tree.grove_id, erasing_at__isnull=True)
        tree = trees.filter(uid=match[1]).first()
        if tree is None or match[2] is None:
            return addresses.of_tree(tree.pk) if tree else None
        node = Node.objects.filter(tree=tree, local_id=match[2]).values_list("id", flat=True)
        return addresses.of_node(node[0]) if node else None
