"""The documents of a grove as pages: their list, one with its editor, and its history."""

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from loom import access
from loom.access import Actor
from loom.documents import access as document_access
from loom.documents import actions as document_actions
from loom.documents import queries, rules
from loom.documents.access import documents_for, linked_to
from loom.documents.commands.explorations import WriteFrom, write_from
from loom.documents.models import Document
from loom.documents.portal_pages import foot_of_document
from loom.engine.by_name import run_command
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.refs import Ref
from loom.links.trails import open_trail
from loom.notes.queries import tags_of_item
from loom.notes.words import around
from loom.people.models import User
from loom.permissions import WRITE_DOCUMENTS
from loom.platform import deadlines
from loom.site import markdown
from loom.site.display import Who, age_of, cast_of
from loom.site.forms import PageForm, Text, Word
from loom.site.page_requests import PersonRequest, frame, in_one_line, known_node, person, word_of
from loom.text.edits import difference
from loom.text.front_matter import MAX_TITLE, body_start
from loom.text.hashes import instant
from loom.text.shortening import near_changes
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup, places

MOST_LISTED = 300
MOST_FILES = 50
EMBEDDED = 4000  # characters of an embedded text that are shown
MOST_REVISIONS = 100
MOST_PLACES = 50  # of one suggestion that are drawn in the text
MOST_QUOTED = 300  # characters of the words that a comment is about
MOST_CLIENTS = 400  # client ids in one question


@dataclass(frozen=True)
class DocumentRow:
    """One row of the list."""

    uid: str
    title: str
    kind: str
    words: int
    age: str
    at: str
    summary: str


