"""Whether the tables of the database are those of this version, looked at on every start: rather no
start than one that says "ready" and refuses every request."""

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

_SQLITE = """
    SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
    WHERE t.type = 'table'
"""
_POSTGRESQL = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = ANY (current_schemas(FALSE))
"""


def demand_not_newer(loader: MigrationLoader) -> None:
    """Raises CommandError if a newer version has changed the tables: this one does not know what
    they hold. Apps that are not installed here are of no concern."""
    newer = [
        f"{app}.{name}"
        for app, name in sorted(loader.applied_migrations)
        if app in loader.migrated_apps and (app, name) not in loader.disk_migrations
    ]
    if newer:
        raise CommandError(
            f"A newer version of Heddle has changed this database ({newer[0]}). Start that version,"
            " or restore a backup from before it."
        )


def demand_whole() -> None:
    """Raises CommandError if a table or column of this version is missing though every migration
    has run, as in a database of a build whose first migrations were others."""
    with connection.cursor() as cursor:
        cursor.execute(_POSTGRESQL if connection.vendor == "postgresql" else _SQLITE)
        there = set(cursor.fetchall())
    missing = [
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
        for field in model._meta.local_concrete_fields
        if (model._meta.db_table, field.column) not in there
    ]
    if missing:
        raise CommandError(
            f"The tables of this database are not those of this version: {missing[0]} is missing"
            f"{f', and {len(missing) - 1:,} more columns' if missing[1:] else ''}. It was made by a"
            " build whose tables cannot be changed into these. Restore a backup from before with"
            " the version that wrote it (docs/operating.md, Upgrades), and export its trees as"
            " Heddle JSON."
        )
