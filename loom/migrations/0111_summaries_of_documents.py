"""The summary of a document, and of which revision it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0115_step_loop"),
    ]

    operations = [
        migrations.AddField(
            model_name="document",
            name="summary",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="document",
            name="summary_revision",
            field=models.IntegerField(default=0),
        ),
    ]
