"""Images of trees: checked by Pillow, stored once by hash in the data folder, one row per tree;
and images that came with a file, in its archive or in its messages."""

import base64
import binascii
import hashlib
import io
import logging
import os
import re
import secrets
import warnings
import zipfile
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from PIL import Image as Pillow

from loom.access import Actor, demand_role, demand_writable
from loom.errors import CommandError, not_found
from loom.text.images import (
    IMAGE_TYPES,
    MOST_IMAGE_BYTES,
    MOST_IMAGE_FRAMES,
    MOST_IMAGE_PIXELS,
    MOST_IMAGES,
    described_image,
    image_reference,
)
from loom.transfer.records import NodeRecord, Report
from loom.trees.image_metadata import without_metadata
from loom.trees.models import Image, Tree

log = logging.getLogger("heddle.images")


def path_of(sha256: str) -> Path:
    """The path of the file with these bytes, whichever grove has them."""
    folder: Path = settings.DATA_DIR / "images" / sha256[:2]
    return folder / sha256


def files() -> Iterator[tuple[str, Path]]:
    """The hash and the file of each stored image."""
    for file in sorted((settings.DATA_DIR / "images").glob("??/*")):
        if len(file.name) == 64:
            yield file.name, file


def bytes_of(image: Image) -> bytes:
    """The bytes of an image; UNAVAILABLE if the file is missing or was changed."""
    try:
        raw = path_of(image.sha256).read_bytes()
    except OSError:
        raw = b""
    if hashlib.sha256(raw).hexdigest() != image.sha256:
        raise CommandError(
            "UNAVAILABLE",
            "The file of this image is missing or damaged.",
            hint="restore the folder images from a backup",
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


def shown_bytes(image: Image) -> bytes:
    """The bytes of an image for somebody who looks at it, also outside of the grove: without the
    metadata that images stored by an older version, or that came in one of our ZIPs, may have."""
    raw = bytes_of(image)
    try:
        return without_metadata(raw)
    except Exception:  # Pillow's decoders raise many kinds of errors
        log.warning("the metadata of the image %s could not be removed", image.sha256)
        return raw


def remove_files(tree_uid: str) -> None:
    """Removes the files of the images that only this erased tree has. Another tree may get the
    same image in the meantime: then its file is put back, or `keep` stores it again."""
    tree = Tree.objects.filter(uid=tree_uid, erasing_at__isnull=False).first()
    for sha256 in Image.objects.filter(tree=tree).values_list("sha256", flat=True):
        others = Image.objects.filter(sha256=sha256).exclude(tree=tree)
        if others.exists():
            continue
        path = path_of(sha256)
        aside = path.with_name(f".{sha256}.erased")
        try:
            path.replace(aside)
        except FileNotFoundError:
            continue
        if others.exists():
            aside.replace(path)
        aside.unlink(missing_ok=True)


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
    """Writes the file under another name first, so that nobody sees half of it."""
    path = path_of(sha256)
    if path.is_file() and path.stat().st_size == len(raw):
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = path.with_name(f".{sha256}.{secrets.token_hex(4)}")
        with waiting.open("wb") as out:
            out.write(raw)
            out.flush()
            os.fsync(out.fileno())
        waiting.replace(path)
    except OSError:
        raise CommandError(
            "UNAVAILABLE", "The image could not be stored.", hint="check the free disk space"
        ) from None


# Whatever type a browser detects: it runs nothing, and no other origin can show it.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",
}
_MEDIA = frozenset(media for media, _ in IMAGE_TYPES.values())


def served(image: Image) -> HttpResponse:
    """A response with the image and headers that let a browser only show it."""
    if image.media_type not in _MEDIA:
        raise not_found("This image")
    return HttpResponse(shown_bytes(image), content_type=image.media_type, headers=_HEADERS)


def data_url(image: Image) -> str:
    """The image as a data URL, for pages without a server."""
    return f"data:{image.media_type};base64,{base64.b64encode(shown_bytes(image)).decode()}"


# -- images that came with a file


ENDING = re.compile(r"\.(?:png|jpe?g|gif|webp)$", re.IGNORECASE)
_DATA = re.compile(r"data:image/[a-z+.-]{1,20};base64,", re.IGNORECASE)
_NAMES = (
    *("asset_pointer", "file_uuid", "file_id", "filename", "file_name", "name", "filepath"),
    *("path", "image", "url", "src", "id"),
)
_KINDS = ("type", "content_type", "mime_type", "file_type", "file_kind", "media_type", "kind")
_MADE_UP = re.compile(
    r"(?:image|img|dsc|pxl|screenshot|unnamed)?[\s\d:()]*|file \S*", re.IGNORECASE
)
_DEPTH = 5
_SHORT = 300


def named_in(value: Any) -> list[dict[str, Any]]:
    """The images in a part of a message, as `NodeRecord.images` stores them: `data` in base64, or
    `names` under which an archive may have them; and `alt`, their description."""
    return list(_named(value, 0))[:MOST_IMAGES]


