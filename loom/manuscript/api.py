"""The story of a tree in the API: its main line."""

from typing import Literal

from pydantic import BaseModel
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.manuscript.queries.main_line import main_mark
from loom.site.api_requests import user_of
from loom.site.schema import operation
from loom.trees.queries.main_line import main_line_of


class MainLineOf(BaseModel):
    """The main line of a tree: the text that it leads to, how deep that is, and whether it was
    `marked` (the text that it is led through, by whom) or is the path written on last."""

    node: str
    depth: int
    how: Literal["marked", "written"]
    marked: str | None
    by: str | None


@operation("GET", "trees main-line", "The main line of a tree", answers=MainLineOf)
@api_view(["GET"])
def main_line(request: Request, uid: str) -> Response:
    """Where the main line of a tree leads; `→ main` marks it."""
    _, tree = access.get_tree(user_of(request), uid)
    line = main_line_of(tree)
    mark = main_mark(tree) if line.marked is not None else None
    return Response(
        {
            "node": line.end.local_id,
            "depth": line.end.depth,
            "how": "marked" if mark is not None else "written",
            "marked": line.marked.local_id if line.marked is not None else None,
            "by": mark.participant.name if mark is not None else None,
        }
    )
