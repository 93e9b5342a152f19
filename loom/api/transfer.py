"""Files in and out over the API (docs/model.md §14.3, 12)."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import UploadedFile
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel
from rest_framework.decorators import api_view, parser_classes
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.api.auth import user_of
from loom.api.nodes import get_node, position_of
from loom.api.schema import operation
from loom.events.streams import enqueue
from loom.models import Grove, Import, Tree, User, Workspace
from loom.rules.errors import Code, CommandError, not_found
from loom.transfer import heddle_writer, text_export
from loom.transfer.files import MAX_FILE
from loom.transfer.formats import NAMES
from loom.transfer.importing import ask_stop, folder

SENT: dict[str, Any] = {
    "multipart/form-data": {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {
                "type": "string",
                "format": "binary",
                "description": "At most 256 MiB of JSON in UTF-8.",
            },
            "grove": {"type": "string", "description": "Without it the caller's first."},
            "format": {
                "type": "string",
                "enum": ["", *NAMES],
                "description": "Without it found out by the file's content.",
            },
        },
    }
}


class Taken(BaseModel):
    """A file was taken and waits to be read."""

    id: str


class ImportReport(BaseModel):
    """What became of a file: what was kept, unknown to the format and kept beside the nodes,
    or dropped, each by name with its number."""

    format: str
    nodes: int
    kept: dict[str, int]
    unknown: dict[str, int]
    dropped: dict[str, int]
    warnings: list[str]


class ImportProblem(BaseModel):
    """Why an import failed."""

    code: Code
    message: str
    hint: str
    retryable: bool


class ImportState(BaseModel):
    """An import: `done` of `total` bytes of the file, its tree once that is there."""

    id: str
    name: str
    status: Literal["queued", "running", "done", "failed"]
    done: int
    total: int
    tree: str | None
    report: ImportReport | None
    error: ImportProblem | None


# Files in and out over the API (docs/model.md §14.3.12). What is in them is read in
# loom.transfer.


# format: (ending, media type)
FILES = {
    "heddle": ("json", "application/json"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "text": ("txt", "text/plain; charset=utf-8"),
}
_FORMATS = (*FILES, "zip")
_ANSWERS = {
    (200, media.partition(";")[0]): OpenApiTypes.OBJECT if ending == "json" else OpenApiTypes.STR
    for ending, media in FILES.values()
}


@operation("POST", "transfer import", "Bring a tree in", body=SENT, answers=Taken, status=202)
@api_view(["POST"])
@parser_classes([MultiPartParser])
def upload(request: Request) -> Response:
    """Takes a file of at most 256 MiB, for writers; it is read in the background."""
    user = user_of(request)
    sent = _form(request)
    file, wanted = _file_of(sent), str(sent.get("format", ""))
    if wanted and wanted not in NAMES:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no format {wanted[:40]!r}.", hint=" or ".join(NAMES)
        )
    grove = _grove(user, str(sent.get("grove", "")))
    actor = access.get_actor(user, grove)
    access.demand_role(actor, "writer")
    name = "".join(one if one.isprintable() else " " for one in file.name or "")[-300:]
    row = Import(grove=grove, participant=actor.participant, name=name, format=wanted)
    row.total = file.size or 0
    row.file = str(folder() / row.uid)
    _store(file, Path(row.file))
    row.save()
    enqueue("loom.tasks.run_import", [row.uid], queue="transfer")
    return Response({"id": row.uid}, status=202)


def _form(request: Request) -> Any:
    try:
        return request.data
    except UnsupportedMediaType:
        raise CommandError(
            "INVALID_SYNTAX",
            "Send the file as multipart/form-data.",
            hint="send multipart/form-data with the part file",
            status=415,
        ) from None


def _file_of(sent: Any) -> "UploadedFile[bytes]":
    file = sent.get("file")
    if not isinstance(file, UploadedFile):
        raise CommandError("INVALID_SYNTAX", "No file was sent.", hint="send it as the part file")
    if (file.size or 0) > MAX_FILE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A file has at most {MAX_FILE:,} bytes.",
            hint="export a part of the tree",
            status=413,
        )
    return file


def _grove(user: User, uid: str) -> Grove:
    if not uid:
        return access.first_grove(user)
    if not (uid.isascii() and uid.isalnum()):
        raise not_found("This grove")
    return access.get_grove(user, uid)[1]


def _store(file: "UploadedFile[bytes]", path: Path) -> None:
    try:
        with path.open("wb") as out:
            for piece in file.chunks():
                out.write(piece)
    except OSError:
        path.unlink(missing_ok=True)
        raise CommandError(
            "UNAVAILABLE", "The file could not be stored.", hint="check the free disk space"
        ) from None


@operation("GET", "transfer state", "How an import fares", answers=ImportState)
@operation("DELETE", "transfer end", "Stop an import", answers=ImportState)
@api_view(["GET", "DELETE"])
def state(request: Request, uid: str) -> Response:
    """Status, bytes done of total, the tree once it is there, the report, and the error."""
    actor, row = access.get_import(user_of(request), uid)
    return _stopped(actor, row) if request.method == "DELETE" else Response(_body(row))


@operation("POST", "transfer stop", "Stop an import", answers=ImportState)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Stops an import, for writers; nothing was added."""
    return _stopped(*access.get_import(user_of(request), uid))


