"""Nodes as pages show them: each rendered once for everybody, and cached until it changes.

What differs between readers (own name, own bookmarks, own shortcuts, the version selected above,
ages) is put around a rendered node, or into its placeholders, by `Drawn`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache as once
from inspect import getsource
from pathlib import Path
from typing import Any

from django.template.loader import get_template, render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from loom.access import Actor
from loom.engine import optional_cache
from loom.links.foot import CountRow
from loom.notes.commands.annotations import SUGGESTION_FORM
from loom.notes.words import Place, around, place_now, read_source
from loom.people import preferences, shortcuts
from loom.reading.queries.margins import Margin, NodeMarks, margins_of
from loom.reading.queries.provenance import pieces_of, with_origins, writers_of
from loom.site import markdown
from loom.site.display import MAX_SHOWN, Who, age_of, broken_reason, combo, tag_colour
from loom.text.changes import Pieces, difference, merged
from loom.text.hashes import digest
from loom.text.images import beginning
from loom.text.shortening import near_changes
from loom.trees.models import Tree
from loom.trees.queries.around import AnnotationThread, Around, Spot
from loom.trees.queries.lookup import NodeRow

KEPT_S = 60 * 60 * 24
CALLED_BY = 40  # characters of a text by which labels call it


@dataclass(frozen=True)
class NoteShown:
    """An annotation in the margin, with its replies."""

    id: str
    who: Who
    form: str
    at: str
    body: SafeString
    is_resolved: bool
    replies: tuple["NoteShown", ...] = ()
    asks: str = ""  # the uid of whom an open question is put to
    words: str = ""  # those that it is about, as they were; empty: the whole text
    decision: str = ""  # accepted, edited or rejected, where it is known
    near: str = ""  # where they are in the text that is shown, with what is around them, as JSON


MOST_QUOTED = 300  # characters of the words that a note is about
MAX_TOOL = 20_000  # characters of what a tool was given or gave that a page shows


@dataclass(frozen=True)
class ToolShown:
    """A tool that a program used (`name`), or the result that it gave (no name)."""

    name: str
    body: str
    rest: str  # how many characters are not shown; empty: all are
    is_error: bool = False


def _tools(row: NodeRow) -> tuple[ToolShown, ...]:
    """The tools in the content of a node of a program's session, in order."""
    if row.more.blocks is None:
        return ()
    shown = []
    for block in row.content:
        if block["type"] == "tool_use":
            given = block["input"]
            text = (
                given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)
            )
            shown.append(_tool(str(block["name"]) or "?", text))
        elif block["type"] == "tool_result":
            shown.append(_tool("", str(block["content"]), is_error=bool(block.get("is_error"))))
    return tuple(shown)


def _tool(name: str, text: str, *, is_error: bool = False) -> ToolShown:
    rest = f"{len(text) - MAX_TOOL:,}" if len(text) > MAX_TOOL else ""
    return ToolShown(name, text[:MAX_TOOL], rest, is_error)


@dataclass(frozen=True)
class NodeShown:
    """A node as its templates render it, the same for everybody. `older` and `newer` are the
    neighbouring versions; empty: none."""

    id: str
    who: Who  # who wrote most of it
    others: tuple[Who, ...]  # who wrote the rest
    author: Who  # who made this node from it
    at: str
    body: SafeString
    length: int
    rest: str  # how many characters are not shown; empty: all are
    margin: Margin
    version: int
    older: str
    newer: str
    notes: tuple[NoteShown, ...]
    open_notes: int
    is_pruned: bool
    is_excluded: bool
    is_imported: bool
    is_undated: bool  # its file does not say when it was written
    broken: str
    summary: str
    words: str = ""  # its first words, by which labels call it
    tools: tuple[ToolShown, ...] = ()


def _pieces(
    row: NodeRow, pieces: Pieces, cast: dict[str, Who], places: Sequence[tuple[Place, str]]
) -> SafeString:
    """A text of a buffer, with the parts that others than its author wrote, and `places` of notes
    with the tag that begins each."""
    is_own = pieces == ((row.author_uid, row.length),)
    if row.length > MAX_SHOWN or (is_own and not places):
        return _body(row.text, "buffer")
    spans = [(length, "" if is_own else _by(cast[uid])) for uid, length in pieces]
    drawn = markdown.plain_by(row.text, markdown.with_places(spans, places))
    return format_html('<span class="plain">{}</span>', drawn)


