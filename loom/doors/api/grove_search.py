"""Search over all trees of a grove, with filters."""

from datetime import datetime
from typing import get_args

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.doors.api.asking import a_number, a_truth
from loom.doors.api.auth import user_of
from loom.doors.api.reading import number, truth
from loom.doors.api.schema import operation
from loom.queries.filters import Filters, Kind, Sort, parse_since
from loom.queries.find import Hit, find_in_grove
from loom.rules.hashes import instant
from loom.rules.refusals import Refused

MOST = 100
BEFORE, EXCERPT = 40, 200


class Found(BaseModel):
    """One hit: a node, or (node null) a tree by its title."""

    tree: str
    title: str
    node: str | None
    kind: str
    author: str
    text: str
    score: float
    at: str


class FoundPage(BaseModel):
    """The best hits; `count` of all."""

    count: int
    results: list[Found]


def _text(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, description=says)


ASKS = (
    _text("q", "What to look for, part of a word is enough. Without it: all that bear the tag."),
    OpenApiParameter("type", OpenApiTypes.STR, enum=["text", "annotation", "tree"]),
    _text("tag", "Only what bears this tag."),
    _text("author", "Only what this participant wrote: an id or a name."),
    _text("since", "Only from this day or instant on."),
    a_truth("archived", "true: only the archive; false: without it; left out: both."),
    OpenApiParameter("sort", OpenApiTypes.STR, enum=list(get_args(Sort)), default="best"),
    a_number("limit", f"At most {MOST}.", least=1, most=MOST),
)


@operation("GET", "groves search", "Search all trees of a grove", answers=FoundPage, asks=ASKS)
@api_view(["GET"])
def search(request: Request, uid: str) -> Response:
    """Texts, annotations and titles that hold `q` and pass the filters."""
    actor, _ = access.get_grove(user_of(request), uid)
    given = request.query_params
    only = Filters(
        type=_one_of(given.get("type", ""), get_args(Kind), "type"),  # type: ignore[arg-type]
        tag=given.get("tag", "").removeprefix("#"),
        author=_author(actor, given.get("author", "")),
        since=_since(given.get("since", "")),
        archived=truth(request, "archived") if "archived" in given else None,
        sort=_one_of(given.get("sort", "best"), get_args(Sort), "sort"),  # type: ignore[arg-type]
    )
    limit = number(request, "limit", default=20, least=1, most=MOST)
    if "\0" in only.tag:
        raise Refused("INVALID_SYNTAX", "tag holds U+0000.", hint="tag=NAME")
    found = find_in_grove(actor, given.get("q", ""), limit=limit, only=only)
    return Response({"count": found.total, "results": [_body(hit) for hit in found.hits]})


def _author(actor: Actor, given: str) -> str:
    """The id of the participant meant; what names none is looked for as an id."""
    if "\0" in given:
        raise Refused("INVALID_SYNTAX", "author holds U+0000.", hint="author=ID")
    names = actor.grove.participants.filter(name__iexact=given).values_list("uid", flat=True)
    return names.first() or given if given else ""


def _one_of(value: str, allowed: tuple[str, ...], name: str) -> str:
    if value not in allowed:
        raise Refused(
            "INVALID_SYNTAX",
            f"There is no {name} {value[:40]!r}.",
            hint=f"{name}= " + ", ".join(one for one in allowed if one),
        )
    return value


def _since(value: str) -> datetime | None:
    at = parse_since(value)
    if value and at is None:
        raise Refused("INVALID_SYNTAX", "since is no day or instant.", hint="since=2026-11-21")
    return at


def _body(hit: Hit) -> dict[str, object]:
    row, tree = hit.node, hit.tree
    start = max(0, hit.at - BEFORE)
    return {
        "tree": tree.uid,
        "title": tree.title,
        "node": row.local_id if row else None,
        "kind": row.kind if row else "tree",
        "author": row.author_uid if row else tree.maker.uid,
        "text": row.text[start : start + EXCERPT] if row else tree.title,
        "score": hit.score,
        "at": row.at if row else instant(tree.created_at),
    }
