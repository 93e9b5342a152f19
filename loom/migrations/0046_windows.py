"""What participants keep in view: windows on nodes, results and stashes."""

import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0039_branch_settings"),
    ]

    operations = [
        migrations.CreateModel(
            name="Window",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                ("kind", models.CharField(max_length=8)),
                ("version_seen", models.CharField(blank=True, max_length=64)),
                ("first", models.IntegerField(default=0)),
                ("last", models.IntegerField(default=0)),
                ("text", models.TextField(blank=True)),
                ("label", models.CharField(blank=True, max_length=200)),
                ("turn_uid", models.CharField(blank=True, max_length=32)),
                ("is_visible", models.BooleanField(default=True)),
                ("is_kept", models.BooleanField(default=False)),
                ("is_extended", models.BooleanField(default=False)),
                ("is_closed", models.BooleanField(default=False)),
                ("opened_at", models.DateTimeField()),
                (
                    "item",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.item",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.step",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="windows",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_visible", True)),
                        fields=["workspace", "number"],
                        name="window_visible",
                    ),
                    models.Index(fields=["workspace", "kind", "number"], name="window_kind"),
                    models.Index(fields=["step"], name="window_step"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "number"), name="window_number_once"
                    ),
                    models.UniqueConstraint(
                        models.F("workspace"),
                        django.db.models.functions.text.Lower("label"),
                        condition=models.Q(("is_closed", False), ("kind", "stash")),
                        name="stash_label_once",
                    ),
                ],
            },
        ),
    ]
