"""Texts of earlier revisions are stored as differences, and work that fails is put aside."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0134_daily_spending"),
    ]

    operations = [
        migrations.AddField(
            model_name="document",
            name="log_bytes",
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="documenttext",
            name="base",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="+",
                to="loom.documenttext",
            ),
        ),
        migrations.AddField(
            model_name="documenttext",
            name="chain",
            field=models.SmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="documenttext",
            name="edits",
            field=models.JSONField(null=True),
        ),
        migrations.CreateModel(
            name="PutAside",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("uid", models.CharField(max_length=32)),
                ("version", models.BigIntegerField(default=0)),
                ("reason", models.CharField(max_length=300)),
                ("tries", models.IntegerField(default=0)),
                ("at", models.DateTimeField()),
                (
                    "grove",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="loom.grove",
                    ),
                ),
            ],
            options={
                "ordering": ["-at", "-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "uid"), name="put_aside_once")
                ],
            },
        ),
    ]
