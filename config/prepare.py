"""`python -m config.prepare`: backup, migrations and the first start, in one process.

Run by script/server before anything else is started. Its output is shown to the person.
"""

import os
import sys
from datetime import UTC, datetime

import django


def main() -> None:
    """Brings the database up to date; a new one gets its owner and first grove."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management.base import CommandError

    from config.reaching import demand_reachable
    from loom.management.alone import alone

    demand_reachable()
    try:
        with alone():  # the others find it done
            _prepare()
    except CommandError as refused:
        sys.exit(str(refused))


def _prepare() -> None:
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    from loom.management.commands.takeover import is_of_the_build_before
    from loom.management.tables import demand_not_newer, demand_whole

    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    if is_of_the_build_before():
        call_command("takeover")
    executor = MigrationExecutor(connection)
    demand_not_newer(executor.loader)
    must_migrate = bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if must_migrate and executor.loader.applied_migrations:  # there is something to back up
        folder = settings.DATA_DIR / "backups"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.backup"
        call_command("backup", str(file))
        sys.stdout.write(f"The database was saved to {file} before its tables change.\n")
    if must_migrate:
        call_command("migrate", verbosity=0, interactive=False)
    demand_whole()
    call_command("firststart")


if __name__ == "__main__":
    main()
