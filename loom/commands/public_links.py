"""Public links: owners let anybody read a tree for a while, and end that when they like."""

import secrets
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands.actions import Change, action, run_action
from loom.commands.args import Args
from loom.models import PublicLink, Tree
from loom.rules.hashes import digest, instant
from loom.rules.refusals import Refused, not_found

MAX_DAYS = 365
MAX_OPEN = 50


def make_public_link(actor: Actor, tree: Tree, *, days: float) -> tuple[PublicLink, str]:
    """A new link and its secret, which is shown this once. For owners."""
    args = NewPublicLink(days=days)
    made: tuple[PublicLink, str] = run_action(actor, tree, _make_public_link, args)
    return made


class NewPublicLink(Args):
    """How long a public link lasts."""

    days: float


@action("make_public_link", stream="tree", role="owner")
def _make_public_link(change: Change, args: NewPublicLink) -> tuple[PublicLink, str]:
    """Makes a link by which anybody reads a tree for a while."""
    if not args.days > 0:
        raise Refused("INVALID_SYNTAX", "A link lasts longer than now.", hint="7 days are usual")
    if args.days > MAX_DAYS:
        raise Refused(
            "LIMIT_EXCEEDED", f"A link lasts at most {MAX_DAYS} days.", hint="7 days are usual"
        )
    if open_links(change.actor, change.tree).count() >= MAX_OPEN:
        raise Refused(
            "LIMIT_EXCEEDED", f"A tree has at most {MAX_OPEN} open links.", hint="revoke one first"
        )
    secret = secrets.token_urlsafe(32)
    made = PublicLink.objects.create(
        tree=change.tree,
        digest=digest(secret),
        made_by=change.actor.participant,
        expires_at=change.now + timedelta(days=args.days),
    )
    return made, secret


def open_links(actor: Actor, tree: Tree) -> QuerySet[PublicLink]:
    """The links that still open the tree, oldest first. For owners."""
    access.demand_role(actor, "owner")
    rows = PublicLink.objects.filter(tree=tree).select_related("made_by")
    return rows.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


def revoke_public_link(actor: Actor, tree: Tree, uid: str) -> PublicLink:
    """Ends a link at once; NOT_FOUND where it is not the tree's or was ended. For owners."""
    link: PublicLink = run_action(actor, tree, _revoke_public_link, PublicLinkNamed(link=uid))
    return link


class PublicLinkNamed(Args):
    """A public link by its id."""

    link: str


@action("revoke_public_link", stream="tree", role="owner")
def _revoke_public_link(change: Change, args: PublicLinkNamed) -> PublicLink:
    """Ends a public link at once."""
    open_ones = PublicLink.objects.filter(tree=change.tree, revoked_at__isnull=True)
    link = open_ones.filter(uid=args.link).select_related("made_by").first()
    if link is None:
        raise not_found("This link")
    link.revoked_at = change.now
    link.save(update_fields=["revoked_at"])
    return link


def public_link_body(one: PublicLink) -> dict[str, object]:
    """A link as the API shows it; never its secret."""
    return {
        "id": one.uid,
        "made_by": one.made_by.uid,
        "created_at": instant(one.created_at),
        "expires_at": instant(one.expires_at),
        "revoked_at": instant(one.revoked_at) if one.revoked_at else None,
    }
