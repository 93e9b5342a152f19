"""Portals: the links of nodes, gathered by type as they are read from each node's side."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from loom.access import Actor, trees_for
from loom.models import ORDINAL_BITS, Grove, Link, Node
from loom.rules import addresses, link_types


@dataclass(frozen=True)
class Portal:
    """So many links of one type, none of them to what the reader may not see."""

    type: str
    many: int
    only: str = ""
    """The local id of the target where there is one and it is a node."""

    @property
    def shown(self) -> str:
        """The type in words."""
        return self.type.replace("_", " ")


def portals_of(
    actor: Actor, nodes: Sequence[int], *, outside: Grove | None = None
) -> dict[int, tuple[Portal, ...]]:
    """The portals at the foot of each node, by row id; those that lead out of a grove alone
    where one is given. Four queries for all nodes."""
    by_address = {addresses.of_node(key): key for key in nodes}
    found: list[tuple[int, str, str]] = []
    for end, other in (("source", "target"), ("target", "source")):
        links = Link.objects.filter(**{f"{end}__in": by_address}, removed_at__isnull=True)
        for kind, own, far in links.order_by("id").values_list("type", end, other):
            shown = kind if end == "source" else link_types.reverse_of(kind)
            found.append((by_address[own], shown, far))
    trees = _seen(actor, {_tree_of(far) for _, _, far in found}, outside)
    ends: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row_id, shown, far in found:
        if _tree_of(far) in trees:
            ends[row_id][shown].append(far)
    names = _names([fars[0] for kinds in ends.values() for fars in kinds.values() if not fars[1:]])
    return {
        row_id: tuple(
            Portal(kind, len(fars), "" if fars[1:] else names.get(fars[0], ""))
            for kind, fars in kinds.items()
        )
        for row_id, kinds in ends.items()
    }


def _names(far: Sequence[str]) -> dict[str, str]:
    """The local ids of those that are nodes, by address."""
    by_id = {addresses.node_id(one): one for one in far}
    named = Node.objects.filter(pk__in=[one for one in by_id if one is not None])
    return {by_id[pk]: local_id for pk, local_id in named.values_list("pk", "local_id")}


def _tree_of(address: str) -> int:
    node_id = addresses.node_id(address)
    return addresses.tree_id(address) or 0 if node_id is None else node_id >> ORDINAL_BITS


def _seen(actor: Actor, trees: set[int], outside: Grove | None) -> set[int]:
    if not trees:
        return set()
    seen = trees_for(actor).filter(pk__in=trees)
    if outside is not None:
        seen = seen.exclude(grove=outside)
    return set(seen.values_list("pk", flat=True))
