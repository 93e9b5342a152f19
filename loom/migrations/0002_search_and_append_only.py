"""Search by trigrams, the index of what is seen below a slot, and a log that only grows.

SQLite rebuilds a table by copying it, which drops its triggers: a later migration that
changes loom_node or loom_event there makes them again (tests/queries/test_triggers.py
notices when one is missing).
"""

from django.db import migrations, models

SQLITE = [
    """CREATE VIRTUAL TABLE loom_node_fts USING fts5(
        text, content='loom_node', content_rowid='id', tokenize='trigram')""",
    """CREATE TRIGGER loom_node_fts_insert AFTER INSERT ON loom_node BEGIN
        INSERT INTO loom_node_fts(rowid, text) VALUES (new.id, new.text);
    END""",
    """CREATE TRIGGER loom_node_fts_delete AFTER DELETE ON loom_node BEGIN
        INSERT INTO loom_node_fts(loom_node_fts, rowid, text) VALUES ('delete', old.id, old.text);
    END""",
    """CREATE TRIGGER loom_node_fts_update AFTER UPDATE OF text ON loom_node BEGIN
        INSERT INTO loom_node_fts(loom_node_fts, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO loom_node_fts(rowid, text) VALUES (new.id, new.text);
    END""",
    "INSERT INTO loom_node_fts(loom_node_fts) VALUES ('rebuild')",
    """CREATE TRIGGER loom_event_no_update BEFORE UPDATE ON loom_event BEGIN
        SELECT RAISE(ABORT, 'events are never changed');
    END""",
    """CREATE TRIGGER loom_event_no_delete BEFORE DELETE ON loom_event
    WHEN NOT EXISTS (SELECT 1 FROM loom_stream WHERE id = old.stream_id AND erasing) BEGIN
        SELECT RAISE(ABORT, 'events are deleted only where their stream is being erased');
    END""",
]
SQLITE_BACK = [
    "DROP TRIGGER loom_event_no_delete",
    "DROP TRIGGER loom_event_no_update",
    "DROP TRIGGER loom_node_fts_update",
    "DROP TRIGGER loom_node_fts_delete",
    "DROP TRIGGER loom_node_fts_insert",
    "DROP TABLE loom_node_fts",
]
POSTGRES = [
    "CREATE INDEX loom_node_trigrams ON loom_node USING gin (text gin_trgm_ops)",
    """CREATE FUNCTION loom_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            RAISE EXCEPTION 'events are never changed'
                USING ERRCODE = 'integrity_constraint_violation';
        ELSIF NOT EXISTS (SELECT 1 FROM loom_stream WHERE id = OLD.stream_id AND erasing) THEN
            RAISE EXCEPTION 'events are deleted only where their stream is being erased'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN OLD;
    END $$""",
    """CREATE TRIGGER loom_event_append_only BEFORE UPDATE OR DELETE ON loom_event
    FOR EACH ROW EXECUTE FUNCTION loom_event_guard()""",
]
POSTGRES_BACK = [
    "DROP TRIGGER loom_event_append_only ON loom_event",
    "DROP FUNCTION loom_event_guard()",
    "DROP INDEX loom_node_trigrams",
]
HOW = (
    "Heddle's search needs the PostgreSQL extension pg_trgm, and this database user may not "
    "create it. Let an administrator run CREATE EXTENSION pg_trgm; in this database (it comes "
    "with PostgreSQL; Debian's package is postgresql-contrib), then migrate again."
)


class ExtensionMissing(Exception):
    """Ends the migration with the sentence that says what to do."""


def _extension(schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        if cursor.fetchone():
            return
        cursor.execute(
            """SELECT EXISTS (SELECT 1 FROM pg_available_extension_versions
                WHERE name = 'pg_trgm' AND (trusted OR NOT superuser))
                AND has_database_privilege(current_database(), 'CREATE')
            OR (EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm')
                AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))"""
        )
        if not cursor.fetchone()[0]:
            raise ExtensionMissing(HOW)
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")


def forward(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    if postgres:
        _extension(schema_editor)
    for statement in POSTGRES if postgres else SQLITE:
        schema_editor.execute(statement, params=None)


def back(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for statement in POSTGRES_BACK if postgres else SQLITE_BACK:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("loom", "0001_initial")]

    operations = [
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                condition=models.Q(("pruned", False), ("slot", models.F("id"))),
                fields=["parent_slot", "kind", "id"],
                name="node_seen_below",
            ),
        ),
        migrations.RunPython(forward, back),
    ]
