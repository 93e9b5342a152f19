"""The list of tasks of a workspace."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0040_news"),
    ]

    operations = [
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                ("text", models.TextField()),
                ("state", models.CharField(default="unchecked", max_length=9)),
                ("place", models.IntegerField(default=0)),
                ("notes", models.JSONField(default=list)),
                ("is_removed", models.BooleanField(default=False)),
                ("made_at", models.DateTimeField()),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="loom.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ["place", "number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_removed", False)),
                        fields=["workspace", "state", "number"],
                        name="task_listed",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "number"), name="task_number_once")
                ],
            },
        ),
    ]
