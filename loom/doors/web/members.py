"""Who belongs to a grove: members, roles, invitations."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor
from loom.commands import groves, invitations
from loom.doors.web.fields import number_of, whole_of, word_of
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.groves import frame
from loom.doors.web.who import cast_of
from loom.models import Invitation, Membership
from loom.rules.permissions import ROLES
from loom.rules.refusals import Refused


@never_cache
@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """Members and, for owners, invitations."""
    actor, _ = access.get_grove(request.user, uid)
    return render(request, "pages/people.html", _context(request, actor))


def _context(request: PersonRequest, actor: Actor) -> dict[str, object]:
    cast = cast_of(actor)
    members = Membership.objects.filter(grove=actor.grove).select_related("user", "participant")
    open_ones = Invitation.objects.filter(
        grove=actor.grove,
        revoked_at__isnull=True,
        expires_at__gt=timezone.now(),
        uses_left__gt=0,
    )
    return {
        **frame(request, actor, "people"),
        "members": [(one, cast[one.participant.uid]) for one in members],
        "invitations": open_ones if actor.is_owner else [],
        "roles": ROLES,
    }


def _role(request: PersonRequest, actor: Actor) -> str:
    member = groves.change_role(actor, word_of(request, "user"), request.POST.get("role", ""))
    words = {"name": member.participant.name, "role": gettext(member.role)}
    return gettext("%(name)s is %(role)s now.") % words


def _remove(request: PersonRequest, actor: Actor) -> str:
    name = word_of(request, "user")
    groves.remove_member(actor, name)
    return gettext("%(name)s is no member any more; what was written stays.") % {"name": name}


def _revoke(request: PersonRequest, actor: Actor) -> str:
    invitations.revoke_invitation(actor, word_of(request, "invitation"))
    return gettext("The invitation is revoked.")


_DEEDS: dict[str, Callable[[PersonRequest, Actor], str]] = {
    "role": _role,
    "remove": _remove,
    "revoke": _revoke,
}


@never_cache
@require_POST
@person
def change(request: PersonRequest, uid: str, deed: str) -> HttpResponse:
    """Does one of the forms of the page, and shows the page again."""
    actor, grove = access.get_grove(request.user, uid, role="owner")
    if deed == "invite":
        return _invite(request, actor)
    run = _DEEDS.get(deed)
    if run is None:
        raise Refused("NOT_FOUND", "There is no such form.", hint="Open the page again.")
    try:
        messages.success(request, run(request, actor))
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
    return HttpResponseRedirect(f"/groves/{grove.uid}/people")


def _invite(request: PersonRequest, actor: Actor) -> HttpResponse:
    """The page with a fresh invitation's link, shown this once."""
    try:
        made, secret = invitations.make_invitation(
            actor,
            role=request.POST.get("role", ""),
            days=number_of(request, "days") or 7,
            uses=whole_of(request, "uses") or 1,
        )
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
        return HttpResponseRedirect(f"/groves/{actor.grove.uid}/people")
    link = request.build_absolute_uri(f"/invitations/{secret}")
    context = {**_context(request, actor), "fresh": made, "fresh_link": link}
    return render(request, "pages/people.html", context)
