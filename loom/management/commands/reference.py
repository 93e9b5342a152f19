"""`manage.py reference`: prints docs/commands.md."""

from typing import Any

from django.core.management.base import BaseCommand

from loom.engine.command_reference import reference


class Command(BaseCommand):
    """Prints the reference of all commands as Markdown."""

    help = "Prints the reference of all commands, for docs/commands.md."

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes it to standard output."""
        self.stdout.write(reference(), ending="")
