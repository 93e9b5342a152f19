"""Pages of the story: the manuscript as cards, and the whole of it to read and print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from loom.manuscript.rules import Chapter, language_problem
from loom.permissions import Role
from loom.site import markdown
from loom.site.forms import FieldRefused, PageForm, Word
from loom.site.page_requests import (
    PersonRequest,
    abilities,
    frame,
    in_one_line,
    person,
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
    form = ManuscriptForm(request.POST if request.method == "POST" else None)
    reply, refused = "", ""
    if form.is_bound:
        try:
            reply = _changed(actor, tree, form.values)
        except CommandError as error:
            form.show(error)
            refused = in_one_line(error)
    context = _context(request, actor, tree) | {
        "said": reply,
        "refused": refused,
        "moved": form["chapter"].value() if reply else "",
    }
    if refused and form["what"].value() == "book":
        context["book"] = form
    return render(request, "pages/manuscript.html", context)


class ManuscriptForm(PageForm):
    """The forms of the page; `what` says which of them was sent."""

    what = Word()
    chapter = Word()
    to = Word()
    seen = Word()
    order = Word()
    words = Word(empty="0")
    note = Word()
    title = Word()
    author = Word()
    language = Word()
    target = Word(empty="0")

    def clean_language(self) -> str:
        """The tag of a language, or nothing."""
        language = str(self.cleaned_data["language"])
        if problem := language_problem(language):
            raise FieldRefused(problem, "en, de or pt-BR.")
        return language


def _context(request: PersonRequest, actor: Actor, tree: Tree) -> dict[str, object]:
    manuscript = manuscript_of(actor, tree)
    words = manuscript.story.words
    target = manuscript.target or sum(manuscript.of(chapter)[0] for chapter in manuscript.chapters)
    kept = versions_of_order(tree)
    return {
        **frame(request, actor, "trees"),
        "tree": tree,
        "can": abilities(actor, tree),
        "found": manuscript,
        "cards": _cards(manuscript),
        "words": words,
        "target": target,
        "percent": _percent(words, target),
        "order": _mark(kept),
        "orders": [OrderKept(version, version == kept[0]) for version in kept],
        "book": ManuscriptForm(
            initial={
                "title": manuscript.body.get("title", ""),
                "author": manuscript.author,
                "language": manuscript.body.get("language", ""),
                "target": manuscript.target,
            }
        ),
    }


def _cards(manuscript: Manuscript) -> list[ChapterCard]:
    cards = []
    for number, chapter in enumerate(manuscript.chapters, 1):
        target, note = manuscript.of(chapter)
        cards.append(ChapterCard(chapter, number, target, note, _percent(chapter.words, target)))
    return cards


def _percent(words: int, target: int) -> int | None:
    return min(PERCENT, words * PERCENT // target) if target else None


def _changed(actor: Actor, tree: Tree, given: Mapping[str, Any]) -> str:
    """Does what a form of the page asks for; returns what to say to the person."""
    what, chapter = given["what"], given["chapter"]
    if what == "move":
        _demand_as_shown(tree, given["seen"])
        sent = {"move": "move", "chapter": chapter, "to": given["to"]}
        execute(actor, tree, verbs.chapter_move, checked(verbs.MoveChapter, sent))
        return gettext("Moved. The texts stay where they are; only the order is another.")
    if what == "card":
        return _card_changed(actor, tree, given)
    if what == "restore":
        sent = {"restore": "restore", "order": given["order"]}
        execute(actor, tree, verbs.chapter_restore, checked(verbs.RestoreOrder, sent))
        return gettext("The order has been restored.")
    if what == "undo":
        execute(actor, tree, undo.undo, undo.Undo())
        return gettext("Undone.")
    if what != "book":
        raise CommandError("NOT_FOUND", "This form does not exist.", hint="Reload the page.")
    values = {name: given[name] for name in ("title", "author", "language", "target")}
    execute(actor, tree, verbs.manuscript, checked(verbs.SetManuscript, values))
    return gettext("Saved.")


def _demand_as_shown(tree: Tree, seen: str) -> None:
    """Refuses a move that was made in an order which somebody has changed since: a place of it is
    another one now."""
    if seen and seen != _mark(versions_of_order(tree, most=1)):
        raise CommandError(
            "CONFLICT",
            gettext("Somebody changed the chapters meanwhile."),
            hint=gettext("They are shown as they are now; move the card again."),
        )


def _mark(orders: Sequence[ManuscriptVersion]) -> str:
    """What tells an order from others, given its version and those before it."""
    return str(orders[0].pk if orders else 0)


def _card_changed(actor: Actor, tree: Tree, given: Mapping[str, Any]) -> str:
    """Stores the target and the note of a card, if they are others. The story is read by the
    commands alone."""
    chapter, words, note = given["chapter"], given["words"], given["note"]
    target, old_note = card_of(current_version(tree), chapter)
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
    manuscript = manuscript_of(actor, tree)
    text = manuscript.story.text
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "found": manuscript,
        "chapters": [
            ChapterShown(chapter, markdown.to_read(text[chapter.body : chapter.end]))
            for chapter in manuscript.chapters
        ],
    }
    return render(request, "pages/reading.html", context)
