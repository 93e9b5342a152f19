"""Answers are found by their ids, and by what they said, on SQLite too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Gives both indexes of requests without a condition."""

    dependencies = [("gateway", "0001_initial")]
    operations = [
        migrations.AddIndex(
            "gatewayrequest",
            models.Index(fields=["answer_id", "session"], name="gateway_by_answer"),
        ),
        migrations.AddIndex(
            "gatewayrequest",
            models.Index(fields=["answer_said", "session"], name="gateway_by_said"),
        ),
        migrations.RemoveIndex("gatewayrequest", "gateway_answer"),
        migrations.RemoveIndex("gatewayrequest", "gateway_answer_said"),
    ]