def painted(text: str, pieces: Pieces, cast: Mapping[str, Who]) -> SafeString:
    """A text, or its beginning, with each piece in a span of its author."""
    return markdown.plain_by(text, [(length, _by(cast[author])) for author, length in pieces])


def _by(who: Who) -> SafeString:
    """The opening tag around what somebody wrote."""
    return format_html(
        '<span data-who="{}" data-kind="{}" title="{}">', who.colour, who.kind, who.name
    )


def _body(text: str, mode: str, base: str = "") -> SafeString:
    shown = text[:MAX_SHOWN]
    if mode == "buffer" or len(text) > MAX_SHOWN:
        return markdown.plain(shown)
    return markdown.rendered(shown, base)


def _suggested(base: str, now: str, row: NodeRow) -> SafeString:
    """What a suggestion, which was made on the text `base`, would change in the text as it is now:
    the words around each change, or all of its text once it is decided."""
    after = None if row.resolved else merged(base, now, row.text)
    pieces = None if after is None else difference(now, after)
    if pieces is None:
        return _body(row.text, "buffer")
    parts, last = [], len(pieces) - 1
    for at, (old, new) in enumerate(pieces):
        if old == new:
            parts.append(escape(near_changes(old, is_first=at == 0, is_last=at == last)))
        else:
            parts.append(format_html("<del>{}</del><ins>{}</ins>", old, new))
    return format_html('<span class="plain suggested">{}</span>', SafeString("".join(parts)))


def _note(
    row: NodeRow,
    cast: dict[str, Who],
    replies: Sequence[NodeRow] = (),
    about: tuple[str, str] = ("", ""),
    *,
    base: str = "",
) -> NoteShown:
    """An annotation; for a suggestion the words that differ from the text that it is `about`: as it
    was when the suggestion was made, and as it is shown. `base` as `markdown.rendered` takes it."""
    is_other_wording = row.form == "diff"
    return NoteShown(
        id=row.local_id,
        who=cast[row.author_uid],
        form=row.form or "note",
        at=row.at,
        body=_suggested(*about, row) if is_other_wording else _body(row.text, "dialogue", base),
        is_resolved=row.resolved,
        replies=tuple(_note(reply, cast, base=base) for reply in replies),
        asks=_asked(row, cast, replies),
    )


def _asked(row: NodeRow, cast: Mapping[str, Who], replies: Sequence[NodeRow]) -> str:
    """The uid of the member whom a question names first, as `@Ada`, and who has not replied."""
    if row.form != "question" or row.resolved or not row.text.startswith("@"):
        return ""
    text = row.text[1:].casefold()
    named = [
        person
        for person in cast.values()
        if person.kind == "human"
        and text.startswith(person.name.casefold())
        and not text[len(person.name) : len(person.name) + 1].isalnum()
    ]
    asked = max(named, key=lambda person: len(person.name), default=None)
    is_answered = asked is not None and any(reply.author_uid == asked.uid for reply in replies)
    return asked.uid if asked is not None and not is_answered else ""


