"""`manage.py operator NAME [--remove]`: who sees the pages of an operator."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from loom.errors import CommandError as Refusal
from loom.management.shell import StartedCommand
from loom.operations.commands import make_operator
from loom.people.commands import accounts


class Command(StartedCommand):
    """Makes a user an operator, or one no longer."""

    help = "Makes a user an operator, who sees /operator: people, groves, work, sizes and costs."

    def add_arguments(self, parser: CommandParser) -> None:
        """NAME and --remove."""
        parser.add_argument("name")
        parser.add_argument("--remove", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what the user is now."""
        user = accounts.find_user(options["name"])
        if user is None:
            raise CommandError(f"There is no user {options['name']!r}. Create one with adduser.")
        try:
            make_operator(user, really=not options["remove"])
        except Refusal as refused:
            raise CommandError(f"{refused.message} {refused.hint}") from None
        now = "is an operator" if user.is_operator else "is no operator any more"
        self.stdout.write(f"{user.username} {now}.")
