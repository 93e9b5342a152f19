"""Indexes of what the sweeper looks for every few seconds; a column that nothing ever filled."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0132_windows_of_windows")]

    operations = [
        migrations.AddIndex(
            model_name="generation",
            index=models.Index(
                fields=["status"],
                condition=models.Q(ended_at__isnull=True),
                name="generation_open",
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(fields=["status", "created_at"], name="import_by_status"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                fields=["head"],
                condition=models.Q(head__gt=models.F("settled")),
                name="document_unsettled",
            ),
        ),
        migrations.RemoveField(model_name="generation", name="step_uid"),
    ]
