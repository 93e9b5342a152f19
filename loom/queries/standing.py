"""Which version stands in each of many slots, for one participant."""

from collections.abc import Iterable

from loom.models import Node, VersionChoice, Workspace


def standing_of(slots: Iterable[int], workspace: Workspace | None) -> dict[int, tuple[int, str]]:
    """(row id, local id) of the version that stands, by slot id; two queries.

    The workspace's choice, else the newest not pruned, else (all are pruned) the newest.
    """
    wanted = set(slots)
    chosen = _choices(wanted, workspace)
    standing: dict[int, tuple[int, str]] = {}
    decided: set[int] = set()
    found = Node.objects.filter(slot__in=wanted).order_by("id")
    for node, local_id, slot, gone in found.values_list(
        "id", "local_id", "slot_id", "version_pruned"
    ):
        if slot in decided or (gone and slot in standing):
            continue
        standing[slot] = (node, local_id)
        if node == chosen.get(slot) and not gone:
            decided.add(slot)
    return standing


def _choices(slots: set[int], workspace: Workspace | None) -> dict[int, int]:
    if workspace is None:
        return {}
    found = VersionChoice.objects.filter(workspace=workspace, slot__in=slots)
    return dict(found.values_list("slot_id", "node_id"))
