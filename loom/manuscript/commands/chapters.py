"""Chapters and the manuscript: `chapter`, `manuscript` (docs/model.md §5.1)."""

from typing import Annotated, Any

from django.utils.translation import gettext_noop

from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command, describe_verb
from loom.engine.undo import Own, conflict, undoes
from loom.errors import CommandError, not_found
from loom.language.refs import label_named
from loom.language.verbs import Phrases, Verb
from loom.manuscript.models import ManuscriptVersion
from loom.manuscript.queries.story import Manuscript, current_version, manuscript_of
from loom.manuscript.rules import MOST_CHAPTERS, Chapter, language_problem, moved
from loom.permissions import LOOM, WRITE
from loom.text.counts import counted
from loom.text.shortening import plain

MOST_WORDS = 10_000_000
LONGEST_NOTE = 2_000
LONGEST_NAME = 200

describe_verb(
    Verb(
        "chapter",
        done=gettext_noop("Changed a chapter"),
        past="changed a chapter of",
        takes_documents=False,
        phrases=(Phrases("list chapters|show chapters", before="list"),),
        meant_by="chapters",
    )
)


class ListChapters(Args):
    """The word `list`."""

    lists: Annotated[str, Written("word", lead="list")]


@command("chapter", group="Make", klass="look", permissions={LOOM})
def chapter_list(context: Context, args: ListChapters) -> Reply:
    """Lists the chapters of the main line in their order, with their words and targets."""
    manuscript = manuscript_of(context.actor, context.tree)
    head = f"{manuscript.title or 'Untitled tree'} · {counted(manuscript.story.words, 'word')}"
    head += f" of {manuscript.target:,}" if manuscript.target else ""
    lines = [
        _line(manuscript, number, chapter) for number, chapter in enumerate(manuscript.chapters, 1)
    ]
    return Reply("\n".join([head, *lines]))


def _line(manuscript: Manuscript, number: int, chapter: Chapter) -> str:
    target, note = manuscript.of(chapter)
    words = f"{chapter.words:,} of {target:,} words" if target else counted(chapter.words, "word")
    shown_note = f" · {plain(note)}" if note else ""
    title = plain(chapter.title) or "(before the first chapter)"
    indent = "  " * (chapter.level - 1)
    return f"{number}. {indent}{title} [{chapter.node}] · {words}{shown_note}"


class MoveChapter(Args):
    """The chapter (its title, key or number), and its place in the list (1: the first)."""

    move: Annotated[str, Written("word", lead="move")]
    chapter: Annotated[str, Written("quoted")]
    to: Annotated[int, Written("option", key="to", value="int", minimum=1, maximum=MOST_CHAPTERS)]


