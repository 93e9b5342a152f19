"""Lists the trees of a file that holds several, and keeps what was answered about it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0032_models_added_by_owners")]

    operations = [
        migrations.AddField(
            model_name="import",
            name="options",
            field=models.JSONField(default=dict),
        ),
        migrations.CreateModel(
            name="ImportPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField()),
                ("title", models.CharField(blank=True, max_length=300)),
                ("at", models.DateTimeField(null=True)),
                ("count", models.IntegerField(default=0)),
                ("status", models.CharField(default="listed", max_length=8)),
                ("error", models.JSONField(null=True)),
                (
                    "of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="loom.import",
                    ),
                ),
                (
                    "tree",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="loom.tree",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [models.UniqueConstraint(fields=("of", "number"), name="part_once")],
            },
        ),
    ]
