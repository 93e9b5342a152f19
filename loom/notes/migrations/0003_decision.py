"""Adds a table of how suggestions were decided."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notes", "0002_tag_key"), ("trees", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Decision",
            fields=[
                (
                    "node",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="trees.node",
                    ),
                ),
                ("decision", models.CharField(max_length=8)),
                (
                    "tree",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="trees.tree",
                    ),
                ),
            ],
        ),
    ]
