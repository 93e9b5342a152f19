"""Marks, links and sources point at items by key alone, and steps by rows of their own.

On SQLite this copies the tables of marks, links and sources, which have no triggers.
"""

import django.db.models.deletion
from django.db import migrations, models


def key():
    return models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="loom.item",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0025_items_filled"),
    ]

    operations = [
        migrations.RemoveField("nodesource", "item_address"),
        migrations.RemoveField("mark", "item_address"),
        migrations.RemoveField("link", "source_address"),
        migrations.RemoveField("link", "target_address"),
        migrations.RemoveField("step", "items"),
        migrations.AlterField("nodesource", "item", key()),
        migrations.AlterField("mark", "item", key()),
        migrations.AlterField("link", "source", key()),
        migrations.AlterField("link", "target", key()),
        migrations.AddIndex("nodesource", models.Index(fields=["item"], name="source_item")),
        migrations.AddIndex("mark", models.Index(fields=["item", "kind"], name="mark_item")),
        migrations.AddIndex("link", models.Index(fields=["source"], name="link_source")),
        migrations.AddIndex("link", models.Index(fields=["target"], name="link_target")),
    ]
