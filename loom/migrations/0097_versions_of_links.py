"""The revisions that documents had when they were linked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0096_augments")]

    operations = [
        migrations.AddField(
            model_name="link",
            name=name,
            field=models.CharField(blank=True, max_length=64),
        )
        for name in ("source_version", "target_version")
    ]
