"""What happens to links."""

from typing import Any

from loom.access import in_hidden_tree
from loom.engine.event_kinds import Body, Payload, completes, event
from loom.links.models import Trail


@event("link.added", "link.removed", stream=("tree", "grove"))
class LinkChanged(Payload):
    """Two items were linked, or a link was removed. Of an end in another tree the log says only
    that it is there."""

    link: Body


ELSEWHERE = "elsewhere"


@completes("link.added")
@completes("link.removed")
def _without_ends_elsewhere(stream: str, payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Readers of a stream may not all see the other tree: those who do read the link, with its
    note, at its own address."""
    return [{**payload, "link": _as_read(payload["link"], stream)} for payload in payloads]


def _as_read(link: dict[str, Any], stream: str) -> dict[str, Any]:
    far = [end for end in ("source", "target") if _is_elsewhere(str(link[end]), stream)]
    return {**link, **dict.fromkeys(far, ELSEWHERE), "note": "", "words": ""} if far else link


def _is_elsewhere(end: str, stream: str) -> bool:
    """Whether an end is in another tree than that of the stream; in any, for a stream of a grove,
    which names nodes as the tree does in which the document was linked."""
    if stream.startswith("grove:"):
        return not end.startswith("doc:")
    return end.startswith("tree:") and end.split(maxsplit=1)[0] != stream


@event("type.added", stream="grove")
class TypeAdded(Payload):
    """A grove has a link type of its own."""

    type: Body


@event("type.changed", stream="grove")
class TypeChanged(Payload):
    """A link type of the grove is another one now; `was`: its name before."""

    type: Body
    was: str


@event("trail.changed", stream="grove")
class TrailChanged(Payload):
    """A trail was saved, annotated, shared or made private; a private one is not named."""

    trail: str
    shared: bool
    name: str = ""


@completes("trail.changed")
def _without_hidden_names(stream: str, payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A trail has no name for members from whom its tree was hidden since. One query."""
    trails = Trail.objects.filter(uid__in=[payload["trail"] for payload in payloads])
    unsaid = set(trails.filter(in_hidden_tree()).order_by().values_list("uid", flat=True))
    return [
        {key: value for key, value in payload.items() if key != "name"}
        if payload["trail"] in unsaid
        else payload
        for payload in payloads
    ]
