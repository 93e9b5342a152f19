"""What a workspace has loaded into the prompt."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0085_window_forms"),
    ]

    operations = [
        migrations.AddField(
            model_name="workspace",
            name="augments",
            field=models.JSONField(default=dict),
        ),
    ]