@require_http_methods(["GET", "HEAD", "POST"])
@person
def documents_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The documents of a grove, or with `?tree=` those linked to a tree; a POST makes one, or one
    for each uploaded Markdown file, and links them to that tree."""
    actor, _ = access.get_grove(request.user, uid)
    tree = _tree_of(request, request.GET.get("tree", ""), actor)
    if request.method == "POST":
        return _made(request, actor, tree)
    rows = documents_for(actor)
    rows = linked_to(tree, rows) if tree is not None else rows
    context = {
        **frame(request, actor, "documents"),
        "tree": tree,
        "documents": [_row(document) for document in rows[:MOST_LISTED]],
        "may_write": WRITE_DOCUMENTS in actor.permissions,
    }
    return render(request, "pages/documents.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@person
def beside_tree(request: PersonRequest, uid: str) -> HttpResponse:
    """The pane beside a tree: its documents, or with `?document=` one of the grove to read and
    write; a POST makes a document that is linked to the tree, and answers with its pane."""
    actor, tree = access.get_tree(request.user, uid)
    if request.method == "POST":
        access.demand_role(actor, "writer")
        base = gettext("Notes on %(title)s") % {"title": tree.title or gettext("Untitled tree")}
        new_document = document_actions.make_document(actor, title=queries.free_title(actor, base))
        run_command(actor, tree, "link", _ends(new_document, tree))
        return _pane(request, actor, tree, new_document)
    wanted = request.GET.get("document", "")
    if wanted:
        _, document = document_access.get_document(request.user, wanted)
        if document.grove_id != tree.grove_id:
            raise not_found("This document")
        return _pane(request, actor, tree, document)
    linked = linked_to(tree, documents_for(actor))[:MOST_LISTED]
    rows = [_row(linked_document) for linked_document in linked]
    here = {row.uid for row in rows}
    others = documents_for(actor).values_list("uid", "title")[:MOST_LISTED]
    context = {
        "tree": tree,
        "documents": rows,
        "others": [other for other in others if other[0] not in here],
        "may_write": WRITE_DOCUMENTS in actor.permissions,
    }
    return render(request, "parts/documents_pane_list.html", context)


def _pane(request: PersonRequest, actor: Actor, tree: Tree, document: Document) -> HttpResponse:
    text = queries.current(document)
    cast = cast_of(actor)
    is_linked = linked_to(tree, Document.objects.filter(pk=document.pk)).exists()
    # What is said of it here is kept in this tree, if it is linked to it.
    trees = [tree] if is_linked else list(queries.trees_linked(actor, document))
    context = {
        "tree": tree,
        "trees": [tree],  # whose claims its words are evidence for
        "document": document,
        "is_linked": is_linked,
        "suggestions": _suggested(actor, document, text),
        **_annotations(request.user, actor, document, text, trees=trees, cast=cast),
        "words": rules.count_words(text),
        "age": age_of(document.touched_at),
        "body": drawn(actor, document, text),
        "may_write": WRITE_DOCUMENTS in actor.permissions,
        "me": actor.participant.uid,
        "cast": json.dumps({who.uid: [who.colour, who.name] for who in cast.values()}),
    }
    return render(request, "parts/documents_pane_text.html", context)


def _tree_of(request: PersonRequest, uid: str, actor: Actor) -> Tree | None:
    if not (uid and uid.isascii() and uid.isalnum()):
        return None
    _, tree = access.get_tree(request.user, uid)
    return tree if tree.grove_id == actor.grove.pk else None


def _row(document: Document) -> DocumentRow:
    at = instant(document.touched_at)
    return DocumentRow(
        document.uid,
        document.title,
        document.kind,
        document.words,
        age_of(document.touched_at),
        at,
        document.summary,
    )


def _made(request: PersonRequest, actor: Actor, tree: Tree | None) -> HttpResponse:
    access.demand_role(actor, "writer")
    home = f"/groves/{actor.grove.uid}/documents"
    home = f"{home}?tree={tree.uid}" if tree is not None else home
    try:
        files = request.FILES.getlist("file")
        if files:
            documents = [_imported(actor, file) for file in files[:MOST_FILES]]
        else:
            title = DocumentForm.read(request)["title"] or gettext("Untitled document")
            documents = [document_actions.make_document(actor, title=title)]
        if tree is not None:
            for document in documents:
                run_command(actor, tree, "link", _ends(document, tree))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(home)
    return HttpResponseRedirect(f"/documents/{documents[0].uid}" if len(documents) == 1 else home)


def _imported(actor: Actor, file: Any) -> Document:
    """A document from a Markdown file, with the name of the file as its title."""
    if file.size > rules.MAX_BYTES:
        raise CommandError(
            "LIMIT_EXCEEDED", f"{file.name} has more than 4 MiB.", hint="Split it.", is_size=True
        )
    try:
        text = file.read().decode()
    except UnicodeDecodeError:
        raise CommandError(
            "INVALID_SYNTAX", f"{file.name} is no text in UTF-8.", hint="Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise CommandError(
            "INVALID_SYNTAX", f"{file.name} contains U+0000.", hint="Choose a text file."
        )
    title = re.sub(r"\.(md|markdown|txt)$", "", str(file.name), flags=re.IGNORECASE)
    return document_actions.make_document(actor, title=title[:MAX_TITLE], text=text)


# One document.


@never_cache
@require_GET
@person
def document_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A document: its editor, and its rendered text."""
    actor, document = document_access.get_document(request.user, uid)
    cast = cast_of(actor)
    text = queries.current(document)
    trees = list(queries.trees_linked(actor, document))
    context = {
        **frame(request, actor, "documents"),
        "document": document,
        "age": age_of(document.touched_at),
        "words": rules.count_words(text),
        "body": drawn(actor, document, text),
        "portals": foot_of_document(actor, document),
        "tags": tags_of_item(actor, document.item_id),
        "left_out": rules.left_out(text),
        "trees": trees,
        "others": _others(actor, trees),
        "suggestions": _suggested(actor, document, text),
        **_annotations(request.user, actor, document, text, trees=trees, cast=cast),
        "may_write": WRITE_DOCUMENTS in actor.permissions,
        "me": actor.participant.uid,
        "cast": json.dumps({who.uid: [who.colour, who.name] for who in cast.values()}),
    }
    return render(request, "pages/document.html", context)


