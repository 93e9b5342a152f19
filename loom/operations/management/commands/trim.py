"""`manage.py trim [--dry-run]`: trims old rows by the operator's rules, or counts them."""

from typing import Any

from django.core.management.base import CommandParser
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from loom.management.shell import StartedCommand
from loom.operations import trim

ALL_DAY_S = 24 * 3600


class Command(StartedCommand):
    """Trims by the rules of /operator/storage, as the worker does each hour."""

    help = "Trims old events, steps, requests and updates by the operator's rules."

    def add_arguments(self, parser: CommandParser) -> None:
        """--dry-run."""
        parser.add_argument("--dry-run", action="store_true", help="only say what it would free")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each rule."""
        if options["dry_run"]:
            now = timezone.now()
            for state in trim.states():
                old = state.rule.count(state.before(now))
                size = filesizeformat(old.bytes).replace("\xa0", " ")
                kept = f"{state.days} days"
                if not state.days:
                    kept = f"for ever; older than {trim.EXAMPLE_DAYS} days"
                self.stdout.write(f"{state.rule.name} ({kept}): {old.rows} rows, {size}")
            return
        gone = trim.trim(seconds=ALL_DAY_S)
        for state in trim.states():
            self.stdout.write(f"{state.rule.name}: {gone.get(state.rule.name, 0)} rows")
