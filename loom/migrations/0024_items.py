"""Items get rows of their own: beside the addresses of marks, links and sources stand keys, which
the next migration fills."""

import django.db.models.deletion
from django.db import migrations, models


def key(null=False):
    return models.ForeignKey(
        null=null,
        db_index=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="loom.item",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0023_names_of_archived_agents"),
    ]

    operations = [
        migrations.CreateModel(
            name="Item",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=10)),
                ("anchor", models.CharField(blank=True, max_length=80)),
                (
                    "node",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="loom.node",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="loom.tree",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StepItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.SmallIntegerField()),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="touched",
                        to="loom.step",
                    ),
                ),
            ],
            options={"ordering": ["step_id", "place"]},
        ),
        migrations.AddConstraint(
            model_name="stepitem",
            constraint=models.UniqueConstraint(fields=("step", "place"), name="step_item_once"),
        ),
        migrations.RemoveIndex(model_name="nodesource", name="source_item"),
        migrations.RemoveIndex(model_name="mark", name="mark_item"),
        migrations.RemoveIndex(model_name="link", name="link_source"),
        migrations.RemoveIndex(model_name="link", name="link_target"),
        migrations.RenameField("nodesource", "item", "item_address"),
        migrations.RenameField("mark", "item", "item_address"),
        migrations.RenameField("link", "source", "source_address"),
        migrations.RenameField("link", "target", "target_address"),
        migrations.AddField("nodesource", "item", key(null=True)),
        migrations.AddField("mark", "item", key(null=True)),
        migrations.AddField("link", "source", key(null=True)),
        migrations.AddField("link", "target", key(null=True)),
    ]
