from django.db import migrations, models


class Migration(migrations.Migration):
    """Keys that are there already keep all rights of their person and do not expire."""

    dependencies = [
        ("loom", "0019_steps_of_streams"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="scope",
            field=models.CharField(default="owner", max_length=8),
        ),
        migrations.AddField(
            model_name="apikey",
            name="expires_at",
            field=models.DateTimeField(null=True),
        ),
    ]
