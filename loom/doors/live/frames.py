"""What goes over a socket, as text: the server's frames, and the one frame a client sends."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from loom.rules.ids import looks_like_id
from loom.rules.refusals import Refused

MAX_BUFFER = 65_536  # characters of a working buffer that others may see
_HINT = 'Send {"type": "presence", "node": ID} and, if you write, "buffer": TEXT.'


class Presence(BaseModel):
    """Where the sender is, and the working buffer he lets others see."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["presence"]
    node: str
    buffer: str | None = None


def _frame(kind: str, **values: Any) -> str:
    return json.dumps({"type": kind, **values}, ensure_ascii=False, separators=(",", ":"))


def event(body: dict[str, Any]) -> str:
    """The frame of one event."""
    return _frame("event", event=body)


def heartbeat(seq: int) -> str:
    """Says how far the stream has come."""
    return _frame("heartbeat", seq=seq)


def delta(generation: str, *, chunk: int, text: str, whole: bool) -> str:
    """A piece of a running generation. `whole`: all its text so far, instead of what follows.

    The first delta of a generation after connecting is whole, unless it is its chunk 1.
    """
    if whole and chunk != 1:
        return _frame("delta", generation=generation, chunk=chunk, text=text, whole=True)
    return _frame("delta", generation=generation, chunk=chunk, text=text)


def presence(here: list[dict[str, Any]]) -> str:
    """Everybody who is here now; replaces what was said before."""
    return _frame("presence", here=here)


def error(refused: Refused) -> str:
    """Why a frame of the client, or the connection, was refused."""
    return _frame("error", code=refused.code, message=refused.message, hint=refused.hint)


def read(text: str | None) -> Presence:
    """The client's frame. Refuses all but a well-formed presence; None is a binary frame."""
    if text is None:
        raise Refused("INVALID_SYNTAX", "A binary frame is not understood.", hint=_HINT)
    try:
        given = Presence.model_validate_json(text.encode())
    except (ValidationError, UnicodeEncodeError):
        raise Refused("INVALID_SYNTAX", "This frame is not understood.", hint=_HINT) from None
    if not looks_like_id(given.node):
        raise Refused("INVALID_SYNTAX", "node is no id of a node.", hint=_HINT)
    if given.buffer is not None and "\0" in given.buffer:
        raise Refused("INVALID_SYNTAX", "buffer holds U+0000.", hint="Take it out.")
    if given.buffer is not None and len(given.buffer) > MAX_BUFFER:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"buffer has more than {MAX_BUFFER:,} characters.",
            hint="Send the part around the cursor.",
        )
    return given
