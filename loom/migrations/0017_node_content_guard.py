"""A node's content, author, place and hash never change: a trigger holds it.

SQLite rebuilds a table by copying it, which drops its triggers: a later migration that
changes loom_node there makes this one again (tests/queries/test_triggers.py notices when it
is missing). Rows may be deleted, as erasing a tree does.
"""

from django.db import migrations

FIXED = """tree_id local_id kind form text blocks length author_id edited_from_id slot_id
    parent_slot_id depth parent_hash hash configuration call_uid generation_uid finish
    created_at proof_author imported""".split()
MESSAGE = "the content of a node is never changed"

SQLITE = f"""CREATE TRIGGER loom_node_no_change BEFORE UPDATE OF {", ".join(FIXED)} ON loom_node
WHEN {" OR ".join(f"old.{one} IS NOT new.{one}" for one in FIXED)} BEGIN
    SELECT RAISE(ABORT, '{MESSAGE}');
END"""
FUNCTION = f"""CREATE FUNCTION loom_node_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';
END $$"""
POSTGRES = f"""CREATE TRIGGER loom_node_no_change BEFORE UPDATE OF {", ".join(FIXED)} ON loom_node
FOR EACH ROW WHEN ({" OR ".join(f"OLD.{one} IS DISTINCT FROM NEW.{one}" for one in FIXED)})
EXECUTE FUNCTION loom_node_guard()"""


def forward(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(FUNCTION, params=None)
        schema_editor.execute(POSTGRES, params=None)
    else:
        schema_editor.execute(SQLITE, params=None)


def back(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER loom_node_no_change ON loom_node", params=None)
        schema_editor.execute("DROP FUNCTION loom_node_guard()", params=None)
    else:
        schema_editor.execute("DROP TRIGGER loom_node_no_change", params=None)


class Migration(migrations.Migration):
    dependencies = [("loom", "0016_mark_imported_nodes")]

    operations = [migrations.RunPython(forward, back)]