@dataclass(frozen=True)
class Suggested:
    """An undecided suggestion, with the pieces in which it would change the text as it is now, and
    the same as `[before, old, new, after]` for the editor, where it is drawn in its place. No
    piece: the same passage was changed since."""

    id: str
    tree: str
    by: str
    at: str
    pieces: list[tuple[str, str]]
    edits: str


def _suggested(actor: Actor, document: Document, text: str) -> list[Suggested]:
    shown = []
    for suggestion in queries.open_suggestions(actor, document, text):
        node, after = suggestion.node, suggestion.text
        edits = [] if after is None else difference(text, after)
        pieces = queries.pieces_of(text, edits) if after is not None else []
        near = _shortened(pieces)
        places = [around(text, edit.start, edit.end, edit.text) for edit in edits[:MOST_PLACES]]
        at = instant(node.created_at)
        name = node.author.name
        shown.append(Suggested(node.local_id, node.tree.uid, name, at, near, json.dumps(places)))
    return shown


def _shortened(pieces: Sequence[queries.DifferencePiece]) -> list[tuple[str, str]]:
    """The kinds and texts of the pieces of a difference: of long ones that did not change only what
    is next to a change."""
    last = len(pieces) - 1
    return [
        (
            piece.kind,
            near_changes(piece.text, is_first=at == 0, is_last=at == last)
            if piece.kind == "same"
            else piece.text,
        )
        for at, piece in enumerate(pieces)
    ]


@dataclass(frozen=True)
class AnnotationShown:
    """A comment as the page shows it. `place`: the words with what is around them, as JSON, for
    the editor; empty if none are left. `may_resolve`: whether the reader may resolve it."""

    id: str
    tree: str
    who: Who
    form: str
    at: str
    text: str
    words: str
    place: str
    is_resolved: bool
    may_resolve: bool
    replies: tuple[tuple[Who, str, str], ...]


def _annotations(
    user: User,
    actor: Actor,
    document: Document,
    text: str,
    *,
    trees: Sequence[Tree],
    cast: Mapping[str, Who],
) -> dict[str, Any]:
    """The comments of a document, open and resolved, and in which tree the reader may write one."""
    tree = next((tree for tree in trees if tree.archived_at is None), None)
    inside = access.get_tree(user, tree.uid)[0] if tree is not None else actor
    may_annotate = tree is not None and inside.annotates
    shown = []
    for annotation in queries.annotations_on(actor, document, text):
        note = annotation.note
        is_here = tree is not None and note.tree_id == tree.pk
        may_resolve = is_here and access.may_change(inside, note)
        shown.append(
            AnnotationShown(
                id=note.slot.local_id,
                tree=note.tree.uid,
                who=cast[note.author.uid],
                form=note.form or "note",
                at=instant(note.slot.created_at),
                text=note.text,
                words=annotation.words[:MOST_QUOTED],
                place=json.dumps(around(text, *annotation.place)) if annotation.place else "",
                is_resolved=note.slot.resolved_at is not None,
                may_resolve=may_resolve,
                replies=tuple(
                    (cast[reply.author.uid], instant(reply.slot.created_at), reply.text)
                    for reply in annotation.replies
                ),
            )
        )
    return {
        "comments": [annotation for annotation in shown if not annotation.is_resolved],
        "resolved": [annotation for annotation in shown if annotation.is_resolved],
        "comment_tree": tree.uid if tree is not None and may_annotate else "",
    }


def _others(actor: Actor, linked: Sequence[Tree]) -> list[Tree]:
    """Trees of the grove to which a document can be linked that is linked to these."""
    known = [tree.pk for tree in linked]
    rows = access.trees_for(actor).filter(grove=actor.grove, archived_at__isnull=True)
    return list(rows.exclude(pk__in=known)[:50])


