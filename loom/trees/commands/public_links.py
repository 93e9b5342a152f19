"""Public links: made, listed and revoked."""

import secrets
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor, demand_no_sandbox
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.text.hashes import digest, instant, instant_or_none
from loom.trees.erasing import MAX_DAYS, MAX_OPEN
from loom.trees.models import PublicLink, Tree


def make_public_link(actor: Actor, tree: Tree, *, days: float) -> tuple[PublicLink, str]:
    """A new link and its secret, which is shown only once. For owners."""
    args = PublicLinkArgs(days=days)
    return execute(actor, tree, _make_public_link, args)


class PublicLinkArgs(Args):
    """How long a public link lasts."""

    days: float


@action("make_public_link", stream="tree", role="owner")
def _make_public_link(change: RunningAction, args: PublicLinkArgs) -> tuple[PublicLink, str]:
    """Makes a link with which anybody can read a tree for some days."""
    demand_no_sandbox(change.tree)
    if not args.days > 0:
        raise CommandError("INVALID_SYNTAX", "A link must expire in the future.", hint="try 7 days")
    if args.days > MAX_DAYS:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A link can last at most {MAX_DAYS} days.", hint="try 7 days"
        )
    if open_links(change.actor, change.tree).count() >= MAX_OPEN:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A tree has at most {MAX_OPEN} open links.", hint="revoke one first"
        )
    secret = secrets.token_urlsafe(32)
    link = PublicLink.objects.create(
        tree=change.tree,
        digest=digest(secret),
        made_by=change.actor.participant,
        expires_at=change.now + timedelta(days=args.days),
    )
    return link, secret


def open_links(actor: Actor, tree: Tree) -> QuerySet[PublicLink]:
    """The links that can still be used for the tree, oldest first. For owners."""
    access.demand_role(actor, "owner")
    rows = PublicLink.objects.filter(tree=tree).select_related("made_by")
    return rows.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


def revoke_public_link(actor: Actor, tree: Tree, uid: str) -> PublicLink:
    """Revokes a link; NOT_FOUND if it is not the tree's or has ended. For owners."""
    return execute(actor, tree, _revoke_public_link, PublicLinkNamed(link=uid))


class PublicLinkNamed(Args):
    """A public link, by id."""

    link: str


@action("revoke_public_link", stream="tree", role="owner")
def _revoke_public_link(change: RunningAction, args: PublicLinkNamed) -> PublicLink:
    """Revokes a public link."""
    open_ones = PublicLink.objects.filter(tree=change.tree, revoked_at__isnull=True)
    link = open_ones.filter(uid=args.link).select_related("made_by").first()
    if link is None:
        raise not_found("This link")
    link.revoked_at = change.now
    link.save(update_fields=["revoked_at"])
    return link


def public_link_body(link: PublicLink) -> dict[str, object]:
    """A link as the API shows it; never its secret."""
    return {
        "id": link.uid,
        "made_by": link.made_by.uid,
        "created_at": instant(link.created_at),
        "expires_at": instant(link.expires_at),
        "revoked_at": instant_or_none(link.revoked_at),
    }


# Fields of trees, archiving, and erasing. Nodes are written by `node_writer`.


STEERING = ("memory", "author_note", "note_depth", "lore_scan", "lore_budget")
FIELDS = ("title", "description", "system_context", "summary", "truncation", *STEERING)
MAX_TITLE = 300
MAX_FOLDER = 80
LOOKED_THROUGH = 50  # events that are searched for who changed a field last
RANGES = {"note_depth": (1, 100), "lore_scan": (1, 100_000), "lore_budget": (0, 100_000)}
SAID = {
    "title": "the title",
    "description": "the description",
    "system_context": "the instructions for models",
    "summary": "the summary",
    "truncation": "what is done about paths that are too long",
    "folder": "the folder",
    "memory": "the memory",
    "author_note": "the author's note",
    "note_depth": "the place of the author's note",
    "lore_scan": "how far back lore looks for its keys",
    "lore_budget": "the budget of lore",
}
