"""The lore of a tree as cards, and its keys for the text that names them."""

from dataclasses import dataclass

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_http_methods

from loom import access
from loom.access import Actor
from loom.documents import actions as document_actions
from loom.documents import queries as documents
from loom.documents.access import documents_for, linked_to
from loom.documents.lore_cards import TreeCard, cards_of
from loom.documents.lore_rules import KINDS, LoreCard, document_of
from loom.documents.models import Document
from loom.engine.by_name import run_command
from loom.errors import CommandError, not_found
from loom.permissions import WRITE_DOCUMENTS, Role
from loom.site.forms import PageForm, Text, Word
from loom.site.page_requests import (
    PersonRequest,
    abilities,
    frame,
    in_one_line,
    person,
)
from loom.text.images import beginning
from loom.text.lore import MOST_ORDER, USUAL_ORDER, keys_of
from loom.trees.models import Tree

SHOWN = 400  # characters of a card beside the text
HEADINGS = {
    "person": gettext_noop("People"),
    "place": gettext_noop("Places"),
    "thread": gettext_noop("Threads"),
    "other": gettext_noop("Other"),
}

NAMES = {
    "person": gettext_noop("a person"),
    "place": gettext_noop("a place"),
    "thread": gettext_noop("a thread"),
    "other": gettext_noop("something else"),
}


@dataclass(frozen=True)
class CardShelf:
    """The cards of one kind, under its heading."""

    kind: str
    heading: str
    cards: list[TreeCard]


_BLANK = TreeCard("", "", LoreCard("person", (), USUAL_ORDER, ""))


@require_http_methods(["GET", "HEAD", "POST"])
@person
def lore_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The cards of a tree by kind. A POST saves a card, makes a new one, or takes one out of the
    lore of this tree."""
    role: Role = "writer" if request.method == "POST" else "reader"
    actor, tree = access.get_tree(request.user, uid, role=role)
    notice, refused, typed = "", "", _BLANK
    if request.method == "POST":
        form = CardForm.of(request)
        try:
            notice = _changed(form, actor, tree)
        except CommandError as error:
            refused, typed = in_one_line(error), _typed(form)
    cards = [typed if lore.uid == typed.uid else lore for lore in cards_of(actor, tree)]
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "can": abilities(actor, tree),
        "may_write": abilities(actor, tree)["write"] and WRITE_DOCUMENTS in actor.permissions,
        "shelves": [
            CardShelf(kind, gettext(HEADINGS[kind]), of_kind)
            for kind in KINDS
            if (of_kind := [lore for lore in cards if lore.card.kind == kind])
        ],
        "kinds": [(kind, gettext(NAMES[kind])) for kind in KINDS],
        "notice": notice,
        "refused": refused,
        "typed": typed,
        "blank": _BLANK if typed.uid else typed,
    }
    return render(request, "pages/lore.html", context)


@require_GET
@person
def keys_in_text(request: PersonRequest, uid: str) -> HttpResponse:
    """`{cards: [{id, title, kind, keys, text}]}`: what the page of a tree underlines."""
    actor, tree = access.get_tree(request.user, uid)
    cards = [
        {
            "id": lore.uid,
            "title": lore.title,
            "kind": lore.card.kind,
            "keys": lore.card.keys,
            "text": beginning(lore.card.text, SHOWN),
        }
        for lore in cards_of(actor, tree)
    ]
    return JsonResponse({"cards": cards})


class CardForm(PageForm):
    """A card of lore, new or of a `document`; or `what` is done with it."""

    document = Word()
    what = Word()
    title = Word()
    kind = Word()
    order = Word(empty=str(USUAL_ORDER))
    keys = Word()
    text = Text()


def _changed(form: CardForm, actor: Actor, tree: Tree) -> str:
    """Does what a form of the page asks for; what was done, as a sentence."""
    given = form.values
    document = _of_tree(actor, tree, given["document"]) if given["document"] else None
    if given["what"] == "remove":
        if document is None:
            raise not_found("This card")
        run_command(actor, tree, "unlink", _ends(document, tree))
        return gettext("%(title)s is no lore of this tree any more. Its document stays.") % {
            "title": document.title
        }
    title = given["title"]
    card = _card(given)
    if document is None:
        document = document_actions.make_document(actor, title=title, text=document_of(card))
        run_command(actor, tree, "link", _ends(document, tree))
        return gettext("Added %(title)s.") % {"title": document.title}
    if title and title != document.title:
        document_actions.change_document(actor, document, title=title)
    before = documents.current(document)
    text = document_of(card, before)
    if text != before:
        document_actions.write_document(actor, document, text=text)
    return gettext("Saved %(title)s.") % {"title": title or document.title}


def _card(given: dict[str, str]) -> LoreCard:
    """The card that a form holds; without keys its title is the key."""
    kind, order, title = given["kind"], given["order"], given["title"]
    text = given["text"].strip("\n")
    if not text.strip():
        raise CommandError(
            "INVALID_SYNTAX", "The card has no text.", hint="Write what is true of it."
        )
    if not order.isascii() or not order.isdigit() or len(order) > len(str(MOST_ORDER)):
        raise CommandError(
            "INVALID_SYNTAX",
            "The order of a card is a whole number.",
            hint=f"Use 0 to {MOST_ORDER}; {USUAL_ORDER} is usual.",
        )
    return LoreCard(
        kind=kind if kind in KINDS else "other",
        keys=keys_of(given["keys"]) or keys_of(title),
        order=min(int(order), MOST_ORDER),
        text=text,
    )


def _typed(form: CardForm) -> TreeCard:
    """What a form held that was refused, to be mended."""
    fields = form.typed("document", "title", "kind", "keys")
    text = str(form.data.get("text", ""))
    card = LoreCard(fields["kind"], keys_of(fields["keys"]), USUAL_ORDER, text)
    return TreeCard(fields["document"], fields["title"], card)


def _of_tree(actor: Actor, tree: Tree, uid: str) -> Document:
    document = linked_to(tree, documents_for(actor, tree)).filter(uid=uid).first()
    if document is None:
        raise not_found("This card", "Reload the page.")
    return document


def _ends(document: Document, tree: Tree) -> dict[str, str]:
    return {"source": f"doc:{document.uid}", "target": f"tree:{tree.uid}"}
