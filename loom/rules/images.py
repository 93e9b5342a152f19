"""Images in texts: `![what it shows](image:SHA-256)`, and what an image may be. Pure.

A text names an image by the hash of its bytes, so that edits, versions and hashes hold for it as
for every other character.
"""

import re
from collections.abc import Callable
from typing import Final

MOST_BYTES: Final = 20 * 1024 * 1024
MOST_PIXELS: Final = 25_000_000  # of one frame: about 100 MB once it is decoded
MOST_FRAMES: Final = 1_000
MOST_IN_A_TEXT: Final = 50
# As Pillow names the format: (media type, ending). None of them can hold a script.
TYPES: Final = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "GIF": ("image/gif", "gif"),
    "WEBP": ("image/webp", "webp"),
}
TOKENS: Final = 1_600  # that a model reads of one, at most: it is sent no larger
SIGN: Final = "](image:"  # in every text with an image, and hardly in any other
_REF = re.compile(r"!\[([^\[\]\n]{0,1000})\]\(image:([0-9a-f]{64})\)")


def reference(sha256: str, alt: str) -> str:
    """How a text names an image."""
    shown = " ".join(alt.replace("[", "(").replace("]", ")").split())[:1000]
    return f"![{shown}](image:{sha256})"


def hashes_in(text: str) -> list[str]:
    """The hashes of the images that a text names, each once, in order; at most 50."""
    if SIGN not in text:
        return []
    return list(dict.fromkeys(found[2] for found in _REF.finditer(text)))[:MOST_IN_A_TEXT]


def described(text: str) -> str:
    """The text with `[image: what it shows]` in place of its images."""
    return replaced(text, lambda alt, _sha256: f"[image: {alt}]" if alt else "[image]")


def beginning(text: str, most: int) -> str:
    """The first words of a text on one line, at most `most` characters, with what its images show
    in place of them."""
    return " ".join(described(text[: most * 2 + 1200]).split())[:most]


def replaced(text: str, make: Callable[[str, str], str]) -> str:
    """The text with what `make` returns, given the description and the hash, for each image."""
    return _REF.sub(lambda found: make(found[1], found[2]), text) if SIGN in text else text


def parted(text: str, wanted: set[str]) -> list[tuple[str, str]]:
    """The text in parts for a model that sees: words ("words", …) and, behind the words for it,
    each image that is wanted ("image", its hash), which is taken from `wanted`: once is enough."""
    parts: list[tuple[str, str]] = []
    begun = 0
    for found in _REF.finditer(text):
        if found[2] in wanted:
            wanted.remove(found[2])
            parts += [("words", described(text[begun : found.end()])), ("image", found[2])]
            begun = found.end()
    if rest := described(text[begun:]):
        parts.append(("words", rest))
    return parts
