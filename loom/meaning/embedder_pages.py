"""The page of a grove's embedder: how far its trees are indexed, stopping and going on, and for
owners the endpoint that makes vectors."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.embedding.embedders import embedded
from loom.errors import CommandError
from loom.meaning import embedder_settings as commands
from loom.meaning.embedder_settings import NewEmbedder
from loom.meaning.index_progress import progress_of
from loom.participants.commands import why_not_allowed_by
from loom.participants.prices import NANO, dollars
from loom.site.forms import Flag, Number, PageForm, Word
from loom.site.page_requests import PersonRequest, as_shown, frame, is_part, person


class EmbedderForm(PageForm):
    """An endpoint that makes vectors."""

    model = Word()
    base_url = Word()
    api_key = Word(empty=None)
    allow_private = Flag()
    price = Number(empty=0)


@require_http_methods(["GET", "HEAD", "POST"])
@person
def embedder_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A grove's embedder and its progress; a POST by an owner changes it. For scripts only the
    progress."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method != "POST":
        return _page(request, actor)
    access.demand_role(actor, "owner")
    try:
        messages.success(request, _changed(request, actor))
    except CommandError as refused:
        return _page(request, actor, refused)
    return HttpResponseRedirect(f"/groves/{grove.uid}/embedder")


def _changed(request: PersonRequest, actor: Actor) -> str:
    """Does what a button says, and returns what to say."""
    if "stop" in request.POST:
        commands.stop_indexing(actor)
        return gettext("No more vectors are made.")
    if "again" in request.POST:
        commands.resume_indexing(actor)
        return gettext("Vectors are made again.")
    if "remove" in request.POST:
        commands.remove_embedder(actor)
        return gettext("Saved. The embedded embedder makes the vectors.")
    form = EmbedderForm.read(request)
    price = form.pop("price")
    commands.set_embedder(actor, NewEmbedder(**form, price_usd=price))
    return gettext("Saved. The endpoint makes the vectors of all texts from now on.")


def _page(
    request: PersonRequest, actor: Actor, refused: CommandError | None = None
) -> HttpResponse:
    known = progress_of(actor)
    row = known.settings
    shown = {
        "model": row.model,
        "base_url": row.base_url,
        "price": row.price / NANO if row.price else "",
        "allow_private": row.allow_private,
    }
    if refused is not None:
        shown = {name: request.POST.get(name, "") for name in shown}
    context = {
        **frame(request, actor, "settings"),
        "known": known,
        "row": row,
        "spent": dollars(row.spent) if row.spent else "",
        "is_owner": actor.role == "owner",
        "has_embedded": embedded() is not None,
        "shown": shown,
        "refused": refused and as_shown(refused),
        "private_why": why_not_allowed_by(actor),
    }
    name = "meaning/progress.html" if is_part(request) else "meaning/embedder.html"
    return render(request, name, context, status=refused.status if refused else 200)
