"""The table of stars."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The table of stars."""

    initial = True
    dependencies = [("people", "0001_initial"), ("trees", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Star",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="people.participant",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="trees.node",
                    ),
                ),
            ],
        ),
    ]
