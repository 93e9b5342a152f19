"""An event is never changed, and deleted only where its stream is erased, or up to the floor of its
stream, when old events are trimmed.

SQLite rebuilds a table by copying it, which drops its triggers: a later migration that changes
engine_event there makes them again (tests/queries/test_triggers.py notices when one is missing).
"""

from django.db import migrations

SQLITE = [
    """CREATE TRIGGER engine_event_no_update BEFORE UPDATE ON engine_event BEGIN
        SELECT RAISE(ABORT, 'events are never changed');
    END""",
    """CREATE TRIGGER engine_event_no_delete BEFORE DELETE ON engine_event
    WHEN NOT EXISTS (SELECT 1 FROM engine_stream
        WHERE id = old.stream_id AND (erasing OR floor >= old.seq)) BEGIN
        SELECT RAISE(ABORT, 'events are deleted only where their stream is being erased or trimmed');
    END""",
]
SQLITE_BACK = ["DROP TRIGGER engine_event_no_delete", "DROP TRIGGER engine_event_no_update"]
POSTGRES = [
    """CREATE FUNCTION engine_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            RAISE EXCEPTION 'events are never changed'
                USING ERRCODE = 'integrity_constraint_violation';
        ELSIF NOT EXISTS (SELECT 1 FROM engine_stream
            WHERE id = OLD.stream_id AND (erasing OR floor >= OLD.seq)) THEN
            RAISE EXCEPTION 'events are deleted only where their stream is being erased or trimmed'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN OLD;
    END $$""",
    """CREATE TRIGGER engine_event_append_only BEFORE UPDATE OR DELETE ON engine_event
    FOR EACH ROW EXECUTE FUNCTION engine_event_guard()""",
]
POSTGRES_BACK = [
    "DROP TRIGGER engine_event_append_only ON engine_event",
    "DROP FUNCTION engine_event_guard()",
]


def forward(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for statement in POSTGRES if postgres else SQLITE:
        schema_editor.execute(statement, params=None)


def back(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for statement in POSTGRES_BACK if postgres else SQLITE_BACK:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("engine", "0002_initial")]

    operations = [migrations.RunPython(forward, back)]
