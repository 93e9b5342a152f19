"""`manage.py adduser NAME [--grove G --role R]`: a new user and a one-time sign-in link."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from loom.errors import CommandError as Refusal
from loom.management.shell import StartedCommand, signin_link
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import Grove
from loom.permissions import ROLES


class Command(StartedCommand):
    """Creates a user, as a member of a grove or with a new one, and prints a link that works
    once."""

    help = "Makes a user and prints a one-time sign-in link (24 hours)."

    def add_arguments(self, parser: CommandParser) -> None:
        """NAME, --grove (id or name) and --role."""
        parser.add_argument("name")
        parser.add_argument("--grove", default="")
        parser.add_argument("--role", default="", choices=ROLES, help="default: writer")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the link, on the last line."""
        if options["role"] and not options["grove"]:
            raise CommandError("--role is a role in a grove: name it with --grove.")
        try:
            grove = self._grove(options["grove"])
            with transaction.atomic():
                user = people.make_user(options["name"])
                if grove is not None:
                    groves.join(grove, user, options["role"] or "writer")
                else:
                    groves.make_grove(user, f"{user.username}'s grove")
        except Refusal as refused:
            raise CommandError(f"{refused.message} {refused.hint}") from None
        self.stdout.write(f"{user.username} signs in once, within 24 hours, at")
        self.stdout.write(signin_link(user))

    def _grove(self, named: str) -> Grove | None:
        if not named:
            return None
        grove = (
            Grove.objects.filter(uid=named).first()
            or Grove.objects.filter(name__iexact=named).first()
        )
        if grove is None:
            raise CommandError(f"There is no grove {named!r}.")
        return grove
