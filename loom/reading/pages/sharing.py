"""For owners: who can read a tree, what a member or a role may do there, and its public links."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.people.commands import groves
from loom.site.forms import Number, PageForm, Text, Word, Words
from loom.site.page_requests import PersonRequest, frame, in_one_line, person
from loom.trees.commands import public_links, rights
from loom.trees.models import Tree

MOST_CHANGED = 200  # rights that one form changes


@never_cache
@require_GET
@person
def share(request: PersonRequest, uid: str) -> HttpResponse:
    """Who can read a tree: the members of the grove, and the public links to it. For owners."""
    actor, tree = access.get_tree(request.user, uid, role="owner")
    return render(request, "pages/share.html", _context(request, actor, tree))


def _context(request: PersonRequest, actor: Actor, tree: Tree) -> dict[str, object]:
    links = [
        (link, link.made_by.name if link.made_by != actor.participant else _("You"))
        for link in public_links.open_links(actor, tree)
    ]
    shown = _rights_shown(actor, tree)
    return {**frame(request, actor, "trees"), "tree": tree, "links": links, "rights": shown}


_RIGHTS = {
    "hidden": gettext_noop("see nothing of it"),
    "read": gettext_noop("only read"),
    "comment": gettext_noop("read and comment"),
    "write": gettext_noop("read and write"),
}


def _rights_shown(actor: Actor, tree: Tree) -> list[dict[str, object]]:
    """The rows of the table of rights: all readers, all writers, and each member."""
    roles = rights.roles_in(tree)
    rows: list[dict[str, object]] = [
        {
            "who": role.name,
            "name": _("All readers") if role.role == "reader" else _("All writers"),
            "role": role.role,
            "is_all": True,
            "given": role.own or "usual",
            "choices": _choices(role.usual),
        }
        for role in roles
    ]
    of_role = {role.role: role.own or role.usual for role in roles}
    for row in rights.members_in(actor, tree):
        member = row.member
        usual = of_role.get(member.role, "write")  # type: ignore[call-overload]
        rows.append(
            {
                "who": member.user.username,
                "name": member.participant.name,
                "role": member.role,
                "given": row.own or "usual",
                "choices": _choices(usual),
            }
        )
    return rows


def _choices(usual: str) -> list[tuple[str, str]]:
    """The values of a select and their words; `usual` is what counts if nothing is said."""
    usual_words = _("as usual: %(right)s") % {"right": _(_RIGHTS[usual])}
    return [("usual", usual_words), *((name, _(words)) for name, words in _RIGHTS.items())]


class RightsForm(PageForm):
    """Who was shown with which right, and which one was chosen, in the order of the table."""

    who = Words()
    before = Words()
    right = Words()


def _give_rights(request: PersonRequest, actor: Actor, tree: Tree) -> None:
    """Gives the rights that were changed in the table; the others stay as they are by now."""
    sent = RightsForm.read(request)
    changed = [
        (who, right)
        for who, before, right in zip(sent["who"], sent["before"], sent["right"], strict=False)
        if right != before
    ]
    for who, right in changed[:MOST_CHANGED]:
        if right not in rights.GIVEN:
            raise CommandError(
                "INVALID_SYNTAX", _("There is no such right."), hint=_("Reload the page.")
            )
        rights.give(actor, tree, who, right)
    if changed:
        messages.success(request, _("The rights have been saved."))


class PublicLinkForm(PageForm):
    """For how long a public link works, or which one is revoked."""

    days = Number(empty=7)
    link = Word()


class ReaderForm(PageForm):
    """An invitation that leads to a tree."""

    role = Text()
    days = Number(empty=7)


def _invite(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    """The page with an invitation that leads to the tree; its link is shown only this once."""
    _made, secret = groves.make_invitation(actor, **ReaderForm.read(request), uses=1)
    link = request.build_absolute_uri(f"/invitations/{secret}?tree={tree.uid}")
    return render(request, "pages/share.html", {**_context(request, actor, tree), "invited": link})


@never_cache
@require_POST
@person
def change(request: PersonRequest, uid: str, action: str) -> HttpResponse:
    """Creates a link, which is shown only this once, or revokes one; or changes rights."""
    actor, tree = access.get_tree(request.user, uid, role="owner")
    try:
        if action == "make":
            days = PublicLinkForm.read(request)["days"]
            _made, secret = public_links.make_public_link(actor, tree, days=days)
            shown = request.build_absolute_uri(f"/public/{secret}")
            context = {**_context(request, actor, tree), "fresh": shown}
            return render(request, "pages/share.html", context)
        if action == "invite":
            return _invite(request, actor, tree)
        if action == "rights":
            _give_rights(request, actor, tree)
            return HttpResponseRedirect(f"/trees/{tree.uid}/share")
        if action != "revoke":
            raise CommandError(
                "NOT_FOUND", _("This form does not exist."), hint=_("Reload the page.")
            )
        public_links.revoke_public_link(actor, tree, PublicLinkForm.read(request)["link"])
        messages.success(request, _("The link has been revoked and no longer works."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/trees/{tree.uid}/share")
