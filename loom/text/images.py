"""Images in texts: how a text names one, what types and sizes are allowed. Pure."""

import re
from collections.abc import Callable
from typing import Final

# -- images: `![what it shows](image:SHA-256)`. A text names an image by the hash of its bytes, so
# that edits, versions and hashes hold for it as for every other character.

MOST_IMAGE_BYTES: Final = 20 * 1024 * 1024
MOST_IMAGE_PIXELS: Final = 25_000_000  # pixels of one frame: about 100 MB when decoded
MOST_IMAGE_FRAMES: Final = 1_000
MOST_IMAGES: Final = 50
# Pillow's name of the format: (media type, extension). None of them can contain a script.
IMAGE_TYPES: Final = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "GIF": ("image/gif", "gif"),
    "WEBP": ("image/webp", "webp"),
}
IMAGE_TOKENS: Final = 1_600  # the most of one image, which is scaled down before it is sent
WEB: Final = ("https://", "http://", "mailto:")  # prefixes of addresses that may be links
IMAGE_SIGN: Final = "](image:"  # in every text with an image, and hardly in any other
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,1000})\]\(image:([0-9a-f]{64})\)")


def image_reference(sha256: str, alt: str) -> str:
    """The reference to an image in a text."""
    shown = " ".join(alt.replace("[", "(").replace("]", ")").split())[:1000]
    return f"![{shown}](image:{sha256})"


def hashes_in(text: str) -> list[str]:
    """The hashes of the images in a text, each once, in order; at most 50."""
    if IMAGE_SIGN not in text:
        return []
    return list(dict.fromkeys(match[2] for match in _IMAGE.finditer(text)))[:MOST_IMAGES]


def described(text: str) -> str:
    """The text with `[image: what it shows]` in place of its images."""
    return images_replaced(text, lambda alt, _sha256: described_image(alt))


def described_image(alt: str) -> str:
    """The text that replaces an image."""
    return f"[image: {alt}]" if alt else "[image]"


def beginning(text: str, most: int) -> str:
    """The first words of a text on one line, at most `most` characters, with descriptions in place
    of images."""
    return " ".join(described(text[: most * 2 + 1200]).split())[:most]


def images_replaced(text: str, make: Callable[[str, str], str]) -> str:
    """The text with what `make` returns, given the description and the hash, for each image."""
    return _IMAGE.sub(lambda match: make(match[1], match[2]), text) if IMAGE_SIGN in text else text


def images_parted(text: str, wanted: set[str]) -> list[tuple[str, str]]:
    """The text in parts for a model that sees images: words ("words", …) and, after the words for
    it, each wanted image ("image", its hash), which is removed from `wanted`, because once is
    enough."""
    parts: list[tuple[str, str]] = []
    begun = 0
    for match in _IMAGE.finditer(text):
        if match[2] in wanted:
            wanted.remove(match[2])
            parts += [("words", described(text[begun : match.end()])), ("image", match[2])]
            begun = match.end()
    if rest := described(text[begun:]):
        parts.append(("words", rest))
    return parts
