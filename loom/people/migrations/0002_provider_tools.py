"""Tools that the provider of a model runs itself."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="participant",
            name="provider_tools",
            field=models.JSONField(default=list),
        ),
    ]
