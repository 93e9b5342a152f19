"""Exports and images over the API (docs/model.md §14.3.12)."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import UploadedFile
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
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
from loom.api.auth import user_of
from loom.api.schema import operation
from loom.models import Tree
from loom.rules.errors import CommandError
from loom.rules.node_text import IMAGE_TYPES, MOST_IMAGE_BYTES, image_reference
from loom.transfer import exporting, images
from loom.transfer.exporting import FORMATS, Format


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


_ANSWERS = {
    (200, one.media.partition(";")[0]): OpenApiTypes.OBJECT
    if one.media == "application/json"
    else OpenApiTypes.BINARY
    if one.name in ("zip", "epub", "docx")
    else OpenApiTypes.STR
    for one in FORMATS.values()
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


# -- images: sent to a tree, and read by members of its grove


SENT: dict[str, Any] = {
    "multipart/form-data": {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {
                "type": "string",
                "format": "binary",
                "description": f"A PNG, JPEG, GIF or WebP of at most {MOST_IMAGE_BYTES:,} bytes.",
            },
            "alt": {"type": "string", "description": "What the image shows."},
        },
    }
}
_IMAGE_ANSWERS = {(200, media): OpenApiTypes.BINARY for media, _ in IMAGE_TYPES.values()}


class ImageKept(BaseModel):
    """An image of a tree, and `text`: how texts name it."""

    sha256: str
    media_type: str
    width: int
    height: int
    size: int
    text: str


@operation("POST", "images add", "Add an image", body=SENT, answers=ImageKept, status=201)
@api_view(["POST"])
@parser_classes([MultiPartParser])
def add_image(request: Request, uid: str) -> Response:
    """Keeps an image for the tree, for writers; the same bytes are kept once. It is seen where a
    text names it."""
    actor, tree = access.get_tree(user_of(request), uid, role="writer")
    file = _file_of(request)
    if (file.size or 0) > MOST_IMAGE_BYTES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"An image has at most {MOST_IMAGE_BYTES:,} bytes.",
            hint="make it smaller",
            status=413,
        )
    row = images.keep(actor, tree, file.read())
    body = {name: getattr(row, name) for name in ("sha256", "media_type", "width", "height")}
    sent: Any = request.data
    text = image_reference(row.sha256, str(sent.get("alt", "")))
    return Response({**body, "size": row.size, "text": text}, status=201)


def _file_of(request: Request) -> "UploadedFile[bytes]":
    try:
        sent: Any = request.data
    except UnsupportedMediaType:
        sent = {}
    file = sent.get("file")
    if not isinstance(file, UploadedFile):
        raise CommandError(
            "INVALID_SYNTAX",
            "No image was sent.",
            hint="send multipart/form-data with the part file",
        )
    return file


@operation("GET", "images show", "Read an image", answers=_IMAGE_ANSWERS)
@api_view(["GET"])
def image(request: Request, sha256: str) -> HttpResponse:
    """The bytes of an image of a tree that the caller may see."""
    return images.served(access.get_image(user_of(request), sha256))
