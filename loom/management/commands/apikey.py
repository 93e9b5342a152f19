"""`manage.py apikey USER NAME [--scope read|write|owner] [--days N]`: a new API key."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from loom.errors import CommandError as Refusal
from loom.management.shell import StartedCommand
from loom.people.commands import accounts as people
from loom.permissions import SCOPES


class Command(StartedCommand):
    """Creates an API key and prints it, on the last line."""

    help = "Makes an API key for a user and prints it once, alone on the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        """USER, NAME, the key's scope and its lifetime."""
        parser.add_argument("user")
        parser.add_argument("name")
        parser.add_argument(
            "--scope",
            choices=SCOPES,
            default="owner",
            help="what it may do at most: look, write, or all that the user may (owner)",
        )
        parser.add_argument("--days", type=int, help="days until it expires (default: never)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the key; only its digest is stored."""
        user = people.find_user(options["user"])
        if user is None:
            raise CommandError(f"There is no user {options['user']!r}. Create one with adduser.")
        try:
            _, secret = people.make_key(
                user, options["name"], scope=options["scope"], days=options["days"]
            )
        except Refusal as refused:
            raise CommandError(f"{refused.message} {refused.hint}") from None
        self.stdout.write(f"A key for {user.username}. It is shown this once:")
        self.stdout.write(secret)