@command("chapter", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def chapter_move(context: Context, args: MoveChapter) -> Reply:
    """Moves a chapter, with those below it, to another place of the manuscript. The texts stay
    where they are: the order has a new version, and every earlier one is kept."""
    manuscript = manuscript_of(context.actor, context.tree)
    chapter = _named(manuscript, args.chapter)
    before = [item.key for item in manuscript.chapters]
    keys = moved(manuscript.chapters, chapter.key, args.to)
    if keys == before:
        raise CommandError("REJECTED", f"{_shown(chapter)} is already there.", hint="nothing to do")
    inverse = _store(context, "order", keys)
    place = keys.index(chapter.key) + 1
    return Reply(f"✓ moved {_shown(chapter)} to place {place} of {len(keys)}", inverse=(inverse,))


class AimChapter(Args):
    """The chapter, and how many words it shall have (0: no target)."""

    target: Annotated[str, Written("word", lead="target")]
    chapter: Annotated[str, Written("quoted")]
    words: Annotated[
        int, Written("option", key="words", value="int", minimum=0, maximum=MOST_WORDS)
    ]


@command("chapter", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def chapter_target(context: Context, args: AimChapter) -> Reply:
    """Sets how many words a chapter shall have."""
    chapter = _named(manuscript_of(context.actor, context.tree), args.chapter)
    inverse = _set_of(context, chapter, "target", args.words)
    return Reply(
        f"✓ {_shown(chapter)} shall have {counted(args.words, 'word')}", inverse=(inverse,)
    )


class NoteChapter(Args):
    """The chapter, and a note on its card; empty: none."""

    note: Annotated[str, Written("word", lead="note")]
    chapter: Annotated[str, Written("quoted")]
    text: Annotated[str, Written("quoted", shown='"…"')]


@command("chapter", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def chapter_note(context: Context, args: NoteChapter) -> Reply:
    """Writes a note on the card of a chapter; it is no part of the book."""
    if len(args.text) > LONGEST_NOTE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A note on a card has at most {LONGEST_NOTE:,} characters.",
            hint="write the rest in a document",
        )
    chapter = _named(manuscript_of(context.actor, context.tree), args.chapter)
    inverse = _set_of(context, chapter, "note", args.text)
    return Reply(f"✓ noted on {_shown(chapter)}", inverse=(inverse,))


class RestoreOrder(Args):
    """The number of an earlier version of the order."""

    restore: Annotated[str, Written("word", lead="restore")]
    order: Annotated[int, Written("option", key="order", value="int", minimum=0)]


@command("chapter", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def chapter_restore(context: Context, args: RestoreOrder) -> Reply:
    """Puts the chapters into the order of an earlier version; `order:0` is that of the text."""
    order: list[str] = []
    if args.order:
        kept = ManuscriptVersion.objects.filter(tree=context.tree, number=args.order).first()
        if kept is None:
            raise not_found(f"Version {args.order} of the order", "the page of chapters lists them")
        order = kept.body.get("order", [])
    if order == _value(current_version(context.tree), "order"):
        raise CommandError("REJECTED", "The chapters are in this order.", hint="nothing to do")
    return Reply("✓ restored the order", inverse=(_store(context, "order", order),))


describe_verb(
    Verb(
        "manuscript",
        done=gettext_noop("Changed the manuscript"),
        past="changed the manuscript of",
        takes_documents=False,
    )
)


class SetManuscript(Args):
    """What is set: title, author, language (a tag such as `en`) and target in words. An empty value
    takes it back."""

    title: Annotated[str | None, Written("option", key="title", value="quoted")] = None
    author: Annotated[str | None, Written("option", key="author", value="quoted")] = None
    language: Annotated[str | None, Written("option", key="language", value="quoted")] = None
    target: Annotated[
        int | None, Written("option", key="target", value="int", minimum=0, maximum=MOST_WORDS)
    ] = None


@command("manuscript", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def manuscript(context: Context, args: SetManuscript) -> Reply:
    """Sets what is on the title page of the book, its language, and how many words it shall
    have."""
    given = {key: value for key, value in args.model_dump().items() if value is not None}
    if not given:
        raise CommandError(
            "INVALID_SYNTAX", "Nothing is set.", hint='→ manuscript title:"…" author:"…"'
        )
    if any(len(str(value)) > LONGEST_NAME for value in given.values()):
        raise CommandError(
            "LIMIT_EXCEEDED", f"At most {LONGEST_NAME} characters.", hint="make it shorter"
        )
    if problem := language_problem(given.get("language", "")):
        raise CommandError("INVALID_SYNTAX", problem, hint="en, de or pt-BR")
    version = current_version(context.tree)
    fresh = {key: value for key, value in given.items() if value != _value(version, key)}
    if not fresh:
        raise CommandError("REJECTED", "The manuscript already has these.", hint="nothing to do")
    inverse = tuple(_store(context, key, value) for key, value in fresh.items())
    changes = ", ".join(
        f"{key} {value!r}" if value else f"no {key}" for key, value in fresh.items()
    )
    return Reply(f"✓ the manuscript has {plain(changes)}", inverse=tuple(reversed(inverse)))


# Storing, and what reverses it.


def _named(manuscript: Manuscript, name: str) -> Chapter:
    """The chapter with this key, title (in any case) or number. NOT_FOUND, or REJECTED if several
    have the title."""
    wanted = " ".join(name.split())
    by_key = [chapter for chapter in manuscript.chapters if chapter.key == wanted]
    named = by_key or [
        chapter for chapter in manuscript.chapters if chapter.title.casefold() == wanted.casefold()
    ]
    if not named and wanted.isascii() and wanted.isdecimal() and len(wanted) < 6:
        named = manuscript.chapters[int(wanted) - 1 : int(wanted)] if int(wanted) else []
    if not named:
        raise not_found(f"The chapter {plain(wanted)[:60]!r}", "→ chapter list shows them")
    if len(named) > 1:
        raise CommandError(
            "REJECTED",
            f"{len(named)} chapters have this title.",
            hint=f'name it by its key: "{named[0].key}"',
        )
    return named[0]


def _shown(chapter: Chapter) -> str:
    return label_named(plain(chapter.title)) if chapter.title else "the beginning"


def _value(version: ManuscriptVersion | None, field: str) -> Any:
    empty: Any = {"order": [], "chapters": {}, "target": 0}.get(field, "")
    return empty if version is None else version.body.get(field, empty)


def _set_of(context: Context, chapter: Chapter, field: str, value: int | str) -> Op:
    """Sets something of one chapter."""
    kept = _value(current_version(context.tree), "chapters")
    of_chapter = {**kept.get(chapter.key, {}), field: value}
    if kept.get(chapter.key, {}).get(field, 0 if field == "target" else "") == value:
        raise CommandError("REJECTED", "It is so already.", hint="nothing to do")
    _store(context, "chapters", {**kept, chapter.key: of_chapter})
    before = kept.get(chapter.key, {}).get(field)
    return _op(f"{field} of {chapter.key}", now=value, before=before)


def _store(context: Context, what: str, value: Any) -> Op:
    """Adds a version in which one thing is different; returns what reverses it."""
    old = current_version(context.tree)
    body = {**(old.body if old is not None else {}), what: value}
    number = old.number + 1 if old is not None else 1
    if not context.world.is_dry:
        ManuscriptVersion.objects.create(
            tree=context.tree,
            number=number,
            body=body,
            what=what,
            by=context.actor.participant,
            at=context.now,
        )
    context.world.append("manuscript.changed", {"number": number, "what": what})
    return _op(what, now=value, before=_value(old, what))


def _op(what: str, *, now: Any, before: Any) -> Op:
    return {"op": "manuscript", "what": what, "now": now, "before": before}


@undoes("manuscript")
def _undo_manuscript(context: Context, op: Op, own: Own) -> list[Op]:
    what, version = op["what"], current_version(context.tree)
    field, of, key = what.partition(" of ")
    if not of:
        if _value(version, what) != op["now"]:
            raise conflict("The manuscript")
        return [_store(context, what, op["before"])]
    kept = _value(version, "chapters")
    of_chapter = dict(kept.get(key, {}))
    if of_chapter.get(field) != op["now"]:
        raise conflict("The manuscript")
    of_chapter[field] = op["before"]
    if op["before"] is None:
        del of_chapter[field]
    _store(context, "chapters", {**kept, key: of_chapter})
    return [_op(what, now=op["before"], before=op["now"])]
