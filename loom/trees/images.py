"""Images of trees: checked by Pillow, stored once by hash (`image_files`), one row per tree;
and images that came with a file, in its archive or in its messages."""

import base64
import hashlib
import io
import logging
import time
import warnings
from functools import partial
from itertools import islice

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpResponse
from PIL import Image as Pillow

from loom.access import Actor, demand_role, demand_writable
from loom.errors import CommandError, not_found
from loom.platform.fetched import FetchedResponse, can_wait
from loom.text.images import (
    IMAGE_TYPES,
    MOST_IMAGE_BYTES,
    MOST_IMAGE_FRAMES,
    MOST_IMAGE_PIXELS,
)
from loom.trees.image_files import data_folder, image_files
from loom.trees.image_metadata import without_metadata
from loom.trees.models import Image, Tree

UNNAMED_S = 24 * 3600.0  # a file is stored before the row that names it
FILES_AT_ONCE = 500

log = logging.getLogger("heddle.images")


def bytes_of(image: Image) -> bytes:
    """The bytes of an image; UNAVAILABLE if the file is missing or was changed."""
    return _whole(image, image_files().read(image.sha256))


def _whole(image: Image, raw: bytes) -> bytes:
    if hashlib.sha256(raw).hexdigest() != image.sha256:
        raise CommandError(
            "UNAVAILABLE",
            "The file of this image is missing or damaged.",
            hint="restore the images from a backup",
        )
    return raw


def keep(actor: Actor, tree: Tree, raw: bytes, *, as_it_is: bool = False) -> Image:
    """Checks an image and stores it for the tree without its metadata; the same bytes are stored
    once. `as_it_is`: with it, because texts name these bytes by their hash already. For writers."""
    demand_role(actor, "writer")
    demand_writable(tree)
    media_type, width, height = _checked(raw)
    if not as_it_is:
        raw = without_metadata(raw)
        media_type, width, height = _checked(raw)  # it may have been turned
    sha256 = hashlib.sha256(raw).hexdigest()
    store(sha256, raw)
    with transaction.atomic():
        row, _ = Image.objects.get_or_create(
            tree=tree,
            sha256=sha256,
            defaults={
                "media_type": media_type,
                "width": width,
                "height": height,
                "size": len(raw),
                "by": actor.participant,
            },
        )
    # A tree that is erased at this moment may have taken the file away: see remove_files.
    store(sha256, raw)
    return row


def demand_image(raw: bytes) -> None:
    """Refuses bytes that `keep` would refuse, with INVALID_SYNTAX or LIMIT_EXCEEDED."""
    _checked(raw)


def shown_bytes(image: Image) -> bytes:
    """The bytes of an image for somebody who looks at it, also outside of the grove: without the
    metadata that images stored by an older version, or that came in one of our ZIPs, may have."""
    return _shown(image, image_files().read(image.sha256))


def _shown(image: Image, stored: bytes) -> bytes:
    raw = _whole(image, stored)
    try:
        return without_metadata(raw)
    except Exception:  # Pillow's decoders raise many kinds of errors
        log.warning("the metadata of the image %s could not be removed", image.sha256)
        return raw


# Whose tree is not being erased. One that an import is still writing looks as if it were.
_stays = Q(tree__erasing_at=None) | Q(tree__import__status="running")


def remove_files(tree_uid: str) -> None:
    """Removes the files of the images that only this erased tree has, and others that are being
    erased, such as its sandboxes. Another tree may get the same image in the meantime: then its
    file is put back, or `keep` stores it again."""
    tree = Tree.objects.filter(uid=tree_uid, erasing_at__isnull=False).first()
    for sha256 in Image.objects.filter(tree=tree).values_list("sha256", flat=True):
        others = Image.objects.filter(sha256=sha256).exclude(tree=tree).filter(_stays)
        if others.exists():
            continue
        image_files().remove(sha256, others.exists)


