"""Making, changing, stopping and removing webhooks. For owners."""

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from agents.webhooks import signing
from agents.webhooks.models import Webhook
from loom import access
from loom.engine import streams
from loom.engine.event_kinds import StreamKind, kinds_of
from loom.engine.models import Stream
from loom.errors import CommandError, not_found
from loom.participants.addresses import BadUrl, read_url, why_refused
from loom.participants.provider_keys import open_sealed, seal
from loom.people.models import User

MOST = 20  # webhooks of one grove
MOST_KINDS = 40
FORMER_LASTS = timedelta(hours=24)


def webhooks_of(user: User, grove_uid: str) -> QuerySet[Webhook]:
    """The webhooks of a grove, for its owners."""
    _, grove = access.get_grove(user, grove_uid, role="owner")
    return Webhook.objects.filter(grove=grove).select_related("grove", "tree")


def get_webhook(user: User, uid: str) -> Webhook:
    """A webhook, for an owner of its grove; NOT_FOUND for anybody who is no member."""
    webhook = Webhook.objects.filter(uid=uid).select_related("grove", "tree", "maker").first()
    if webhook is None:
        raise not_found("This webhook")
    try:
        actor = access.get_actor(user, webhook.grove)
    except CommandError:
        raise not_found("This webhook") from None
    access.demand_role(actor, "owner")
    return webhook


def make_webhook(
    user: User, grove_uid: str, *, url: str, tree: str = "", kinds: Sequence[str] = ()
) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is shown only once. It sends what happens from now on."""
    actor, grove = access.get_grove(user, grove_uid, role="owner")
    target = None
    if tree:
        _, target = access.get_tree(user, tree, role="owner")
        if target.grove_id != grove.pk:
            raise not_found("This tree")
    url = demand_url(url)
    kinds = demand_kinds(kinds, "tree" if target else "grove")
    if Webhook.objects.filter(grove=grove).count() >= MOST:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A grove has at most {MOST} webhooks.",
            hint="remove one that is not needed",
        )
    name = streams.name_of(target or grove)
    head = Stream.objects.filter(name=name).values_list("head", flat=True).first() or 0
    secret = _fresh_secret()
    webhook = Webhook.objects.create(
        grove=grove,
        tree=target,
        url=url,
        kinds=kinds,
        maker=actor.participant,
        sealed_secret=seal(secret, url),
        cursor=head,
    )
    return webhook, secret


def _fresh_secret() -> str:
    return signing.secret_from(secrets.token_bytes(signing.SECRET_BYTES))


def demand_url(url: str) -> str:
    """The address, if events may be sent there: a public one with https, or what
    HEDDLE_PROVIDER_ALLOW names. The address behind a name is checked at each request."""
    bare = url.partition("?")[0]
    if "#" in url:
        raise CommandError(
            "INVALID_SYNTAX", "A # is for browsers alone.", hint="leave out what begins with it"
        )
    try:
        read_url(bare)
    except BadUrl as bad:
        raise CommandError("INVALID_SYNTAX", str(bad), hint="send an https address") from None
    if sentence := why_refused(bare, settings.PROVIDER_ALLOW):
        raise CommandError(
            "REJECTED", sentence, hint="send an https address, or add the line and restart Heddle"
        )
    if len(url) > 500 or not url.isprintable():
        raise CommandError("INVALID_SYNTAX", "This address is too long.", hint="shorten it")
    return url


def demand_kinds(kinds: Sequence[str], stream: StreamKind) -> list[str]:
    """The kinds, if all are kinds of events of such a stream: others would never be sent."""
    if len(kinds) > MOST_KINDS:
        raise CommandError(
            "INVALID_SYNTAX", f"There are at most {MOST_KINDS} kinds.", hint="send none for all"
        )
    known = sorted(kinds_of(stream))
    for kind in kinds:
        if kind not in known:
            noun = f"{kind.partition('.')[0]}."
            near = [name for name in known if name.startswith(noun)] or known
            raise CommandError(
                "INVALID_SYNTAX",
                f"{kind[:40]!r} is no kind of event of a {stream}.",
                hint=f"there are {', '.join(near)}",
            )
    return sorted(set(kinds))


def change_webhook(
    user: User,
    uid: str,
    *,
    kinds: Sequence[str] | None = None,
    is_stopped: bool | None = None,
) -> Webhook:
    """Changes which kinds are sent, stops a webhook, or goes on where it stopped."""
    webhook = get_webhook(user, uid)
    if kinds is not None:
        webhook.kinds = demand_kinds(kinds, "tree" if webhook.tree else "grove")
    if is_stopped is not None:
        webhook.stopped_at = timezone.now() if is_stopped else None
        # One that failed is served with those that fail, until it succeeds.
        webhook.tries = min(webhook.tries, 1)
        webhook.failing_since, webhook.due_at, webhook.error = None, None, ""
    webhook.save(update_fields=["kinds", "stopped_at", "tries", "failing_since", "due_at", "error"])
    return webhook


def rotate_secret(user: User, uid: str) -> tuple[Webhook, str]:
    """A new secret, shown only once; the former one signs beside it for a day."""
    webhook = get_webhook(user, uid)
    secret = _fresh_secret()
    webhook.sealed_former = webhook.sealed_secret
    webhook.former_until = timezone.now() + FORMER_LASTS
    webhook.sealed_secret = seal(secret, webhook.url)
    webhook.save(update_fields=["sealed_former", "former_until", "sealed_secret"])
    return webhook, secret


def remove_webhook(user: User, uid: str) -> None:
    """Removes a webhook."""
    get_webhook(user, uid).delete()


def secrets_of(webhook: Webhook) -> list[str]:
    """The secrets that sign now, the newest first. Raises CommandError if the installation's secret
    has changed."""
    opened = [open_sealed(webhook.sealed_secret, webhook.url)]
    if webhook.former_until is not None and webhook.former_until > timezone.now():
        opened.append(open_sealed(webhook.sealed_former, webhook.url))
    return opened
