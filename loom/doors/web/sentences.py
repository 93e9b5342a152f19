"""Events of a tree as sentences for the history panel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop

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
    ("pruned", True): gettext_noop("pruned"),
    ("pruned", False): gettext_noop("restored"),
    ("version_pruned", True): gettext_noop("pruned the version"),
    ("version_pruned", False): gettext_noop("restored the version"),
    ("excluded", True): gettext_noop("hid from models"),
    ("excluded", False): gettext_noop("shows to models again"),
}


def _added(payload: dict[str, Any]) -> Words:
    node = payload["node"]
    text = node["begins"] if "begins" in node else node["text"]
    if node["kind"] == "annotation":
        return gettext("annotated, as"), node["id"], text
    if node["slot"] != node["id"]:
        return gettext("wrote the version"), node["id"], text
    return gettext("wrote"), node["id"], text


def _flagged(payload: dict[str, Any]) -> Words:
    key = (payload["flag"], bool(payload["value"]))
    words = gettext("changed %(flag)s of") % {"flag": payload["flag"]}
    return gettext(_FLAGS[key]) if key in _FLAGS else words, payload["node"], ""


def _marked(payload: dict[str, Any]) -> Words:
    mark = payload["mark"]
    verb = {"bookmark": gettext("bookmarked"), "tag": gettext("tagged")}.get(
        mark["kind"], mark["kind"]
    )
    return verb, mark["item"], mark["label"]


def _unmarked(payload: dict[str, Any]) -> Words:
    mark = payload["mark"]
    words = gettext("took a tag off") if mark["kind"] == "tag" else gettext("took the bookmark off")
    return words, mark["item"], mark["label"]


_WORDS: dict[str, Callable[[dict[str, Any]], Words]] = {
    "tree.created": lambda _: (gettext("made the tree"), "", ""),
    "tree.changed": lambda _: (gettext("changed the tree's title or settings"), "", ""),
    "node.added": _added,
    "node.flagged": _flagged,
    "mark.added": _marked,
    "mark.removed": _unmarked,
    "annotation.resolved": lambda p: (gettext("resolved the annotation"), p["node"], ""),
    "annotation.reopened": lambda p: (gettext("opened the annotation again"), p["node"], ""),
    "link.added": lambda _: (gettext("linked two items"), "", ""),
    "link.removed": lambda _: (gettext("took a link away"), "", ""),
    "import.finished": lambda _: (gettext("imported the tree"), "", ""),
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