def remove_unnamed_files() -> int:
    """Removes files in the data folder that are of no image any more and that nobody has stored
    for a day; returns how many. Trees that were erased at the same time left them once. Reads the
    names of all files."""
    if settings.IMAGES_BUCKET:
        return 0
    removed = 0
    before = time.time() - UNNAMED_S
    files = data_folder.all()
    while some := list(islice(files, FILES_AT_ONCE)):
        old = [sha256 for sha256, file in some if file.stat().st_mtime < before]
        named = {*Image.objects.filter(sha256__in=old).values_list("sha256", flat=True)}
        for sha256 in (name for name in old if name not in named):
            data_folder.remove(sha256, Image.objects.filter(sha256=sha256).exists)
            removed += 1
    return removed


def _checked(raw: bytes) -> tuple[str, int, int]:
    """(media type, width, height), or INVALID_SYNTAX. Decoded once, so that a broken file is
    refused here and not by every reader."""
    if len(raw) > MOST_IMAGE_BYTES:
        raise _too_large(f"An image has at most {MOST_IMAGE_BYTES:,} bytes.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Pillow.open(io.BytesIO(raw), formats=tuple(IMAGE_TYPES)) as image:
                width, height = image.size
                if width * height > MOST_IMAGE_PIXELS:
                    raise _too_large(f"An image has at most {MOST_IMAGE_PIXELS:,} pixels.")
                if getattr(image, "n_frames", 1) > MOST_IMAGE_FRAMES:
                    raise _too_large(f"An image has at most {MOST_IMAGE_FRAMES:,} frames.")
                media_type = IMAGE_TYPES[str(image.format)][0]
                image.load()
    except CommandError:
        raise
    except Pillow.DecompressionBombError:
        raise _too_large(f"An image has at most {MOST_IMAGE_PIXELS:,} pixels.") from None
    except Exception:  # Pillow's decoders raise many kinds of errors for broken files
        raise CommandError(
            "INVALID_SYNTAX",
            "This is not an image that can be shown.",
            hint="send a PNG, JPEG, GIF or WebP",
        ) from None
    return media_type, width, height


def smaller(raw: bytes, side: int) -> bytes:
    """A JPEG of a stored image, at most that many pixels wide and high, on white. Raises what
    Pillow raises for a broken file."""
    with Pillow.open(io.BytesIO(raw), formats=tuple(IMAGE_TYPES)) as image:
        image.thumbnail((side, side))
        shown = image.convert("RGBA")
    flat = Pillow.new("RGB", shown.size, "white")
    flat.paste(shown, mask=shown.getchannel("A"))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=85)
    return out.getvalue()


def as_png(raw: bytes) -> bytes:
    """A PNG of the first frame of a stored image. Raises what Pillow raises."""
    with Pillow.open(io.BytesIO(raw), formats=tuple(IMAGE_TYPES)) as image:
        out = io.BytesIO()
        image.convert("RGBA").save(out, "PNG")
    return out.getvalue()


def square(colour: str) -> bytes:
    """A small PNG of one colour."""
    out = io.BytesIO()
    Pillow.new("RGB", (64, 64), colour).save(out, "PNG")
    return out.getvalue()


def _too_large(sentence: str) -> CommandError:
    return CommandError("LIMIT_EXCEEDED", sentence, hint="make it smaller", is_size=True)


def store(sha256: str, raw: bytes) -> None:
    """Stores the bytes of an image, so that nobody sees half of it. UNAVAILABLE if that fails."""
    image_files().store(sha256, raw)


# Whatever type a browser detects: it runs nothing, and no other origin can show it.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",
}
_MEDIA = frozenset(media for media, _ in IMAGE_TYPES.values())


def served(image: Image) -> HttpResponse:
    """A response with the image and headers that let a browser only show it. What is in a bucket
    is fetched without a thread, where the server can do that."""
    if image.media_type not in _MEDIA:
        raise not_found("This image")
    fetch = image_files().fetching(image.sha256) if can_wait() else None
    if fetch is not None:
        finish = partial(_shown, image)
        return FetchedResponse(fetch, finish, content_type=image.media_type, headers=_HEADERS)
    return HttpResponse(shown_bytes(image), content_type=image.media_type, headers=_HEADERS)


def data_url(image: Image) -> str:
    """The image as a data URL, for pages without a server."""
    return f"data:{image.media_type};base64,{base64.b64encode(shown_bytes(image)).decode()}"


# -- images that came with a file
