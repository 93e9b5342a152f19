"""E-mail to members, if the operator set up a server for it (`HEDDLE_MAIL_URL`). An address is used
once the link that was sent there was opened."""

import logging
import smtplib
from urllib.parse import quote

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.utils.translation import gettext, override

from loom.engine.kept_jobs import enqueue_kept
from loom.errors import CommandError
from loom.people.models import User
from loom.text.hashes import digest

log = logging.getLogger("heddle.mail")
SALT = "heddle.mail"
CONFIRMED_WITHIN_S = 24 * 3600
MOST_LINKS = 5  # of one person in an hour
AGAIN_MINUTES = 5  # between two links to one address


def is_on() -> bool:
    """Whether e-mail can be sent."""
    return bool(settings.MAIL_FROM)


def address_of(path: str) -> str:
    """The whole address of a page, for a mail."""
    return f"{settings.ORIGINS[0].rstrip('/')}{path}" if settings.ORIGINS else path


def send(user: User, subject: str, body: str, *, to: str = "") -> bool:
    """Sends a mail to the user, or to the address `to`; False if the server did not take it."""
    line = " ".join(subject.split())
    mail = EmailMessage(line, body, settings.MAIL_FROM, [to or user.email])
    mail.extra_headers["Auto-Submitted"] = "auto-generated"
    try:
        mail.send()
    except (OSError, smtplib.SMTPException) as error:
        log.warning("could not send a mail: %s", type(error).__name__)
        return False
    return True


def ask_for(user: User, address: str) -> None:
    """Sends a link to an address that the user gave; it is theirs once they open it. LIMIT_EXCEEDED
    for more than a few links: the address may be that of a stranger."""
    if not is_on():
        raise CommandError("UNAVAILABLE", "No e-mail is sent here.", hint="ask the operator")
    try:
        validate_email(address)
    except ValidationError:
        raise CommandError(
            "INVALID_SYNTAX", "This is no e-mail address.", hint="Write it as ada@example.org."
        ) from None
    try:
        _demand_few(user, address)
    except CommandError:
        raise
    except Exception as error:  # nobody is written to without being counted
        raise CommandError(
            "UNAVAILABLE",
            gettext("No e-mail can be sent at the moment."),
            hint=gettext("Try again in a moment."),
            retryable=True,
        ) from error
    enqueue_kept("loom.tasks.confirm_address", [user.pk, address], queue="transfer")


def _demand_few(user: User, address: str) -> None:
    """Counts a link; refuses one to an address that was sent one a moment ago, by whomever, and
    too many of one person."""
    sent_to = f"mail:link:{digest(address.casefold())}"
    if not cache.add(sent_to, 1, AGAIN_MINUTES * 60):
        raise CommandError(
            "LIMIT_EXCEEDED",
            gettext("A link was sent to this address a moment ago."),
            hint=gettext("Look for it, or ask again in %(minutes)s minutes.")
            % {"minutes": AGAIN_MINUTES},
        )
    asked = f"mail:links:{user.pk}"
    cache.add(asked, 0, 3600)
    if cache.incr(asked) > MOST_LINKS:
        cache.delete(sent_to)
        raise CommandError(
            "LIMIT_EXCEEDED",
            gettext("You have asked for too many links."),
            hint=gettext("Ask again in an hour."),
        )


def send_link(user_id: int, address: str) -> None:
    """Sends the link that confirms an address."""
    user = User.objects.get(pk=user_id)
    secret = signing.dumps([user.pk, address], salt=SALT)
    with override(user.likes.language or None):
        body = gettext(
            "%(name)s wants to be written to at this address when somebody mentions them.\n\n"
            "If that is you, open this link within a day:\n%(link)s\n\n"
            "If it is not, do nothing."
        ) % {"name": user, "link": address_of(f"/settings?address={quote(secret)}")}
        send(user, gettext("Your address at Heddle"), body, to=address)


def address_in(user: User, secret: str) -> str:
    """The address that a link confirms for the user; "" if it is no link of theirs."""
    try:
        of, address = signing.loads(secret, salt=SALT, max_age=CONFIRMED_WITHIN_S)
    except (signing.BadSignature, TypeError, ValueError):
        return ""
    return str(address) if of == user.pk else ""


def use_address(user: User, secret: str) -> None:
    """Keeps the address of a link that the user has opened."""
    address = address_in(user, secret)
    if not address:
        raise CommandError(
            "REJECTED",
            "This link is too old, or it was for somebody else.",
            hint="Ask for another.",
        )
    _keep(user, address)


def forget_address(user: User) -> None:
    """Writes to the user no more."""
    _keep(user, "")


def _keep(user: User, address: str) -> None:
    User.objects.filter(pk=user.pk).update(email=address)
    user.email = address
