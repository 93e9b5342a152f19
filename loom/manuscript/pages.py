"""Pages of the story: the manuscript as cards, and the whole of it to read and print."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods

from loom import access
from loom.access import Actor
from loom.engine import undo
from loom.engine.arguments import checked
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.manuscript.commands import chapters as verbs
from loom.manuscript.models import ManuscriptVersion
from loom.manuscript.queries.story import (
    Manuscript,
    card_of,
    current_version,
    manuscript_of,
    versions_of_order,
)
from loom.manuscript.rules import Chapter
from loom.permissions import Role
from loom.site import markdown
from loom.site.page_requests import (
    PersonRequest,
    abilities,
    frame,
    in_one_line,
    person,
    text_of,
    word_of,
)
from loom.trees.models import Tree

PERCENT = 100


@dataclass(frozen=True)
class ChapterCard:
    """A chapter as a card: `percent` of its target, at most 100; None without one."""

    chapter: Chapter
    number: int
    target: int
    note: str
    percent: int | None


@dataclass(frozen=True)
class OrderKept:
    """An earlier order of the chapters."""

    version: ManuscriptVersion
    is_current: bool


@require_http_methods(["GET", "HEAD", "POST"])
@person
def manuscript_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The chapters of the main line as cards. A POST moves one, or sets what a form of the page
    holds; it answers with the page as it is then."""
    role: Role = "writer" if request.method == "POST" else "reader"
    actor, tree = access.get_tree(request.user, uid, role=role)
    reply, refused = "", ""
    if request.method == "POST":
        try:
            reply = _changed(request, actor, tree)
        except CommandError as error:
            refused = in_one_line(error)
    return render(request, "pages/manuscript.html", _context(request, actor, tree, reply, refused))


def _context(
    request: PersonRequest, actor: Actor, tree: Tree, said: str, refused: str
) -> dict[str, object]:
    found = manuscript_of(actor, tree)
    words = found.story.words
    target = found.target or sum(found.of(chapter)[0] for chapter in found.chapters)
    kept = versions_of_order(tree)
    return {
        **frame(request, actor, "trees"),
        "tree": tree,
        "can": abilities(actor, tree),
        "found": found,
        "cards": _cards(found),
        "words": words,
        "target": target,
        "percent": _percent(words, target),
        "orders": [OrderKept(version, version == kept[0]) for version in kept],
        "said": said,
        "refused": refused,
        "moved": word_of(request, "chapter") if said else "",
    }


def _cards(manuscript: Manuscript) -> list[ChapterCard]:
    cards = []
    for number, chapter in enumerate(manuscript.chapters, 1):
        target, note = manuscript.of(chapter)
        cards.append(ChapterCard(chapter, number, target, note, _percent(chapter.words, target)))
    return cards


def _percent(words: int, target: int) -> int | None:
    return min(PERCENT, words * PERCENT // target) if target else None


def _changed(request: PersonRequest, actor: Actor, tree: Tree) -> str:
    """Does what a form of the page asks for; returns what to tell the person."""
    what, chapter = word_of(request, "what"), word_of(request, "chapter")
    if what == "move":
        sent = {"move": "move", "chapter": chapter, "to": request.POST.get("to", "")}
        execute(actor, tree, verbs.chapter_move, checked(verbs.MoveChapter, sent))
        return gettext("Moved. The texts stay where they are; only the order is another.")
    if what == "card":
        return _card_changed(request, actor, tree, chapter)
    if what == "restore":
        sent = {"restore": "restore", "order": request.POST.get("order", "")}
        execute(actor, tree, verbs.chapter_restore, checked(verbs.RestoreOrder, sent))
        return gettext("The order has been restored.")
    if what == "undo":
        execute(actor, tree, undo.undo, undo.Undo())
        return gettext("Undone.")
    if what != "book":
        raise CommandError("NOT_FOUND", "This form does not exist.", hint="Reload the page.")
    names = ("title", "author", "language")
    values: dict[str, object] = {name: word_of(request, name) for name in names}
    values["target"] = request.POST.get("target", "") or 0
    execute(actor, tree, verbs.manuscript, checked(verbs.SetManuscript, values))
    return gettext("Saved.")


def _card_changed(request: PersonRequest, actor: Actor, tree: Tree, chapter: str) -> str:
    """Stores the target and the note of a card, if they are others. The story is read by the
    commands alone."""
    target, old_note = card_of(current_version(tree), chapter)
    words, note = request.POST.get("words", "") or "0", text_of(request, "note").strip()
    if words != str(target):
        sent = {"target": "target", "chapter": chapter, "words": words}
        execute(actor, tree, verbs.chapter_target, checked(verbs.AimChapter, sent))
    if note != old_note:
        fresh = verbs.NoteChapter(note="note", chapter=chapter, text=note)
        execute(actor, tree, verbs.chapter_note, fresh)
    return gettext("Saved.")


# The whole story to read and print.


@dataclass(frozen=True)
class ChapterShown:
    """A chapter with its text."""

    chapter: Chapter
    body: SafeString


@require_GET
@person
def reading_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The story in the order of its chapters, with title page and names, and nothing else."""
    actor, tree = access.get_tree(request.user, uid)
    found = manuscript_of(actor, tree)
    text = found.story.text
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "found": found,
        "chapters": [
            ChapterShown(one, markdown.rendered(text[one.body : one.end])) for one in found.chapters
        ],
    }
    return render(request, "pages/reading.html", context)
