"""Values printed as the one canonical line; reading it gives the same values."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from loom.grammar.forms import Form, Part
from loom.grammar.shapes import Ref, print_ref
from loom.grammar.tokens import quote
from loom.grammar.values import print_value

CLOSER = re.compile(r"^←[ \t\r]*+$", re.MULTILINE)
LONG = 120  # characters of content that still stand in a quote
_PLAIN_TAG = re.compile(r"[\w-]+")


def write_line(form: Form, values: Mapping[str, object], *, because: str) -> str:
    """The canonical line with its arrow; defaults left out, long content as a block."""
    pieces = ["→ " + form.verb]
    block: str | None = None
    for part in form.parts:
        value = values.get(part.name, part.absent)
        if part.kind == "content" and isinstance(value, str) and _is_block(value):
            block = value
            pieces.append(part.lead)
        elif _stands(part, value):
            pieces += _written(part, value)
    if because:
        pieces.append(f"because:{quote(because)}")
    line = " ".join(piece for piece in pieces if piece)
    return line if block is None else f"{line}\n{block}\n←"


def _is_block(content: str) -> bool:
    return ("\n" in content or len(content) > LONG) and not CLOSER.search(content)


def _stands(part: Part, value: object) -> bool:
    if part.optional or part.kind == "flag":
        return value is not None and value != part.absent
    return value is not None


def _written(part: Part, value: object) -> list[str]:
    if part.kind == "option":
        return [f"{part.key}:{print_value(part, value)}"]
    if part.kind == "flag":
        return [part.word]
    lead = [part.lead] if part.lead and part.kind != "word" else []
    if isinstance(value, tuple):
        return [*lead, *(_one(part, one) for one in cast("Sequence[object]", value))]
    return [*lead, _one(part, value)]


def _one(part: Part, value: object) -> str:
    if isinstance(value, Ref):
        return print_ref(value)
    text = str(value)
    if part.kind == "tags":
        return f"#{text if _PLAIN_TAG.fullmatch(text) else quote(text)}"
    return quote(text) if part.kind in ("quoted", "content") else text
