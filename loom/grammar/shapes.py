"""What an address is, as a value, and how it is written.

See docs/model.md §4.
"""

import re
from dataclasses import dataclass
from typing import Literal

from loom.grammar.tokens import quote

Kind = Literal[
    "node",
    "here",
    "root",
    "parent",
    "document",
    "tree",
    "branch",
    "range",
    "window",
    "task",
    "stash",
    "focus",
    "trail",
    "agent",
    "augment",
    "pipe",
    "turn",
    "step",
]
SliceKind = Literal["lines", "para", "section", "part", "head", "tail"]

WORDS: dict[str, Kind] = {"here": "here", "root": "root", "parent": "parent", "focus": "focus"}
PREFIXES: dict[str, Kind] = {
    "doc": "document",
    "tree": "tree",
    "branch": "branch",
    "node": "node",
    "stash": "stash",
    "trail": "trail",
    "agent": "agent",
    "augment": "augment",
    "pipe": "pipe",
    "turn": "turn",
    "step": "step",
}
WRITTEN = {kind: prefix for prefix, kind in PREFIXES.items()}
SLICES: dict[str, SliceKind] = {
    "lines": "lines",
    "para": "para",
    "section": "section",
    "part": "part",
    "head": "head",
    "tail": "tail",
}
IN_TREES = frozenset({"node", "root", "branch", "range"})

_DIGIT = re.compile(r"[0-9]")
_PLAIN = re.compile(r"[\w-]+")
_AUGMENT = re.compile(r"[\w./*-]+")


@dataclass(frozen=True)
class Slice:
    """A part of an item's text. Lines, paragraphs and parts `first` to `last`, both
    included, from 1; a section by `name`; the first or last `last` lines (head, tail)."""

    kind: SliceKind
    first: int = 0
    last: int = 0
    name: str = ""


@dataclass(frozen=True)
class Ref:
    """What a line names. `id` is in lower case: a local id, a number, an opaque id, which
    may turn out to be a name where the item has one; `end` is the second id of a range.

    A tree itself has only `tree_id` or `tree_name`; a node of another tree has them too.
    """

    kind: Kind
    id: str = ""
    name: str = ""
    prime: bool = False
    end: str = ""
    tree_id: str = ""
    tree_name: str = ""
    slice: Slice | None = None


@dataclass(frozen=True)
class Place:
    """A place in a document: its start or end, before a line, or a section."""

    kind: Literal["start", "end", "line", "section"]
    line: int = 0
    name: str = ""


def print_place(place: Place) -> str:
    """`start`, `end`, `line:12`, `§motive`."""
    if place.kind == "section":
        return print_slice(Slice("section", name=place.name))
    return f"line:{place.line}" if place.kind == "line" else place.kind


def print_ref(ref: Ref) -> str:
    """The canonical writing; `parse_ref` gives the same ref back."""
    whole = _print_whole(ref)
    return whole if ref.slice is None else f"{whole} {print_slice(ref.slice)}"


def _print_whole(ref: Ref) -> str:
    if ref.kind == "tree":
        return _print_tree(ref)
    local = _print_local(ref)
    if ref.tree_id or ref.tree_name:
        return f"{_print_tree(ref)} {local if ref.kind == 'branch' else 'node:' + local}"
    # An id without a digit is nobody's, and would be read as a TYPE or a flag.
    bare = ref.kind in ("node", "range") and not _DIGIT.search(local)
    return f"node:{local}" if bare else local


def _print_tree(ref: Ref) -> str:
    return f"tree:{quote(ref.tree_name) if ref.tree_name else ref.tree_id}"


def _print_local(ref: Ref) -> str:
    if ref.kind == "node":
        return f"{ref.id}'" if ref.prime else ref.id
    if ref.kind in WORDS:
        return ref.kind
    if ref.kind == "range":
        return f"{ref.id}-{ref.end}"
    if ref.kind in ("window", "task"):
        return f"{'#' if ref.kind == 'window' else 't'}{ref.id}"
    if ref.kind == "augment" and _AUGMENT.fullmatch(ref.name):
        return f"augment:{ref.name}"
    return f"{WRITTEN[ref.kind]}:{quote(ref.name) if ref.name else ref.id}"


def print_slice(part: Slice) -> str:
    """`lines:3-9`, `para:2`, `§motive`, `head:200`."""
    if part.kind == "section":
        return f"§{part.name if _PLAIN.fullmatch(part.name) else quote(part.name)}"
    if part.kind in ("head", "tail") or part.first == part.last:
        return f"{part.kind}:{part.last}"
    return f"{part.kind}:{part.first}-{part.last}"
