"""The words of a text that a comment or a suggestion is about: found in it, stored as a place, and
where they stand in a later wording (docs/model.md §5.1)."""

import re
from collections.abc import Iterable

from loom.access import Actor
from loom.errors import CommandError
from loom.language import ids
from loom.text import edits
from loom.text.shortening import excerpt
from loom.trees.models import Node, NodeSource
from loom.trees.queries.lookup import withheld

Place = tuple[int, int]  # the first character and the one after the last, in code points

MOST_WORDS = 2000  # characters that a comment is about
MOST_SHOWN = 12  # words of them in a list
MOST_PLACES = 10_000  # places of the same words in a text that are told apart
_STORED = re.compile(r"(\d{1,9})-(\d{1,9})")


def place_of(
    text: str, words: str, nth: int, *, shown: str, first: int = 0, last: int = -1
) -> Place:
    """Where the words stand between two characters of a text, overlapping places counted; of
    several the `nth` (0: there must be one only). `shown` names the text in what is refused:
    LIMIT_EXCEEDED, NOT_FOUND, or CONFLICT with how often they are there."""
    if len(words) > MOST_WORDS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A comment is about at most {MOST_WORDS:,} characters.",
            hint="select fewer words",
        )
    end = len(text) if last < 0 else last
    places: list[int] = []
    at = text.find(words, first, end)
    while at >= 0 and len(places) < (nth or MOST_PLACES):
        places.append(at)
        at = text.find(words, at + 1, end)
    if not places or len(places) < nth:
        raise CommandError(
            "NOT_FOUND",
            f"These words are not in {shown}, or not so often.",
            hint="somebody may have changed them: select them again",
        )
    if not nth and len(places) > 1:
        raise CommandError(
            "CONFLICT",
            f"These words are in {shown} {len(places):,} times.",
            hint="quote more of the text, or say which: nth:2",
        )
    return places[-1], places[-1] + len(words)


def stored(place: Place) -> str:
    """A place as a source of a note has it: `10-24`."""
    return f"{place[0]}-{place[1]}"


def read_place(version_seen: str) -> Place | None:
    """The place that a source has; None: its note is about the whole."""
    match = _STORED.fullmatch(version_seen)
    return (int(match[1]), int(match[2])) if match else None


def source_of(node: int, place: Place) -> tuple[int, str, str]:
    """What a note about words of a version (row id) has as its source."""
    return ids.of_node(node), "primary", stored(place)


def read_source(source: str) -> tuple[int, Place] | None:
    """The version (row id) and the place in it from a source, `12:10-24`; None: of another kind."""
    item, _, seen = source.partition(":")
    place = read_place(seen)
    version = ids.node_id(int(item)) if place is not None else None
    return (version, place) if version is not None and place is not None else None


def places_of(notes: Iterable[int]) -> dict[int, tuple[int, Place]]:
    """The version and the place in it that each note is about, by the slot of the note; notes about
    a whole text are left out. One query; none without notes."""
    slots = set(notes)
    if not slots:
        return {}
    rows = NodeSource.objects.filter(node__in=slots, role="primary", item__kind="node")
    return {
        note: (version, place)
        for note, item, seen in rows.values_list("node", "item", "version_seen")
        if (version := ids.node_id(item)) is not None and (place := read_place(seen)) is not None
    }


def place_now(before: str, now: str, place: Place) -> Place | None:
    """Where the words of one wording stand in another; None if nothing is left of them."""
    if before == now:
        return place
    return edits.kept(edits.difference(before, now), *place)


AROUND = 240  # characters on each side by which a browser finds a place


def around(text: str, start: int, end: int, now: str | None = None) -> list[str]:
    """`[before, old, new, after]`: a place of a text, by which a browser finds it in what has been
    typed since, with the words there and what is to stand in their place; None: they stay."""
    words = text[start:end]
    new = words if now is None else now
    return [text[max(0, start - AROUND) : start], words, new, text[end : end + AROUND]]


def words_shown(actor: Actor, notes: Iterable[Node]) -> dict[int, str]:
    """`on "the garden"`: the words that notes are about, as they were, by the row id of the note;
    notes about a whole text, and words that the actor is not shown, are left out. Two queries, none
    without notes."""
    slots = {note.pk: note.slot_id for note in notes if note.kind == "annotation"}
    places = places_of(slots.values())
    versions = {version for version, _ in places.values()}
    texts = dict(Node.objects.filter(pk__in=versions).values_list("pk", "text")) if versions else {}
    gone = withheld(actor, versions) if versions else set()
    shown = {}
    for note, slot in slots.items():
        version, place = places.get(slot, (0, (0, 0)))
        if version in texts and version not in gone:
            shown[note] = f"on {excerpt(texts[version][slice(*place)], MOST_SHOWN)}"
    return shown
