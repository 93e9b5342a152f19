"""What happens to annotations, suggestions, bookmarks and tags."""

from loom.engine.event_kinds import Body, Payload, event


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
