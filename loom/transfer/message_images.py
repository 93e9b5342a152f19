"""The images of an import: those that a message has or names, and those of an archive."""

import base64
import binascii
import re
import zipfile
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from loom.access import Actor
from loom.errors import CommandError
from loom.text.images import (
    MOST_IMAGE_BYTES,
    MOST_IMAGES,
    described_image,
    image_reference,
)
from loom.transfer.records import NodeRecord, Report
from loom.trees.images import keep
from loom.trees.models import Tree

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
        for item in value:
            yield from _named(item, depth + 1)
    elif isinstance(value, dict):
        data = next((item for item in value.values() if _is_data(item)), None)
        names = _file_names(value)
        if data is not None:
            yield {"data": data, "names": names, "alt": _alt(value, names)}
        elif names and _is_image(value):
            yield {"names": names, "alt": _alt(value, names)}
        else:
            for item in value.values():
                if isinstance(item, dict | list):
                    yield from _named(item, depth + 1)


def _is_data(value: Any) -> bool:
    return isinstance(value, str) and _DATA.match(value) is not None


def _file_names(value: dict[str, Any]) -> list[str]:
    """The last part of each address or name, which may be that of a file of an archive."""
    names = []
    for name in _NAMES:
        given = value.get(name)
        if isinstance(given, str) and given and not _is_data(given) and len(given) <= _SHORT:
            last = PurePosixPath(given.partition("?")[0].replace("\\", "/")).name
            names.append(last)
    return list(dict.fromkeys(name for name in names if name))


def _is_image(value: dict[str, Any]) -> bool:
    kinds = " ".join(str(value.get(name, ""))[:80] for name in _KINDS).lower()
    return "image" in kinds or any(ENDING.search(name) for name in _file_names(value))


def _alt(value: dict[str, Any], names: list[str]) -> str:
    """The description of an image: the prompt it was made from, or its name if a person gave it
    one."""
    metadata = value.get("metadata")
    metadata = metadata.get("dalle") if isinstance(metadata, dict) else None
    prompt = metadata.get("prompt") if isinstance(metadata, dict) else None
    for alt in (value.get("alt"), value.get("title"), prompt):
        if isinstance(alt, str) and alt.strip():
            return alt.strip()[:_SHORT]
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
        return {name: without_data(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [without_data(item, depth + 1) for item in value]
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
        named = self._names[at] if at < len(self._names) else ""
        is_it = named.startswith(name) and not named[len(name)].isalnum()
        return self._infos[named] if is_it else None

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
    for image in record.images[:MOST_IMAGES]:
        alt = str(image.get("alt", ""))
        if sha256 := _kept(image, actor, tree, archive_images, report):
            shown.append(image_reference(sha256, alt))
            report.kept["images"] += 1
        elif not record.text.strip():
            shown.append(described_image(alt))
    if shown:
        record.text = "\n\n".join([record.text, *shown] if record.text else shown)


def _kept(
    image: dict[str, Any],
    actor: Actor,
    tree: Tree,
    archive_images: ArchiveImages | None,
    report: Report,
) -> str:
    """The hash of the image, now stored for the tree; "" if it cannot be, which is reported."""
    names = [str(name) for name in image.get("names", ())]
    stored = archive_images.find(names) if archive_images and "data" not in image else None
    raw = _decoded(image["data"]) if "data" in image else stored
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
