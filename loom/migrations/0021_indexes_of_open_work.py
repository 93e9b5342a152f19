"""Indexes that both databases use: SQLite passed over partial ones whose condition has values."""

from django.db import migrations, models

_GOES_ON = models.Q(("ended_at__isnull", True))


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0020_api_key_scope"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="generation", name="generation_open"),
        migrations.RemoveIndex(model_name="generation", name="generation_lane"),
        migrations.RemoveIndex(model_name="generation", name="generation_reserved"),
        migrations.AddIndex(
            model_name="generation",
            index=models.Index(
                fields=["lane", "rank", "id"], condition=_GOES_ON, name="generation_in_lane"
            ),
        ),
        migrations.AddIndex(
            model_name="generation",
            index=models.Index(
                fields=["payer", "day"], condition=_GOES_ON, name="generation_unpaid"
            ),
        ),
        migrations.RemoveIndex(model_name="step", name="step_of_turn"),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(fields=["turn_uid", "id"], name="step_by_turn"),
        ),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(fields=["workspace", "at"], name="step_by_time"),
        ),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(fields=["stream", "id"], name="step_by_stream"),
        ),
    ]
