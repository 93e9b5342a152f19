"""`manage.py signin NAME`: another one-time sign-in link."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from loom.management.shell import StartedCommand, signin_link
from loom.people.commands import accounts as people


class Command(StartedCommand):
    """Prints a link that signs a user in once."""

    help = "Prints a one-time sign-in link (24 hours)."

    def add_arguments(self, parser: CommandParser) -> None:
        """NAME."""
        parser.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the link, on the last line."""
        user = people.find_user(options["name"])
        if user is None:
            raise CommandError(f"There is no user {options['name']!r}. Create one with adduser.")
        self.stdout.write(signin_link(user))