def _stopped(actor: Actor, row: Import) -> Response:
    access.demand_role(actor, "writer")
    ask_stop(row)
    return Response(_body(Import.objects.select_related("tree").get(pk=row.pk)))


def _body(row: Import) -> dict[str, Any]:
    is_done = row.status == "done"
    return {
        "id": row.uid,
        "name": row.name,
        "status": row.status,
        "done": row.done,
        "total": row.total,
        "tree": row.tree.uid if is_done and row.tree else None,
        "report": row.report if "format" in row.report else None,
        "error": row.error,
    }


@operation(
    "GET",
    "transfer export",
    "Take a tree or a path out",
    answers=_ANSWERS,
    asks=(
        OpenApiParameter("format", OpenApiTypes.STR, enum=tuple(FILES), default="heddle"),
        OpenApiParameter("node", OpenApiTypes.STR, description="The end of the path."),
        OpenApiParameter("whole", OpenApiTypes.BOOL, description="All branches, not one path."),
    ),
)
@api_view(["GET"])
def export(request: Request, uid: str) -> StreamingHttpResponse:
    """`heddle` the whole tree, `markdown` and `text` the path to `node`, else the position;
    with `whole=1` every branch."""
    actor, tree = access.get_tree(user_of(request), uid)
    kind, named = request.query_params.get("format", "heddle"), request.query_params.get("node")
    whole = request.query_params.get("whole") in ("1", "true")
    if kind not in _FORMATS:
        raise CommandError(
            "INVALID_SYNTAX", "This format does not exist.", hint=" or ".join(_FORMATS)
        )
    if kind == "zip":
        raise CommandError(
            "UNAVAILABLE", "The ZIP export is not supported yet.", hint="format=heddle"
        )
    if named and (whole or kind == "heddle"):
        hint = "leave out whole" if whole else "format=markdown or format=text"
        raise CommandError(
            "INVALID_SYNTAX", "node= can't be combined with the export of a whole tree.", hint=hint
        )
    if kind == "heddle":
        return _streamed(request, heddle_writer.pieces(actor, tree), tree, kind)
    workspace = Workspace.objects.filter(participant=actor.participant, tree=tree).first()
    if whole:
        every = text_export.tree_as_markdown if kind == "markdown" else text_export.tree_as_text
        return _streamed(request, every(actor, tree, workspace), tree, kind)
    end = get_node(tree, named) if named else position_of(tree, workspace)
    make = text_export.as_markdown if kind == "markdown" else text_export.as_text
    return _streamed(request, make(actor, tree, workspace, end), tree, kind)


def _streamed(
    request: Request, pieces: Iterator[bytes], tree: Tree, kind: str
) -> StreamingHttpResponse:
    ending, media = FILES[kind]
    # Over ASGI Django would collect a plain iterator whole before it sends any of it.
    is_async = isinstance(request._request, ASGIRequest)
    answer = StreamingHttpResponse(_each(pieces) if is_async else pieces, content_type=media)
    header = content_disposition_header(True, f"{_safe(tree.title)}.{ending}")
    answer["Content-Disposition"] = header or "attachment"
    return answer


async def _each(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


def _safe(title: str) -> str:
    """The title as a file's name on any system: no separators, no controls, not hidden."""
    shown = "".join("-" if one in '/\\:*?"<>|' or not one.isprintable() else one for one in title)
    return shown.strip(" .")[:80].strip(" .") or "tree"
