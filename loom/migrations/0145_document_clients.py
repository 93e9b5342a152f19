"""Whose letters those of a Yjs client id are."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0134_daily_spending")]

    operations = [
        migrations.CreateModel(
            name="DocumentClient",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("client", models.BigIntegerField()),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="clients",
                        to="loom.document",
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="loom.participant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("document", "client"), name="document_client_once"
                    )
                ],
            },
        ),
    ]