@never_cache
@require_GET
@person
def drawn_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The rendered document, without the page around it."""
    actor, document = document_access.get_document(request.user, uid)
    return HttpResponse(drawn(actor, document, queries.current(document)))


@never_cache
@require_GET
@person
def writers(request: PersonRequest, uid: str) -> JsonResponse:
    """Who wrote what the Yjs client ids in `?clients=1,2` have signed: `{clients: {client id:
    participant}, cast: {participant: [colour, name]}}`; those that nobody knows are left out."""
    actor, document = document_access.get_document(request.user, uid)
    named = re.findall(r"\d{1,16}", request.GET.get("clients", "")[: MOST_CLIENTS * 18])
    wrote = queries.writers_of(document, {int(client) for client in named[:MOST_CLIENTS]})
    cast = cast_of(actor) if wrote else {}
    return JsonResponse(
        {
            "clients": wrote,
            "cast": {who: [cast[who].colour, cast[who].name] for who in set(wrote.values())},
        }
    )


@never_cache
@require_GET
@person
def embedded(request: PersonRequest, uid: str) -> HttpResponse:
    """The content of the embed `?ref=` for the reader."""
    actor, document = document_access.get_document(request.user, uid)
    ref = request.GET.get("ref", "")[:300]
    return HttpResponse(_card(embeds(actor, document, [ref])[ref]))


@require_GET
@person
def download(request: PersonRequest, uid: str) -> HttpResponse:
    """The document as a Markdown file."""
    _, document = document_access.get_document(request.user, uid)
    name, text = queries.as_file(document)
    answer = HttpResponse(text.encode(), content_type="text/markdown; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@require_POST
@person
def change(request: PersonRequest, uid: str, action: str) -> HttpResponse:
    """Renames a document, restores a revision, or links it to a tree."""
    actor, document = document_access.get_document(request.user, uid, role="writer")
    try:
        _ACTIONS[action](request.user, actor, document, DocumentForm.read(request))
        messages.success(request, gettext("Saved."))
    except KeyError:
        messages.error(request, gettext("That did not work"))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/documents/{document.uid}")


class DocumentForm(PageForm):
    """The forms of a document's page and of its history."""

    title = Word()
    revision = Word()
    tree = Text()
    node = Word()
    text = Text()


Given = Mapping[str, Any]


@require_POST
@person
def of_trail(request: PersonRequest, uid: str) -> HttpResponse:
    """Keeps a trail as a document of the given title, and opens it."""
    actor, trail = open_trail(request.user, uid)
    title = word_of(request, "title")
    args = WriteFrom(ref=Ref("document", name=title), source=Ref("trail", id=trail.uid))
    try:
        answer = execute(actor, trail.tree, write_from, args)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/trails/{trail.uid}")
    return HttpResponseRedirect(f"/documents/{answer.body['refs'][0].removeprefix('doc:')}")


def _rename(user: User, actor: Actor, document: Document, given: Given) -> None:
    document_actions.change_document(actor, document, title=given["title"] or " ")


def _restore(user: User, actor: Actor, document: Document, given: Given) -> None:
    number = given["revision"]
    if not (number.isascii() and number.isdecimal() and len(number) < 9):
        raise CommandError("INVALID_SYNTAX", "Name a revision.", hint="Choose one of the list.")
    document_actions.restore_document(actor, document, int(number))


def _link(user: User, actor: Actor, document: Document, given: Given) -> None:
    _, tree = access.get_tree(user, given["tree"])
    run_command(actor, tree, "link", _ends(document, tree))


def _unlink(user: User, actor: Actor, document: Document, given: Given) -> None:
    _, tree = access.get_tree(user, given["tree"])
    run_command(actor, tree, "unlink", _ends(document, tree))


def _ends(document: Document, tree: Tree) -> dict[str, str]:
    return {"source": f"doc:{document.uid}", "target": f"tree:{tree.uid}"}