def _named(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _named(one, depth + 1)
    elif isinstance(value, dict):
        data = next((one for one in value.values() if _is_data(one)), None)
        names = _file_names(value)
        if data is not None:
            yield {"data": data, "names": names, "alt": _alt(value, names)}
        elif names and _is_image(value):
            yield {"names": names, "alt": _alt(value, names)}
        else:
            for one in value.values():
                if isinstance(one, dict | list):
                    yield from _named(one, depth + 1)


def _is_data(value: Any) -> bool:
    return isinstance(value, str) and _DATA.match(value) is not None


def _file_names(value: dict[str, Any]) -> list[str]:
    """The last part of each address or name, which may be that of a file of an archive."""
    found = []
    for name in _NAMES:
        given = value.get(name)
        if isinstance(given, str) and given and not _is_data(given) and len(given) <= _SHORT:
            last = PurePosixPath(given.partition("?")[0].replace("\\", "/")).name
            found.append(last)
    return list(dict.fromkeys(one for one in found if one))


def _is_image(value: dict[str, Any]) -> bool:
    kinds = " ".join(str(value.get(name, ""))[:80] for name in _KINDS).lower()
    return "image" in kinds or any(ENDING.search(one) for one in _file_names(value))


def _alt(value: dict[str, Any], names: list[str]) -> str:
    """The description of an image: the prompt it was made from, or its name if a person gave it
    one."""
    made = value.get("metadata")
    made = made.get("dalle") if isinstance(made, dict) else None
    prompt = made.get("prompt") if isinstance(made, dict) else None
    for one in (value.get("alt"), value.get("title"), prompt):
        if isinstance(one, str) and one.strip():
            return one.strip()[:_SHORT]
    for name in names:
        words = re.sub(r"[_-]+", " ", ENDING.sub("", name)).strip()
        if ENDING.search(name) and not _MADE_UP.fullmatch(words):
            return words
    return ""


def without_data(value: Any, depth: int = 0) -> Any:
    """The value with only the beginning of each image in it; the image is stored as a file."""
    if _is_data(value):
        return f"{value.partition(',')[0]},…"
    if depth > _DEPTH:
        return value
    if isinstance(value, dict):
        return {name: without_data(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [without_data(one, depth + 1) for one in value]
    return value


class ArchiveImages:
    """The images of an archive by the names of their files, read when a message names one."""

    def __init__(self) -> None:
        self.documents: dict[str, Path] = {}  # documents of a ZIP of Heddle's own, and their list
        self._path: Path | None = None
        self._names: list[str] = []
        self._infos: dict[str, zipfile.ZipInfo] = {}
        self._archive: zipfile.ZipFile | None = None

    def add(self, path: Path, name: str, info: zipfile.ZipInfo) -> None:
        """Takes a file of the archive at `path`."""
        self._path = path
        self._infos.setdefault(name.lower(), info)
        self._names = []

    def close(self) -> None:
        """Closes the archive."""
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    def find(self, names: list[str]) -> bytes | None:
        """The bytes of the first of these files that is there: one of that name, or whose name
        begins with it, as in `file-abc-cat.png`. None if there is none, or it is too large."""
        for name in names:
            info = self._info(name.lower())
            if info is not None and info.file_size <= MOST_IMAGE_BYTES:
                return self._read(info)
        return None

    def _info(self, name: str) -> zipfile.ZipInfo | None:
        if name in self._infos:
            return self._infos[name]
        if len(name) < 8:  # too short: it may be a part of another name
            return None
        self._names = self._names or sorted(self._infos)
        at = bisect_left(self._names, name)
        found = self._names[at] if at < len(self._names) else ""
        is_it = found.startswith(name) and not found[len(name)].isalnum()
        return self._infos[found] if is_it else None

    def _read(self, info: zipfile.ZipInfo) -> bytes | None:
        try:
            if self._archive is None and self._path is not None:
                self._archive = zipfile.ZipFile(self._path)
            if self._archive is None:
                return None
            with self._archive.open(info) as packed:
                return packed.read(MOST_IMAGE_BYTES + 1)
        except Exception:  # a damaged entry raises the errors of its compression method
            return None


def put_into(
    record: NodeRecord,
    actor: Actor,
    tree: Tree,
    archive_images: ArchiveImages | None,
    report: Report,
) -> None:
    """Stores the images that a record names, and refers to them at the end of its text. A text
    without words gets a description of an image that cannot be stored."""
    shown: list[str] = []
    for one in record.images[:MOST_IMAGES]:
        alt = str(one.get("alt", ""))
        if sha256 := _kept(one, actor, tree, archive_images, report):
            shown.append(image_reference(sha256, alt))
            report.kept["images"] += 1
        elif not record.text.strip():
            shown.append(described_image(alt))
    if shown:
        record.text = "\n\n".join([record.text, *shown] if record.text else shown)


def _kept(
    one: dict[str, Any],
    actor: Actor,
    tree: Tree,
    archive_images: ArchiveImages | None,
    report: Report,
) -> str:
    """The hash of the image, now stored for the tree; "" if it cannot be, which is reported."""
    names = [str(name) for name in one.get("names", ())]
    found = archive_images.find(names) if archive_images and "data" not in one else None
    raw = _decoded(one["data"]) if "data" in one else found
    if raw is None:
        report.dropped["images that are not in the file"] += 1
        return ""
    try:
        return keep(actor, tree, raw).sha256
    except CommandError as why:
        report.warn(f"The image {(names or ['in a message'])[0][:60]} was left out. {why.message}")
        return ""


def _decoded(data: str) -> bytes | None:
    if len(data) > 2 * MOST_IMAGE_BYTES:
        return None
    try:
        return base64.b64decode(data.partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        return None


def keep_all(files: dict[str, Path], actor: Actor, tree: Tree, report: Report) -> None:
    """Stores the images of one of Heddle's own ZIPs, by hash; its texts name them already."""
    for sha256, file in files.items():
        try:
            kept = keep(actor, tree, file.read_bytes(), as_it_is=True)
        except CommandError as why:
            report.warn(f"The image {sha256[:12]} was left out. {why.message}")
        else:
            report.kept["images"] += kept.sha256 == sha256