@dataclass(frozen=True)
class NodeData:
    """The data that nodes are rendered from, read for all of them at once: their rows, those of
    their notes and of what they were edited from by row id, their margins, the authors of the
    pieces of their texts, and by the slots of notes the version and the place that those on words
    are about."""

    tree: Tree
    cast: Mapping[str, Who]
    rows: Mapping[int, NodeRow]
    margins: Mapping[int, Margin]
    pieces: dict[int, Pieces] = field(default_factory=dict)
    places: Mapping[int, tuple[int, Place]] = field(default_factory=dict)

    def find_pieces(self, keys: Iterable[int]) -> None:
        """Finds the authors of the pieces of the texts, from what they were edited from."""
        missing = [self.rows[key] for key in keys if key not in self.pieces]
        if missing:
            self.pieces.update(pieces_of(missing, self.rows))

    def writers(self, key: int) -> list[str]:
        """Who wrote the text of a node, most characters first."""
        self.find_pieces([key])
        return writers_of(self.rows[key], self.pieces[key])

    def node(self, key: int) -> NodeShown:
        """The node of that row id."""
        row, margin = self.rows[key], self.margins[key]
        cast = dict(self.cast)
        notes = tuple(self._note(row, note, cast) for note in margin.notes)
        known = row.local_id in margin.versions
        at = margin.versions.index(row.local_id) if known else len(margin.versions)
        who, *others = (cast[uid] for uid in self.writers(key))
        return NodeShown(
            id=row.local_id,
            who=who,
            others=tuple(others),
            author=cast[row.author_uid],
            at=row.at,
            body=self._body(row, cast),
            length=row.length,
            rest=f"{row.length - MAX_SHOWN:,}" if row.length > MAX_SHOWN else "",
            margin=margin,
            version=at + 1,
            older=margin.versions[at - 1] if at > 0 else "",
            newer=margin.versions[at + 1] if at + 1 < len(margin.versions) else "",
            notes=notes,
            open_notes=sum(not note.is_resolved for note in notes),
            is_pruned=bool(row.pruned or row.version_pruned),
            is_excluded=bool(row.excluded),
            is_imported=row.imported,
            # A node without a date in its file gets the time of the import, as no other does.
            is_undated=row.imported and row.created_at >= self.tree.created_at,
            broken=broken_reason(row.finish),
            summary=row.summary,
            words=beginning(row.text, CALLED_BY),
            tools=_tools(row),
        )

    def _note(self, row: NodeRow, note: AnnotationThread, cast: dict[str, Who]) -> NoteShown:
        own = self.rows[note.wording.id]
        replies = [self.rows[reply.id] for reply in note.replies]
        base = f"/trees/{self.tree.uid}"
        shown = _note(own, cast, replies, about=(self._made_on(row, own).text, row.text), base=base)
        shown = replace(shown, decision=self.margins[row.id].decisions.get(own.slot_id, ""))
        version, place = self.places.get(own.slot_id, (0, (0, 0)))
        if version not in self.rows:
            return shown
        now = self._place_now(row, own)
        words = "" if own.form == SUGGESTION_FORM else self.rows[version].text[slice(*place)]
        near = json.dumps(around(row.text, *now)) if now else ""
        return replace(shown, words=words[:MOST_QUOTED], near=near)

    def _made_on(self, row: NodeRow, note: NodeRow) -> NodeRow:
        """The wording of a text that a note was written about; the shown one if that is gone."""
        version = self.margins[row.id].made_on.get(note.id, row.id)
        return self.rows.get(version, row)

    def _place_now(self, row: NodeRow, note: NodeRow) -> Place | None:
        """Where the words that a note is about stand in the wording that is shown."""
        version, place = self.places.get(note.slot_id, (0, (0, 0)))
        if version not in self.rows:
            return None
        return place_now(self.rows[version].text, row.text, place)

    def _open_places(self, row: NodeRow) -> list[tuple[Place, NodeRow]]:
        """Where the words of open notes on words of a text stand, with the notes."""
        notes = [self.rows[thread.wording.id] for thread in self.margins[row.id].notes]
        places = [(self._place_now(row, note), note) for note in notes if not note.resolved]
        return [(place, note) for place, note in places if place is not None]

    def _commented(self, row: NodeRow) -> list[tuple[Place, str]]:
        """These places, with the opening tag around each."""
        return [
            (
                place,
                format_html(
                    '<span class="{}" data-of-comment="{}">',
                    "suggested-old" if note.form == SUGGESTION_FORM else "commented",
                    note.local_id,
                ),
            )
            for place, note in self._open_places(row)
        ]

    def words_noted(self, key: int) -> list[dict[str, Any]]:
        """The open notes on words of a text, as an editor marks them: `{note, form, place}`."""
        row = self.rows[key]
        return [
            {"note": note.local_id, "form": note.form, "place": around(row.text, *place)}
            for place, note in self._open_places(row)
        ]

    def _body(self, row: NodeRow, cast: dict[str, Who]) -> SafeString:
        commented = self._commented(row) if row.length <= MAX_SHOWN else []
        if self.tree.mode == "buffer":
            self.find_pieces([row.id])
            return _pieces(row, self.pieces[row.id], cast, commented)
        is_shared = row.length <= MAX_SHOWN and len(set(self.writers(row.id))) > 1
        if is_shared or commented:
            self.find_pieces([row.id])
            pieces = [
                (length, _by(cast[uid]) if is_shared else "") for uid, length in self.pieces[row.id]
            ]
            spans = markdown.with_places(pieces, commented)
            return markdown.rendered_by(row.text, spans, f"/trees/{self.tree.uid}")
        return _body(row.text, self.tree.mode, f"/trees/{self.tree.uid}")

    def revision(self, key: int) -> str:
        """A digest of everything that the node is rendered from: it changes exactly when that
        does. A text never changes, so its node's hash is enough for it.
        """
        margin = self.margins[key]
        notes = [part.id for note in margin.notes for part in (note.wording, *note.replies)]
        drawn = [self.rows[row] for row in (key, *notes)]
        seen = {row.author_uid for row in drawn}
        if self.rows[key].more.edited_from_id is not None or self.rows[key].is_of_parts:
            seen |= self.cast.keys()  # any participant may have written a part of it
        made_of: list[Any] = [
            _drawn_by(),
            get_language(),
            [self.tree.uid, self.tree.mode],
            [[*row._replace(text=""), row.length] for row in drawn],
            vars(margin),
            [vars(self.cast[uid]) | {"is_me": False} for uid in sorted(seen)],
            [tag_colour(self.tree.grove, tag) for tag in margin.tags],
        ]
        return digest(json.dumps(made_of, ensure_ascii=False, default=str))


