"""Images over the API: sent to a tree, and read by members of its grove."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from pydantic import BaseModel
from rest_framework.decorators import api_view, parser_classes
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.api.auth import user_of
from loom.api.schema import operation
from loom.rules.errors import CommandError
from loom.rules.node_text import IMAGE_TYPES, MOST_IMAGE_BYTES, image_reference
from loom.transfer import images

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
_ANSWERS = {(200, media): OpenApiTypes.BINARY for media, _ in IMAGE_TYPES.values()}


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
def add(request: Request, uid: str) -> Response:
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


@operation("GET", "images show", "Read an image", answers=_ANSWERS)
@api_view(["GET"])
def image(request: Request, sha256: str) -> HttpResponse:
    """The bytes of an image of a tree that the caller may see."""
    return images.served(access.get_image(user_of(request), sha256))