def _suggest(user: User, actor: Actor, document: Document, given: Given) -> None:
    tree = queries.trees_linked(actor, document).filter(archived_at=None).first()
    if tree is None:
        raise CommandError("REJECTED", "The document is linked to no tree.", hint="Link it first.")
    run_command(actor, tree, "suggest", {"ref": f"doc:{document.uid}", "content": given["text"]})


def _annotate(user: User, actor: Actor, document: Document, given: Given) -> None:
    inside, tree = access.get_tree(user, given["tree"])
    ref = {"ref": f"doc:{document.uid}", "content": given["text"]}
    run_command(inside, tree, "annotate", ref)


def _reply(user: User, actor: Actor, document: Document, given: Given) -> None:
    inside, tree = access.get_tree(user, given["tree"])
    run_command(inside, tree, "annotate", {"ref": given["node"], "content": given["text"]})


def _resolve(user: User, actor: Actor, document: Document, given: Given) -> None:
    inside, tree = access.get_tree(user, given["tree"])
    note = known_node(tree, given["node"])
    if note is not None and note.form == "objection" and not given["text"].strip():
        raise CommandError(
            "REJECTED",
            gettext("An objection needs a reason."),
            hint=gettext("Write why the objection is settled."),
        )
    run_command(inside, tree, "resolve", {"ref": given["node"], "reason": given["text"]})


def _accept(user: User, actor: Actor, document: Document, given: Given) -> None:
    _, tree = access.get_tree(user, given["tree"])
    run_command(actor, tree, "accept", {"ref": given["node"]})


def _reject(user: User, actor: Actor, document: Document, given: Given) -> None:
    _, tree = access.get_tree(user, given["tree"])
    run_command(actor, tree, "reject", {"ref": given["node"]})


_ACTIONS: dict[str, Callable[[User, Actor, Document, Given], None]] = {
    "rename": _rename,
    "restore": _restore,
    "link": _link,
    "unlink": _unlink,
    "comment": _annotate,
    "reply": _reply,
    "resolve": _resolve,
    "suggest": _suggest,
    "accept": _accept,
    "reject": _reject,
}


# History.


@dataclass(frozen=True)
class RevisionShown:
    """One revision in the list: its author and time."""

    number: int
    words: int
    authors: tuple[Who, ...]
    restored: int | None
    age: str