@once
def _drawn_by() -> str:
    """A digest of the templates and the code, so that a newer version of Heddle renders nodes
    again."""
    names = ("node", "node_tools", "node_foot", "portals", "note")
    templates: list[Any] = [get_template(f"parts/{name}.html") for name in names]
    sources = [Path(str(template.origin)).read_text("utf-8") for template in templates]
    return digest("".join([*sources, getsource(markdown), getsource(cut)]))


@dataclass(frozen=True)
class PageReader:
    """The reader of a page: the participant, and the user's own shortcuts."""

    uid: str
    keys: Mapping[str, str]


def reader_of(actor: Actor) -> PageReader:
    """The actor as a reader."""
    return PageReader(actor.participant.uid, preferences.keys_of(actor.user.preferences))


_PERSONAL = re.compile(
    r'data-by="[^"]*">[^<]*<|<time datetime="[^"]*"></time>|<kbd data-key="[^"]*"></kbd>'
    r'|data-portals-out="[^"]*">'
)
_CUT = "\0"  # no text has one


def cut(drawn: str) -> str:
    """Rendered markup, cut before and after each place that readers see as their own."""
    return _PERSONAL.sub(rf"{_CUT}\g<0>{_CUT}", drawn.replace(_CUT, ""))


def personal(pieces: str, reader: PageReader, portals: str = "") -> SafeString:
    """Cut markup for one reader: "You" for their own name, which print shows all the same, current
    ages, their own shortcuts, and the portals that lead where others may not look."""

    def fill(place: str) -> str:
        value = place.split('"', 2)[1]
        if place.startswith("<kbd"):
            return combo(shortcuts.bound_key(reader.keys, value))
        if place.startswith("<time"):
            age = age_of(datetime.fromisoformat(value))
            return f'<time datetime="{value}">{escape(age)}</time>'
        if place.startswith("data-portals"):
            return place + portals
        if value != reader.uid:
            return place
        name = place.partition(">")[2].removesuffix("<")  # escaped
        return f'data-by="{value}" data-name="{name}">{escape(gettext("You"))}<'

    every = pieces.split(_CUT)
    every[1::2] = map(fill, every[1::2])
    return mark_safe("".join(every))  # noqa: S308  (texts in it are escaped)


@dataclass(frozen=True)
class Drawn:
    """One node of a path, rendered for everybody: `pieces` are its markup, cut. `wordings` as in a
    Margin."""

    id: str
    by: str
    name: str
    colour: int
    kind: str
    is_run: bool
    classes: str
    bookmarked_by: tuple[str, ...]
    wordings: tuple[str, ...] | None
    links: tuple[CountRow, ...]
    key: int
    slot: int
    pieces: str

    def element(
        self, reader: PageReader | None = None, *, above: str = "", portals: str = ""
    ) -> SafeString:
        """The node's element; for one reader, with the current version above it and the portals
        that lead out of the grove, or for everybody: then a script adds these."""
        classes, name = self.classes, self.name
        if reader is None:
            inside = SafeString(self.pieces.replace(_CUT, ""))
        else:
            name = gettext("You") if self.by == reader.uid else name
            inside = personal(self.pieces, reader, portals)
            if reader.uid in self.bookmarked_by:
                classes += " bookmarked"
            if self.wordings is not None and above and above not in self.wordings:
                classes += " reworded"
        if self.is_run:
            return format_html(
                '<span class="{}" id="n-{}" data-id="{}" data-who="{}" data-kind="{}">{}</span>',
                *(classes, self.id, self.id, self.colour, self.kind, inside),
            )
        return format_html(
            '<article class="{}" id="n-{}" data-id="{}" data-who="{}" data-kind="{}"{}'
            ' tabindex="-1" aria-label="{}, {}">\n{}</article>\n',
            *(classes, self.id, self.id, self.colour, self.kind, self._facts()),
            *(self.id, name, inside),
        )

    def _facts(self) -> SafeString:
        """The attributes from which a script knows how this node looks to its reader."""
        wordings = (
            format_html(' data-wordings="{}"', " ".join(self.wordings))
            if self.wordings is not None
            else ""
        )
        by = " ".join(self.bookmarked_by)
        bookmarked = format_html(' data-bookmarked-by="{}"', by) if by else ""
        return format_html(' data-writer="{}"{}{}', self.by, bookmarked, wordings)


