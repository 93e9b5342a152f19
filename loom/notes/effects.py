"""What happens to annotations, suggestions, bookmarks and tags."""

from typing import Any

from loom.access import in_hidden_tree
from loom.engine.event_kinds import Body, Payload, completes, event
from loom.notes.models import Mark


@event("annotation.resolved", "annotation.reopened", stream="tree")
class AnnotationResolved(Payload):
    """An annotation was resolved or reopened."""

    node: str
    resolved: bool


@event("suggestion.decided", stream=("tree", "grove"))
class SuggestionDecided(Payload):
    """A suggestion was accepted, edited or rejected. `version`: the node that it made, None if it
    was rejected; of a `document` (its id), the number of the revision."""

    node: str
    decision: str
    version: str | int | None
    document: str = ""


@event("mark.added", "mark.removed", stream=("tree", "grove"))
class MarkChanged(Payload):
    """A bookmark, tag or read mark was put on an item, or taken off; or the mark `main` of the text
    through which the main line of the tree leads."""

    mark: Body


@completes("mark.added")
@completes("mark.removed")
def _without_hidden_labels(stream: str, payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A document was marked in a tree: whoever does not see that is not told the label. One query,
    none for the stream of a tree."""
    if not stream.startswith("grove:"):
        return payloads
    marks = Mark.objects.filter(uid__in=[payload["mark"]["id"] for payload in payloads])
    unsaid = set(marks.filter(in_hidden_tree()).order_by().values_list("uid", flat=True))
    return [
        {**payload, "mark": {**payload["mark"], "label": ""}}
        if payload["mark"]["id"] in unsaid
        else payload
        for payload in payloads
    ]


@event("tag.renamed", stream="tree")
class TagRenamed(Payload):
    """A tag has another name on these items."""

    tags: list[str]
    name: str
    items: list[str]


@event("tag.removed", stream="tree")
class TagRemoved(Payload):
    """A tag was removed from these items."""

    tags: list[str]
    items: list[str]
