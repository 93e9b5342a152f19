"""Pages of links: the link types of a grove."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.links.commands import types as verbs
from loom.links.link_types import ARCHETYPES, GROUPS, Type
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.people.names import TAG_COLOURS
from loom.people.pages.groves import frame
from loom.permissions import WRITE
from loom.site.page_requests import PersonRequest, in_one_line, person, word_of


@require_http_methods(["GET", "HEAD", "POST"])
@person
def types_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The link types of a grove by group; a POST adds, changes, archives or restores one."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        try:
            messages.success(request, _changed(request, actor))
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/groves/{grove.uid}/link-types")
    archetype = archetype_of(actor)
    every = [one for one in vocabulary_of(grove).types if archetype in one.archetypes]
    context = {
        **frame(request, actor, "settings"),
        "groups": [
            (gettext(group), [one for one in every if one.group == group and not one.archived])
            for group in GROUPS
        ],
        "archived": [one for one in every if one.archived],
        "group_names": [(name, gettext(name)) for name in GROUPS],
        "archetypes": [(name, gettext(name)) for name in ARCHETYPES],
        "colours": [(name, gettext(name)) for name in TAG_COLOURS],
        "may_write": WRITE in actor.permissions,
    }
    return render(request, "pages/link_types.html", context)


def _changed(request: PersonRequest, actor: Actor) -> str:
    if word := word_of(request, "type"):
        return _change(request, actor, word)
    made = verbs.add_type(
        actor,
        verbs.NewType(
            name=word_of(request, "name"),
            reverse=word_of(request, "reverse"),
            group=word_of(request, "group") or "semantic",
            colour=word_of(request, "colour"),
        ),
    )
    return gettext("Added %(name)s.") % {"name": made.name}


def _change(request: PersonRequest, actor: Actor, word: str) -> str:
    state = word_of(request, "archive")
    if state:
        verbs.change_type(actor, verbs.TypeChange(type=word, archived=state == "1"))
        return gettext("Archived.") if state == "1" else gettext("Restored.")
    before: Type = vocabulary_of(actor.grove).demand(word, archetype_of(actor))[0]
    reverse = word_of(request, "reverse")
    verbs.change_type(
        actor,
        verbs.TypeChange(
            type=word,
            name=word_of(request, "name") or before.name,
            reverse=reverse or None,
            group=word_of(request, "group") or before.group,
            colour=word_of(request, "colour"),
            archetypes=tuple(request.POST.getlist("archetypes")),
        ),
    )
    return gettext("Saved.")
