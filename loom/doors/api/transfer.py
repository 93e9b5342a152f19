"""Files in and out over the API (MM §14.3, 12)."""

import re
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, parser_classes
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.doors.api.reading import get_node
from loom.log.jobs import enqueue
from loom.models import Import, Workspace
from loom.queries import lookup
from loom.rules.refusals import Refused
from loom.transfer import importing, own_writing, prose

MAX_BYTES = 256 * 1024 * 1024
FORMATS = ("heddle", "markdown", "text", "zip")


@extend_schema(
    tags=["transfer"],
    summary="Bring a tree in",
    request={"multipart/form-data": OpenApiTypes.OBJECT},
    responses={202: OpenApiTypes.OBJECT},
)
@api_view(["POST"])
@parser_classes([MultiPartParser])
def upload(request: Request) -> Response:
    """Takes a file of at most 256 MiB; it is read in the background."""
    given = request.data.get("file")
    if not isinstance(given, UploadedFile):
        raise Refused("INVALID_SYNTAX", "No file was sent.", hint="send it as the part file")
    if (given.size or 0) > MAX_BYTES:
        raise Refused(
            "LIMIT_EXCEEDED", "The file has more than 256 MiB.", hint="split it", status=413
        )
    wanted = str(request.data.get("format", ""))
    if wanted and wanted not in importing.READERS:
        raise Refused(
            "INVALID_SYNTAX",
            f"There is no format {wanted[:40]!r}.",
            hint=" or ".join(importing.READERS),
        )
    uid = str(request.data.get("grove", ""))
    grove = access.get_grove(request.user, uid)[1] if uid else access.first_grove(request.user)
    actor = access.get_actor(request.user, grove)
    access.demand_role(actor, "writer")
    row = Import(grove=grove, participant=actor.participant, name=(given.name or "")[:300])
    path = importing.folder() / row.uid
    with path.open("wb") as out:
        for piece in given.chunks():
            out.write(piece)
    row.file, row.format, row.total = str(path), wanted, given.size or 0
    row.save()
    enqueue("loom.tasks.run_import", [row.uid], queue="transfer")
    return Response({"id": row.uid}, status=202)


def _body(row: Import) -> dict[str, Any]:
    shown = row.tree if row.status == "done" else None
    return {
        "id": row.uid,
        "name": row.name,
        "status": row.status,
        "done": row.done,
        "total": row.total,
        "tree": shown.uid if shown else None,
        "report": row.report or None,
        "error": row.error,
    }


@extend_schema(
    methods=["GET"], tags=["transfer"], summary="How an import fares", responses=OpenApiTypes.OBJECT
)
@extend_schema(
    methods=["DELETE"], tags=["transfer"], summary="Stop an import", responses=OpenApiTypes.OBJECT
)
@api_view(["GET", "DELETE"])
def state(request: Request, uid: str) -> Response:
    """Status, bytes done of total, the tree once it is there, the report, and the error."""
    actor, row = access.get_import(request.user, uid)
    if request.method == "DELETE":
        _stop(actor, row)
    return Response(_body(Import.objects.select_related("tree").get(pk=row.pk)))


@extend_schema(
    tags=["transfer"], summary="Stop an import", request=None, responses=OpenApiTypes.OBJECT
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Stops an import; nothing of it is left."""
    actor, row = access.get_import(request.user, uid)
    _stop(actor, row)
    return Response(_body(Import.objects.select_related("tree").get(pk=row.pk)))


def _stop(actor: access.Actor, row: Import) -> None:
    access.demand_role(actor, "writer")
    importing.ask_stop(row)


@extend_schema(
    tags=["transfer"],
    summary="Take a tree or a path out",
    parameters=[
        OpenApiParameter("format", OpenApiTypes.STR, enum=FORMATS),
        OpenApiParameter("node", OpenApiTypes.STR),
    ],
    responses=OpenApiTypes.BINARY,
)
@api_view(["GET"])
def export(request: Request, uid: str) -> HttpResponseBase:
    """`heddle` the whole tree, `markdown` and `text` the path to `node` (else the position)."""
    actor, tree = access.get_tree(request.user, uid)
    kind = request.query_params.get("format", "heddle")
    if kind not in FORMATS:
        raise Refused("INVALID_SYNTAX", "There is no such format.", hint=" or ".join(FORMATS))
    if kind == "zip":
        raise Refused("UNAVAILABLE", "The archive is not here yet.", hint="format=heddle")
    if kind == "heddle":
        return _file(own_writing.pieces(tree), tree.title, "json", "application/json")
    workspace = Workspace.objects.filter(participant=actor.participant, tree=tree).first()
    named = request.query_params.get("node")
    if named:
        node = get_node(tree, named)
    elif workspace is not None:
        node = lookup.rows().get(pk=workspace.position_id)
    else:
        node = lookup.root_of(tree)
    make = prose.as_markdown if kind == "markdown" else prose.as_text
    ending, media = ("md", "text/markdown") if kind == "markdown" else ("txt", "text/plain")
    return _file(make(actor, tree, workspace, node), tree.title, ending, media)


def _file(pieces: Any, title: str, ending: str, media: str) -> HttpResponseBase:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.")[:60] or "tree"
    answer = StreamingHttpResponse(pieces, content_type=f"{media}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return answer
