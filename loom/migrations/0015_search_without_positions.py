"""SQLite's index of trigrams keeps which texts hold a trigram, and no longer where.

Positions cost 2.4 bytes for each byte of text, and only a phrase query reads them. What
holds all trigrams of a query is compared with the query itself anyway
(loom.queries.search_index). PostgreSQL's index never had positions.
"""

from django.db import migrations

TABLE = """CREATE VIRTUAL TABLE loom_node_fts USING fts5(
    text, content='loom_node', content_rowid='id', tokenize='trigram'{detail})"""


def _made_anew(schema_editor, detail):
    if schema_editor.connection.vendor != "sqlite":
        return
    # The triggers of loom_node name the table, and go on with the new one.
    for statement in (
        "DROP TABLE IF EXISTS loom_node_fts",
        TABLE.format(detail=detail),
        "INSERT INTO loom_node_fts(loom_node_fts) VALUES ('rebuild')",
    ):
        schema_editor.execute(statement, params=None)


def forward(apps, schema_editor):
    _made_anew(schema_editor, ", detail=none")


def back(apps, schema_editor):
    _made_anew(schema_editor, "")


class Migration(migrations.Migration):
    dependencies = [("loom", "0014_receipt_at")]

    operations = [migrations.RunPython(forward, back)]
