"""Search by trigrams, and a trigger that refuses changes of a node's content.

SQLite's index keeps which texts hold a trigram, and not where: positions cost 2.4 bytes for
each byte of text, and what holds all trigrams of a query is compared with the query itself
anyway. SQLite rebuilds a table by copying it, which drops its triggers: a later migration that
changes trees_node there makes them again (tests/queries/test_triggers.py notices when one is
missing). Rows may be deleted, as erasing a tree does.
"""

from django.db import migrations

FIXED = """tree_id local_id kind form text blocks length author_id edited_from_id slot_id
    parent_slot_id depth parent_hash hash configuration call_uid generation_uid finish
    created_at proof_author imported""".split()
MESSAGE = "the content of a node is never changed"
SQLITE = [
    """CREATE VIRTUAL TABLE trees_node_fts USING fts5(
        text, content='trees_node', content_rowid='id', tokenize='trigram', detail=none,
        columnsize=0)""",
    """CREATE TRIGGER trees_node_fts_insert AFTER INSERT ON trees_node BEGIN
        INSERT INTO trees_node_fts(rowid, text) VALUES (new.id, new.text);
    END""",
    """CREATE TRIGGER trees_node_fts_delete AFTER DELETE ON trees_node BEGIN
        INSERT INTO trees_node_fts(trees_node_fts, rowid, text)
        VALUES ('delete', old.id, old.text);
    END""",
    """CREATE TRIGGER trees_node_fts_update AFTER UPDATE OF text ON trees_node BEGIN
        INSERT INTO trees_node_fts(trees_node_fts, rowid, text)
        VALUES ('delete', old.id, old.text);
        INSERT INTO trees_node_fts(rowid, text) VALUES (new.id, new.text);
    END""",
    f"""CREATE TRIGGER trees_node_no_change BEFORE UPDATE OF {", ".join(FIXED)} ON trees_node
    WHEN {" OR ".join(f"old.{name} IS NOT new.{name}" for name in FIXED)} BEGIN
        SELECT RAISE(ABORT, '{MESSAGE}');
    END""",
]
SQLITE_BACK = [
    "DROP TRIGGER trees_node_no_change",
    "DROP TRIGGER trees_node_fts_update",
    "DROP TRIGGER trees_node_fts_delete",
    "DROP TRIGGER trees_node_fts_insert",
    "DROP TABLE trees_node_fts",
]
POSTGRES = [
    "CREATE INDEX trees_node_trigrams ON trees_node USING gin (text gin_trgm_ops)",
    f"""CREATE FUNCTION trees_node_guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';
    END $$""",
    f"""CREATE TRIGGER trees_node_no_change BEFORE UPDATE OF {", ".join(FIXED)} ON trees_node
    FOR EACH ROW WHEN ({" OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in FIXED)})
    EXECUTE FUNCTION trees_node_guard()""",
]
POSTGRES_BACK = [
    "DROP TRIGGER trees_node_no_change ON trees_node",
    "DROP FUNCTION trees_node_guard()",
    "DROP INDEX trees_node_trigrams",
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
    dependencies = [("trees", "0001_initial")]

    operations = [migrations.RunPython(forward, back)]
