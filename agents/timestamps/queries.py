"""The time stamp that speaks for a version."""

from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings

from agents.timestamps.models import StampProgress, TimeStamp
from agents.timestamps.versions import built_upon, versions_between
from loom.language.ids import ids_in
from loom.text.hashes import instant
from loom.trees.models import Node

Status = Literal["stamped", "broken", "waiting", "none"]


@dataclass(frozen=True)
class NodeStamp:
    """What is known of the time stamp of a version. `stamp` may be that of a later version which
    was built upon it; `reason` says why it is broken, or why there is none yet."""

    node: Node
    status: Status
    stamp: TimeStamp | None = None
    reason: str = ""

    def body(self) -> dict[str, Any]:
        """As the API returns it."""
        stamp = self.stamp
        return {
            "node": self.node.local_id,
            "status": self.status,
            "reason": self.reason,
            "through": stamp.node.local_id if stamp else None,
            "hash": stamp.node.hash if stamp else None,
            "at": instant(stamp.at) if stamp else None,
            "authority": stamp.host if stamp else None,
        }


def node_stamp(node: Node) -> NodeStamp:
    """The time stamp of a version, checked again: its own, or that of a version that was built upon
    it soon after."""
    stamp = _stamp_for(node)
    if stamp is not None:
        # Loads the library that reads certificates: only once there is a stamp to check.
        from agents.timestamps import authorities

        reason = authorities.why_broken(bytes(stamp.answer), bytes.fromhex(stamp.node.hash))
        return NodeStamp(node, "broken" if reason else "stamped", stamp, reason)
    if not settings.TIMESTAMPS:
        return NodeStamp(node, "none", reason="No authority is asked here.")
    progress = StampProgress.objects.filter(tree=node.tree_id).first()
    if progress is None or progress.last < node.pk:
        return NodeStamp(node, "waiting", reason=progress.error if progress else "")
    return NodeStamp(node, "none", reason="It was written before time stamps were asked for.")


def _stamp_for(node: Node) -> TimeStamp | None:
    rows = TimeStamp.objects.select_related("node")
    own = rows.filter(node=node).first()
    if own is not None:
        return own
    # All stamps of those that were looked at together have the same first and last.
    nearest = (
        rows.filter(last__gte=node.pk, last__lte=ids_in(node.tree_id)[1]).order_by("last").first()
    )
    if nearest is None or nearest.first > node.pk:
        return None
    upon = built_upon(versions_between(nearest.first, nearest.last))
    later = rows.filter(last=nearest.last, node__gte=node.pk).order_by("last", "node_id")
    return next((stamp for stamp in later if _reaches(stamp.node_id, node.pk, upon)), None)


def _reaches(key: int, wanted: int, upon: dict[int, list[int]]) -> bool:
    """Whether a version was built upon another, over any number of steps."""
    waiting, seen = [key], set()
    while waiting:
        here = waiting.pop()
        if here == wanted:
            return True
        if here not in seen:
            seen.add(here)
            waiting += upon.get(here, ())
    return False
