"""`manage.py loom LINE`: runs one command line from the shell."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from loom.errors import CommandError
from loom.management.shell import StartedCommand, say


class Command(StartedCommand):
    """Runs a line and prints its reply; the exit code is 0, or 1 if it was refused."""

    help = (
        'Runs a line, such as "view here", and prints its reply. Refusals go to standard error '
        'with exit code 1. "help" lists all lines; - reads the line from standard input.'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """LINE, and where and as whom it is run."""
        parser.add_argument("line", help="the line, with or without its arrow; - for stdin")
        parser.add_argument("--tree", default="", help="id or title; default: the last used")
        parser.add_argument("--as", dest="by", default="", help='USER or agent:"name"')
        parser.add_argument("--at", default="", help="what `here` means: a node's id")
        parser.add_argument("--dry-run", action="store_true", help="only report what would happen")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the reply."""
        line = sys.stdin.read() if options["line"] == "-" else options["line"]
        try:
            answer = say(
                line,
                tree=options["tree"],
                by=options["by"],
                at=options["at"],
                dry_run=options["dry_run"],
            )
        except CommandError as refused:
            self.stderr.write(refused.reply, style_func=str)
            sys.exit(1)
        self.stdout.write(answer.reply)
