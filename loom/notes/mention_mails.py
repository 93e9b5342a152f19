"""Mails about mentions that somebody has not seen for a while, one for all of a person's."""

import time
from collections import defaultdict
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.translation import gettext, ngettext, override

from loom import access
from loom.engine.kept_jobs import enqueue_kept
from loom.engine.sweeps import sweeps
from loom.notes import mentions
from loom.notes.models import Mention
from loom.people import mail
from loom.people.models import Membership, User
from loom.text.shortening import excerpt

REST = timedelta(minutes=2)  # who is here sees it in this time
OLDEST = timedelta(days=1)
MOST = 100  # mentions of one round
QUOTED = 40  # words of a note
AFTER_FAILURE_S = 300.0
_failed_at = -AFTER_FAILURE_S


@sweeps
def mail_unseen() -> int:
    """Hands over mentions that were not seen in two minutes, of those who gave an address; returns
    how many. Reads only mentions of the last day that nobody was written to about."""
    if not mail.is_on() or time.monotonic() - _failed_at < AFTER_FAILURE_S:
        return 0
    now = timezone.now()
    reachable = Membership.objects.filter(participant=OuterRef("participant")).exclude(
        user__email=""
    )
    rows = Mention.objects.filter(
        seen_at__isnull=True, mailed_at__isnull=True, at__gt=now - OLDEST, at__lt=now - REST
    )
    rows = rows.annotate(user=Subquery(reachable.values("user")[:1])).filter(user__isnull=False)
    of_user: dict[int, list[int]] = defaultdict(list)
    for user, key in rows.order_by("at").values_list("user", "pk")[:MOST]:
        of_user[user].append(key)
    return sum(_hand_over(user, keys, now) for user, keys in of_user.items())


def _hand_over(user: int, keys: list[int], now: datetime) -> int:
    """Has a worker write to somebody; how many of the mentions this round was the first to mark:
    two workers may look at the same time."""
    with transaction.atomic():
        taken = [
            key
            for key in keys
            if Mention.objects.filter(pk=key, mailed_at__isnull=True).update(mailed_at=now)
        ]
        if taken:
            enqueue_kept("loom.tasks.mail_mentions", [user, taken], queue="transfer")
    return len(taken)


def send(user: int, keys: list[int]) -> None:
    """Writes to somebody once about these mentions, as far as they stand and they may still read
    them. What the server does not take is tried again later."""
    global _failed_at  # noqa: PLW0603 (of this process, which sends)
    rows = mentions.standing(Mention.objects.filter(pk__in=keys, seen_at__isnull=True))
    rows = Mention.objects.filter(pk__in=mentions.shown_of(rows))
    own = list(rows.select_related("tree", "node__author").order_by("at"))
    who = User.objects.filter(pk=user, is_active=True).exclude(email="").first()
    if who is None or not own:
        return
    seen = access.visible_trees(who).filter(pk__in={mention.tree_id for mention in own})
    trees = set(seen.values_list("pk", flat=True))
    readable = [mention for mention in own if mention.tree_id in trees]
    if readable and not _tell(who, readable):
        _failed_at = time.monotonic()
        Mention.objects.filter(pk__in=[mention.pk for mention in readable]).update(mailed_at=None)


def _tell(user: User, readable: list[Mention]) -> bool:
    with override(user.likes.language or None):
        subject = ngettext("%(name)s mentioned you", "%(n)s new mentions", len(readable)) % {
            "name": readable[0].node.author.name,
            "n": len(readable),
        }
        parts = [
            "{name}, “{tree}”:\n{words}\n{link}".format(
                name=mention.node.author.name,
                tree=mention.tree.title or gettext("Untitled tree"),
                words=excerpt(mention.node.text, QUOTED),
                link=mail.address_of(f"/trees/{mention.tree.uid}?node={mention.node.local_id}"),
            )
            for mention in readable
        ]
        end = gettext("You get this because your address is in your settings: %(link)s") % {
            "link": mail.address_of("/settings")
        }
        return mail.send(user, subject, "\n\n".join([*parts, end]))
