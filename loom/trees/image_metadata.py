"""Images without what they say about their maker: place, device, descriptions, comments. A camera's
orientation is applied to the pixels first. Everything else stays as it is, byte for byte."""

import io
import re
import struct
from collections.abc import Callable
from typing import Any

from PIL import Image as Pillow
from PIL import ImageOps

ORIENTATION = 0x0112  # a tag of EXIF: how the camera was held; 1 is upright
QUALITY = 95  # of a JPEG or WebP that had to be turned
_MARKER = re.compile(rb"\xff+[^\x00\xd0-\xd7\xff]")  # the next one after a scan of a JPEG
_PNG_TEXTS = (b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"caBX")
_WEBP_TEXTS = (b"EXIF", b"XMP ")
_GIF_KEPT = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")  # repetitions and colours


def without_metadata(raw: bytes) -> bytes:
    """The image without metadata; the same bytes if it has none. `raw` must be an image that
    Pillow can read. Linear in its size."""
    with Pillow.open(io.BytesIO(raw), formats=tuple(_FILTERS)) as image:
        kind = str(image.format)
        is_turned = image.getexif().get(ORIENTATION, 1) in range(2, 9)
        if is_turned and getattr(image, "n_frames", 1) == 1:
            raw = _upright(image, kind)
    try:
        bare = _FILTERS[kind](raw)
    except (ValueError, IndexError, struct.error):  # not as the format says, yet readable
        bare = _written_again(raw, kind)
    return bare


def _upright(image: Pillow.Image, kind: str) -> bytes:
    """The image, turned as its orientation says."""
    turned = ImageOps.exif_transpose(image)
    out = io.BytesIO()
    turned.save(out, kind, icc_profile=image.info.get("icc_profile"), **_QUALITIES.get(kind, {}))
    return out.getvalue()


_QUALITIES: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": QUALITY, "subsampling": 0, "exif": b""},
    "WEBP": {"quality": QUALITY, "exif": b"", "xmp": b""},
    "PNG": {"exif": b""},
}


def _written_again(raw: bytes, kind: str) -> bytes:
    """The image as Pillow writes it, with all its frames."""
    with Pillow.open(io.BytesIO(raw), formats=(kind,)) as image:
        out = io.BytesIO()
        many = {"save_all": True} if getattr(image, "n_frames", 1) > 1 else {}
        bare = image.copy() if not many else image
        bare.info.pop("comment", None)
        bare.save(out, kind, **many, **_QUALITIES.get(kind, {}))
    return out.getvalue()


def _jpeg(raw: bytes) -> bytes:
    """Without APP segments other than JFIF, ICC profile and Adobe's colour transform, and without
    comments and what follows the image."""
    parts, at = [raw[:2]], 2
    while True:
        if raw[at] != 0xFF:
            raise ValueError("a segment of a JPEG begins with FF")
        while raw[at + 1] == 0xFF:  # padding
            at += 1
        marker = raw[at + 1]
        if marker == 0xD9:
            return b"".join([*parts, raw[at : at + 2]])
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            end = at + 2
        else:
            end = at + 2 + struct.unpack_from(">H", raw, at + 2)[0]
            if end > len(raw):
                raise ValueError("a segment is longer than the file")
        body = raw[at + 4 : end]
        if marker == 0xDA:  # the compressed pixels follow, up to the next marker
            match = _MARKER.search(raw, end)
            if match is None:
                return b"".join([*parts, raw[at:]])
            end = match.start()
        if _is_kept(marker, body):
            parts.append(raw[at:end])
        at = end


def _is_kept(marker: int, body: bytes) -> bool:
    if marker == 0xE0:
        return body.startswith(b"JFIF\0")
    if marker == 0xE2:
        return body.startswith(b"ICC_PROFILE\0")
    if marker == 0xEE:
        return body.startswith(b"Adobe")
    return not (0xE1 <= marker <= 0xEF or marker == 0xFE)


def _png(raw: bytes) -> bytes:
    """Without texts, EXIF, the time of the last change, and what follows the image."""
    parts, at = [raw[:8]], 8
    while True:
        size, name = struct.unpack_from(">I4s", raw, at)
        end = at + 12 + size
        if end > len(raw):
            raise ValueError("a chunk is longer than the file")
        if name not in _PNG_TEXTS:
            parts.append(raw[at:end])
        if name == b"IEND":
            return b"".join(parts)
        at = end


def _webp(raw: bytes) -> bytes:
    """Without EXIF and XMP, whose flags are cleared, and without what follows the image."""
    whole = min(len(raw), 8 + struct.unpack_from("<I", raw, 4)[0])
    parts: list[bytes] = []
    at = 12
    while at + 8 <= whole:
        name, size = struct.unpack_from("<4sI", raw, at)
        end = at + 8 + size + size % 2
        body = raw[at:end]
        if name == b"VP8X":
            body = body[:8] + bytes([body[8] & ~0x0C]) + body[9:]
        if name not in _WEBP_TEXTS:
            parts.append(body)
        at = end
    kept = b"".join(parts)
    return b"RIFF" + struct.pack("<I", 4 + len(kept)) + b"WEBP" + kept


def _gif(raw: bytes) -> bytes:
    """Without comments, texts and the data of programs, and what follows the image."""
    at = 13 + _colours(raw[10])
    parts = [raw[:at]]
    while raw[at] != 0x3B:
        start = at
        if raw[at] == 0x2C:
            at = _after_blocks(raw, at + 10 + _colours(raw[at + 9]) + 1)
        elif raw[at] == 0x21:
            at = _after_blocks(raw, at + 2)
        else:
            raise ValueError("a block of a GIF is an image or an extension")
        name = raw[start + 3 : start + 14]
        is_text = raw[start] == 0x21 and raw[start + 1] in (0x01, 0xFE)
        is_data = raw[start] == 0x21 and raw[start + 1] == 0xFF and name not in _GIF_KEPT
        if not is_text and not is_data:
            parts.append(raw[start:at])
    return b"".join([*parts, b"\x3b"])


def _colours(flags: int) -> int:
    """The bytes of a table of colours."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(raw: bytes, at: int) -> int:
    while raw[at]:
        at += raw[at] + 1
    return at + 1


_FILTERS: dict[str, Callable[[bytes], bytes]] = {
    "JPEG": _jpeg,
    "PNG": _png,
    "WEBP": _webp,
    "GIF": _gif,
}
