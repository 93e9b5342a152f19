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
from loom.api.schema import operation
from loom.events.streams import enqueue
from loom.models import Grove, Import, Tree, User
from loom.rules.errors import Code, CommandError, not_found
from loom.transfer import exporting
from loom.transfer.exporting import FORMATS, Format
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


class LeftOut(BaseModel):
    """Something that an export does not contain, with its number and a sentence."""

    what: str
    count: int
    says: str


class ExportPreview(BaseModel):
    """What an export contains and leaves out."""

    format: str
    nodes: int
    characters: int
    left_out: list[LeftOut]


# Files in and out over the API (docs/model.md §14.3.12). What is in them is read in
# loom.transfer.


_ANSWERS = {
    (200, one.media.partition(";")[0]): OpenApiTypes.OBJECT
    if one.media == "application/json"
    else OpenApiTypes.BINARY
    if one.name in ("zip", "epub", "docx")
    else OpenApiTypes.STR
    for one in FORMATS.values()
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


_ASKS = (
    OpenApiParameter("format", OpenApiTypes.STR, enum=tuple(FORMATS), default="heddle"),
    OpenApiParameter("node", OpenApiTypes.STR, description="The end of the path."),
    OpenApiParameter("whole", OpenApiTypes.BOOL, description="All branches, not one path."),
    OpenApiParameter("notes", OpenApiTypes.BOOL, description="With annotations."),
    OpenApiParameter("authors", OpenApiTypes.BOOL, description="With the names of authors."),
    OpenApiParameter(
        "calls",
        OpenApiTypes.STR,
        enum=("none", "full"),
        description="With what models were sent and answered, as far as the caller may read it.",
    ),
)


@operation("GET", "transfer export", "Take a tree or a path out", answers=_ANSWERS, asks=_ASKS)
@api_view(["GET"])
def export(request: Request, uid: str) -> StreamingHttpResponse:
    """A tree or a path as a file. `node` names the end of a path, `whole=1` asks for every branch;
    with neither, `markdown`, `text`, `epub`, `docx` and `sillytavern` hold the path to the caller's
    position, and the others every branch."""
    actor, tree = access.get_tree(user_of(request), uid)
    format, wanted = exporting.asked(actor, tree, request.query_params)
    return _streamed(request, format.pieces(wanted), tree, format)


@operation(
    "GET", "transfer preview", "What an export leaves out", answers=ExportPreview, asks=_ASKS
)
@api_view(["GET"])
def preview(request: Request, uid: str) -> Response:
    """How many texts an export holds, and what the format has no place for, with numbers."""
    actor, tree = access.get_tree(user_of(request), uid)
    format, wanted = exporting.asked(actor, tree, request.query_params)
    found = exporting.preview(wanted, format)
    losses = [{"what": one.what, "count": one.count, "says": one.says} for one in found.losses]
    body = {"format": format.name, "nodes": found.nodes, "characters": found.characters}
    return Response({**body, "left_out": losses})


def _streamed(
    request: Request, pieces: Iterator[bytes], tree: Tree, format: Format
) -> StreamingHttpResponse:
    # Over ASGI Django would collect a plain iterator whole before it sends any of it.
    is_async = isinstance(request._request, ASGIRequest)
    content = _each(pieces) if is_async else pieces
    answer = StreamingHttpResponse(content, content_type=format.media)
    header = content_disposition_header(True, f"{_safe(tree.title)}.{format.ending}")
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
