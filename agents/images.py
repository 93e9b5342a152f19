"""The images of a path for a model that sees: which of them it is sent, and in what size."""

from base64 import b64encode
from collections.abc import Iterable, Mapping

from PIL import Image as Pillow

from agents.providers.attempt import Picture
from loom import access
from loom.access import Actor
from loom.models import Image, Participant, Tree
from loom.rules.errors import CommandError
from loom.rules.node_text import described, hashes_in
from loom.transfer.images import bytes_of, smaller

CAPABILITY = "images"  # what a probe remembers of a model that sees
MOST = 20  # of a path, the last ones
SIDE = 1568  # pixels: providers make larger ones smaller themselves
MOST_BYTES = 3_500_000  # of one: base64 makes it a third longer, and 5 MB are taken
MOST_AT_ONCE = 20_000_000


def sees(participant: Participant) -> bool:
    """Whether images are sent to this model: by a chat, and only where a probe or an owner says
    that it sees."""
    return CAPABILITY in participant.capabilities and participant.endpoint == "chat"


def said(text: str, reader: Participant) -> str:
    """The text as the reader is sent it: images by name where it sees, in words for all others."""
    return text if sees(reader) else described(text)


def pictures(actor: Actor, tree: Tree, texts: Iterable[str]) -> Mapping[str, Picture]:
    """The images that texts name, by hash, of trees that the actor reads; the last ones where
    there are too many or they are too large together. Missing and broken ones are left out."""
    named = list(dict.fromkeys(sha for text in reversed([*texts]) for sha in hashes_in(text)[::-1]))
    if not named:
        return {}
    reach = access.trees_for(actor).values("pk")
    rows = Image.objects.filter(sha256__in=named[: 5 * MOST], tree__erasing_at=None)
    rows = rows.filter(tree=tree) | rows.filter(tree__in=reach)
    known = {row.sha256: row for row in rows}
    found: dict[str, Picture] = {}
    left = MOST_AT_ONCE
    for sha256 in named:
        picture = _sent(known[sha256]) if sha256 in known else None
        left -= len(picture.data) if picture else 0
        if left < 0 or len(found) == MOST:
            break
        if picture is not None:
            found[sha256] = picture
    return found


def _sent(image: Image) -> Picture | None:
    """The image as it is, or made smaller; None where its file is gone or broken."""
    try:
        raw = bytes_of(image)
        if max(image.width, image.height) > SIDE or len(raw) > MOST_BYTES:
            return Picture("image/jpeg", b64encode(smaller(raw, SIDE)).decode())
    except (CommandError, OSError, ValueError, SyntaxError, Pillow.DecompressionBombError):
        return None
    return Picture(image.media_type, b64encode(raw).decode())
