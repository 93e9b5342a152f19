"""The page of a grove's webhooks, for its owners."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, URLResolver, path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from agents.webhooks import commands
from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.people.models import Grove
from loom.site.forms import PageForm, Word
from loom.site.page_requests import PersonRequest, in_one_line, person, shown_once, word_of

MOST_TREES = 200  # that the form offers, the last touched first


class Kinds(Word):
    """Kinds of events, separated by commas or white space."""

    def __init__(self) -> None:
        super().__init__(empty=())

    def of(self, text: str) -> list[str]:
        """The kinds."""
        return text.replace(",", " ").split()


class WebhookForm(PageForm):
    """A new webhook; of all kinds of events where none is named."""

    url = Word()
    tree = Word()
    kinds = Kinds()


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@person
def webhooks_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The webhooks of a grove; a POST makes one, whose secret is shown once."""
    actor, grove = access.get_grove(request.user, uid, role="owner")
    if request.method != "POST":
        return _shown(request, actor, grove)
    return shown_once(
        request,
        lambda: commands.make_webhook(request.user, uid, **WebhookForm.read(request)),
        lambda new_key: _shown(request, actor, grove, secret=new_key[1]),
        back=f"/groves/{uid}/webhooks",
    )


@sensitive_variables("secret")
def _shown(request: PersonRequest, actor: Actor, grove: Grove, *, secret: str = "") -> HttpResponse:
    context = {
        "grove": grove,
        "current": "settings",
        "is_owner": True,
        "webhooks": list(commands.webhooks_of(request.user, grove.uid)),
        "trees": list(access.trees_for(actor).filter(grove=grove)[:MOST_TREES]),
        "fresh_secret": secret,
    }
    return render(request, "pages/webhooks.html", context)


@never_cache
@require_POST
@person
def change(request: PersonRequest, uid: str, webhook: str) -> HttpResponse:
    """Stops a webhook, lets it go on, or removes it."""
    access.get_grove(request.user, uid, role="owner")
    action = word_of(request, "action")
    try:
        if action == "remove":
            commands.remove_webhook(request.user, webhook)
            messages.success(request, gettext("The webhook has been removed."))
        else:
            commands.change_webhook(request.user, webhook, is_stopped=action == "stop")
            messages.success(request, gettext("Saved."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/groves/{uid}/webhooks")


urlpatterns: list[URLPattern | URLResolver] = [
    path("groves/<uid:uid>/webhooks", webhooks_page),
    path("groves/<uid:uid>/webhooks/<uid:webhook>", change),
]
