"""Events of a tree as sentences for the history panel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loom.doors.web.shown import age_of
from loom.doors.web.who import Who
from loom.models import Event


@dataclass(frozen=True)
class Told:
    """One event in words. `node` is the local id it leads to; empty: none."""

    seq: int
    by: str
    colour: int
    words: str
    node: str
    text: str
    age: str


Words = tuple[str, str, str]  # words, node, text

_FLAGS = {
    ("pruned", True): "pruned",
    ("pruned", False): "restored",
    ("version_pruned", True): "pruned the version",
    ("version_pruned", False): "restored the version",
    ("excluded", True): "hid from models",
    ("excluded", False): "shows to models again",
}


def _added(payload: dict[str, Any]) -> Words:
    node = payload["node"]
    if node["kind"] == "annotation":
        return "annotated, as", node["id"], node["text"]
    if node["slot"] != node["id"]:
        return "wrote the version", node["id"], node["text"]
    return "wrote", node["id"], node["text"]


def _flagged(payload: dict[str, Any]) -> Words:
    key = (payload["flag"], bool(payload["value"]))
    return _FLAGS.get(key, f"changed {payload['flag']} of"), payload["node"], ""


def _marked(payload: dict[str, Any]) -> Words:
    mark = payload["mark"]
    verb = {"bookmark": "bookmarked", "tag": "tagged"}.get(mark["kind"], mark["kind"])
    return verb, mark["item"], mark["label"]


def _unmarked(payload: dict[str, Any]) -> Words:
    mark = payload["mark"]
    what = {"bookmark": "the bookmark", "tag": "a tag"}.get(mark["kind"], mark["kind"])
    return f"took {what} off", mark["item"], mark["label"]


_WORDS: dict[str, Callable[[dict[str, Any]], Words]] = {
    "tree.created": lambda _: ("made the tree", "", ""),
    "tree.changed": lambda _: ("changed the tree's title or settings", "", ""),
    "node.added": _added,
    "node.flagged": _flagged,
    "mark.added": _marked,
    "mark.removed": _unmarked,
    "annotation.resolved": lambda p: ("resolved the annotation", p["node"], ""),
    "annotation.reopened": lambda p: ("opened the annotation again", p["node"], ""),
    "link.added": lambda _: ("linked two items", "", ""),
    "link.removed": lambda _: ("took a link away", "", ""),
    "import.finished": lambda _: ("imported the tree", "", ""),
}


def told(event: Event, cast: dict[str, Who]) -> Told | None:
    """The event as a sentence; None for those that say nothing to a reader."""
    words_of = _WORDS.get(event.kind)
    if words_of is None:
        return None
    words, node, text = words_of(event.payload)
    who = cast.get(event.actor)
    return Told(
        seq=event.seq,
        by=who.shown if who else "Heddle",
        colour=who.colour if who else 0,
        words=words,
        node="" if ":" in node else node,
        text=text[:80],
        age=age_of(event.at),
    )