def found_for(
    tree: Tree,
    spots: Sequence[Spot],
    cast: Mapping[str, Who],
    *,
    around: Around | None = None,
    kept: NodeMarks | None = None,
    also: Iterable[int] = (),
) -> NodeData:
    """The data of the nodes at these spots, and the rows of other nodes `also`. Three queries,
    fewer if `around` or `kept` was already read."""
    margins = margins_of(tree, spots, around, kept)
    threads = [note for margin in margins.values() for note in margin.notes]
    notes = [part.id for note in threads for part in (note.wording, *note.replies)]
    places = {
        note.wording.slot_id: about for note in threads if (about := read_source(note.source))
    }
    made_on = [version for margin in margins.values() for version in margin.made_on.values()]
    quoted = [version for version, _ in places.values()]
    rows = with_origins([*(spot.id for spot in spots), *notes, *also, *made_on, *quoted])
    return NodeData(tree, cast, rows, margins, places=places)


def drawn_of(tree: Tree, spots: Sequence[Spot], cast: Mapping[str, Who]) -> list[Drawn]:
    """The rendered nodes at these spots of a tree, in order. Three queries. A node that was
    rendered before, in any process, is not rendered again until something in it changes.
    """
    return drawn_from(found_for(tree, spots, cast), spots)


def drawn_from(data: NodeData, spots: Sequence[Spot]) -> list[Drawn]:
    """The nodes at these spots, rendered in the current language. No queries."""
    keys_of = {spot.id: f"node:{spot.id}:{data.revision(spot.id)}" for spot in spots}
    kept: dict[str, str] = optional_cache.get_many(list(keys_of.values()))
    new = {spot: key for spot, key in keys_of.items() if key not in kept}
    data.find_pieces(new)
    fresh = {key: _rendered(data, spot) for spot, key in new.items()}
    optional_cache.keep_many(fresh, KEPT_S)
    inside = kept | fresh
    return [_drawn(data, spot.id, inside[keys_of[spot.id]]) for spot in spots]


def _rendered(data: NodeData, key: int) -> str:
    """The cached form of a rendered node: the uid of its main author, a blank, and its markup,
    cut."""
    node = data.node(key)
    if data.tree.mode == "buffer":
        markup: str = node.body
    else:
        context = {"node": node, "tree": data.tree, "grove": data.tree.grove}
        markup = render_to_string("parts/node.html", context)
    return f"{node.who.uid} {cut(markup)}"


def _drawn(data: NodeData, key: int, inside: str) -> Drawn:
    row, margin = data.rows[key], data.margins[key]
    writer, _, pieces = inside.partition(" ")
    who = data.cast[writer]
    is_run = data.tree.mode == "buffer"
    flags = {
        "excluded": row.excluded,
        "pruned": row.pruned or row.version_pruned,
        "fork": is_run and margin.of > 1,
        "marked": is_run and bool(margin.notes),
        "ask": row.is_ask,  # what a turn was asked for, which is no part of the story
    }
    return Drawn(
        id=row.local_id,
        by=who.uid,
        name=who.name,
        colour=who.colour,
        kind=who.kind,
        is_run=is_run,
        classes=" ".join(["run" if is_run else "node", *(flag for flag in flags if flags[flag])]),
        bookmarked_by=tuple(dict.fromkeys(by for _, by in margin.bookmarks)),
        wordings=margin.wordings,
        links=margin.links,
        key=key,
        slot=row.slot_id,
        pieces=pieces,
    )