@never_cache
@require_GET
@person
def history_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The revisions of a document; `?revision=` shows what one changed, word by word."""
    actor, document = document_access.get_document(request.user, uid)
    cast = cast_of(actor)
    rows = []
    for revision in queries.revisions(document)[:MOST_REVISIONS]:
        authors = tuple(cast[name] for name in revision.authors if name in cast)
        rows.append(
            RevisionShown(
                revision.number, revision.words, authors, revision.restored, age_of(revision.at)
            )
        )
    asked = request.GET.get("revision", "")
    number = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 0
    chosen = queries.revision_of(document, number or document.revision)
    before = queries.revision_of(document, chosen.number - 1) if chosen.number > 1 else None
    pieces = queries.difference(before.text if before else "", chosen.text)
    context = {
        **frame(request, actor, "documents"),
        "document": document,
        "revisions": rows,
        "chosen": chosen,
        "pieces": _shortened(pieces),
        "may_write": WRITE_DOCUMENTS in actor.permissions,
    }
    return render(request, "pages/document_history.html", context)


# Rendering a document: Markdown, with embeds in place.


@dataclass(frozen=True)
class Embed:
    """The content of an embed: a node with its text, or a tree; neither if it may not be seen."""

    ref: str
    node: Node | None = None
    tree: Tree | None = None
    body: SafeString | None = None
    is_current: bool = True


def drawn(actor: Actor, document: Document, text: str) -> SafeString:
    """The text as HTML, without its front matter; embeds show the current version, if the actor
    may see it."""
    refs: dict[str, str] = {}
    mark = secrets.token_hex(8)
    lines: list[str] = []
    fence = ""
    for line in text[body_start(text) :].split("\n"):
        opening = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            fence = "" if opening and opening[1].startswith(fence) else fence
        elif opening:
            fence = opening[1]
        elif "![[" in line:
            lines.append(_marked(line, mark, refs))
            continue
        lines.append(line)
    base = f"/documents/{document.uid}"
    page = str(markdown.rendered("\n".join(lines), base, embeds=False))
    shown_by = embeds(actor, document, list(refs.values()))
    cards: dict[str, str] = {}
    chips: dict[str, str] = {}

    def put(match: re.Match[str]) -> str:
        ref = refs[match[1] or match[2]]
        deadlines.check()
        shown, drawn_ = shown_by[ref], cards if match[1] else chips
        if ref not in drawn_:
            drawn_[ref] = _card(shown) if match[1] else _chip(shown)
        return drawn_[ref]

    if refs:
        page = re.sub(rf"<p>(embed{mark}x\d+)</p>|(embed{mark}x\d+)", put, page)
    return mark_safe(page)  # noqa: S308 (rendered by the allow-list, and cards that are escaped)


def _marked(line: str, mark: str, refs: dict[str, str]) -> str:
    """The line with a placeholder for each embed, as long as there are not too many: further ones
    stay as they are written. One that is alone on its line is a block."""
    pieces = rules.split_at_embeds(line)
    for at in range(1, len(pieces), 2):
        if len(refs) == rules.MOST_EMBEDS:
            pieces[at] = f"![[{pieces[at]}]]"
            continue
        token = f"embed{mark}x{len(refs)}"
        refs[token] = pieces[at].strip()
        pieces[at] = token
    alone = len(pieces) == 3 and not pieces[0].strip() and not pieces[2].strip()
    alone = alone and pieces[1] in refs
    return f"\n{pieces[1]}\n" if alone else "".join(pieces)


def embeds(actor: Actor, document: Document, written: Sequence[str]) -> dict[str, Embed]:
    """The content of the embeds for the actor, by how they are written: for a node its current
    version. Nothing if it does not exist, is hidden, or may not be seen. At most eight queries."""
    ends = queries.embedded(actor, document, written)
    nodes = _current({key for key in ends.values() if isinstance(key, int)})
    shown = {ref: Embed(ref) for ref in written}
    for ref, end in ends.items():
        if isinstance(end, Tree):
            shown[ref] = Embed(ref, tree=end)
        elif end in nodes:
            shown[ref] = _of_node(ref, *nodes[end])
    return shown


def _current(keys: set[int]) -> dict[int, tuple[Node, Node]]:
    """Nodes by row id, each with the newest version of its slot that is not pruned, without hidden
    ones. Four queries."""
    nodes = lookup.rows().select_related("tree").in_bulk(list(keys))
    slots = {embedded.slot_id for embedded in nodes.values()}
    newest = lookup.selected_versions(slots - places.hidden_among(slots), None)
    rows = lookup.rows().select_related("tree").in_bulk([key for key, _ in newest.values()])
    return {
        key: (node, rows[newest[node.slot_id][0]])
        for key, node in nodes.items()
        if node.slot_id in newest
    }


def _of_node(written: str, node: Node, current: Node) -> Embed:
    if not current.text:
        return Embed(written)
    body = markdown.rendered(current.text[:EMBEDDED], f"/trees/{node.tree.uid}")
    return Embed(written, current, node.tree, body, current.pk == node.pk)


def _card(shown: Embed) -> SafeString:
    return mark_safe(render_to_string("parts/embed.html", {"embed": shown}).strip())  # noqa: S308


def _chip(shown: Embed) -> str:
    """An embedded item inside of a line, drawn as a chip."""
    if shown.tree is None:
        words = gettext("not available")
        return format_html('<span class="embed-chip gone">{} · {}</span>', shown.ref, words)
    at = f"?node={shown.node.local_id}" if shown.node else ""
    words = shown.node.text[:80] if shown.node else shown.tree.title
    return (
        f'<a class="embed-chip" href="/trees/{shown.tree.uid}{at}">{escape(words or shown.ref)}</a>'
    )
