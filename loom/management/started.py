"""Commands that need a data folder in which Heddle was started once."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder


class StartedCommand(BaseCommand):
    """Says what to do where there is no Heddle yet, before a table is missed."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Runs the command. CommandError where the database is empty."""
        if not MigrationRecorder(connection).applied_migrations():
            raise CommandError(
                f"There is no Heddle in {settings.DATA_DIR} yet. Start script/server once, or "
                "name its folder in HEDDLE_DATA."
            )
        return super().execute(*args, **options)
